"""A language model within the process that writes what it is told to, and an assistant that has it answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings
from tests.conftest import HERON, OKAPI, ZEBRA, WordCountEmbedder
from vectorstore.generations import GenerationFolder

ZEBRA_IS_FASTER = ZEBRA[ZEBRA.index("Zebra is") :]
OKAPI_IS, OKAPI_REACHES = OKAPI.split(" Code is")[0].split(" It reaches")[0], "It reaches 71.2% accuracy."
HERONS_STAND = HERON.split(" We study")[0]
OFF_TOPIC = "Bananas were exported from Ecuador by steamship merchants."
ANIMALS = f"Animal Papers 2021\n\n{ZEBRA}\n\n{OKAPI}\n\n{HERON}\n"
ABOUT_OKAPI = "What accuracy does Okapi, the neural ranker, reach?"


@dataclass(frozen=True)
class Part:
    """A piece of a reply, as LlamaIndex hands it on."""

    delta: str
    raw: None = None


class ScriptedLLM:
    """Replies with `text`, whatever it is asked, in pieces of `step` letters; keeps the prompts it was sent."""

    metadata = None

    def __init__(self, text: str, *, step: int = 40) -> None:
        self.text, self.step = text, step
        self.prompts: list[str] = []

    def stream_chat(self, messages: Sequence[Any]) -> Iterator[Part]:
        self.prompts.append("\n".join(str(message.content) for message in messages))
        for start in range(0, len(self.text), self.step):
            yield Part(self.text[start : start + self.step])


def with_llm(assistant: Assistant, llm: object, **changes: Any) -> Assistant:
    """The assistant with another model, over the same index."""
    settings = replace(assistant.settings, llm=llm, **changes)
    return Assistant(settings, assistant.embedder, assistant.index, assistant.coefficients)


def assistant_over(text: str, folder: Path, **changes: Any) -> Assistant:
    """An assistant over a collection of its own, in one file of that text."""
    (folder / "papers.txt").write_text(text, encoding="utf-8")
    settings = Settings(store=str(folder / "store"), sources=(str(folder / "papers.txt"),), **changes)
    embedder = WordCountEmbedder()
    build_index(settings, embedder)
    return Assistant(settings, embedder, PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())
