"""Quotes over small collections: which sentences are shown, how many, in which order, and that they are exact."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rag import Answer, Assistant, Settings
from rag.citations import unescaped
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from tests.conftest import WordCountEmbedder
from vectorstore.generations import GenerationFolder

HERDS = [
    f"{name} antelopes graze. The {name} antelope herd grazes {hours} hours a day. Antelope herds of the {name} graze in the rain."
    for hours, name in enumerate(["Kudu", "Eland", "Oryx", "Impala", "Gnu"], start=2)
]
GECKO = (
    "We present Gecko, a climbing robot. Its feet are dry. Gecko climbs glass at 3 m per second. Rain stops it. Gecko weighs 2 kg."
)
QUAGGA = "We study quagga speed on open ground. The quagga runs at 64 km/h over short distances."
QUAGGA_AGAIN = "A second look at speed. The **quagga** runs at 64 km/h over short   distances. Okapi is slower."

MakeAssistant = Callable[..., Assistant]


@pytest.fixture
def assistant_over(tmp_path: Path) -> MakeAssistant:
    """Makes an assistant over the given abstracts, with the legible embedder."""

    def make(*abstracts: str, max_quotes: int = 4, max_papers: int = 3) -> Assistant:
        source = tmp_path / "abstracts.txt"
        source.write_text("\n\n".join(abstracts), encoding="utf-8")
        settings = Settings(store=str(tmp_path / "store"), sources=(str(source),), max_quotes=max_quotes, max_papers=max_papers)
        embedder = WordCountEmbedder()
        build_index(settings, embedder)
        index = PaperIndex.open(GenerationFolder(settings.store_folder).current())
        return Assistant(settings, embedder, index, Coefficients.load())

    return make


def quotes(answer: Answer) -> list[str]:
    return [citation.quote for citation in answer.citations]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("How much faster is Zebra than Okapi?", "Zebra is 3.5 times faster than Okapi on the Savanna benchmark."),
        ("What accuracy does Okapi reach?", "It reaches 71.2% accuracy."),
        ("Where is the code of Okapi?", "Code is at https://example.org/okapi."),
        ("What is Zebra?", "We introduce Zebra, a method that paints stripes on graphs."),
        ("How is the patience of herons modelled?", "We study the patience of herons with a Bayesian model of waiting time."),
    ],
)
def test_the_sentence_that_answers_is_quoted(small_assistant: Assistant, question: str, quote: str) -> None:
    assert quote in quotes(small_assistant.ask(question))


def test_quotes_follow_the_order_of_the_abstract(assistant_over: MakeAssistant) -> None:
    answer = assistant_over(GECKO).ask("How much does Gecko weigh, how does it climb glass, and what is Gecko?")
    starts = [citation.start for citation in answer.citations]
    assert len(starts) > 1
    assert starts == sorted(starts)


@pytest.mark.parametrize("abstracts", [(QUAGGA, QUAGGA_AGAIN), (QUAGGA_AGAIN, QUAGGA)])
def test_a_sentence_in_two_spellings_is_quoted_once(assistant_over: MakeAssistant, abstracts: tuple[str, str]) -> None:
    answer = assistant_over(*abstracts, max_quotes=10).ask("How fast does the quagga run over short distances?")
    assert {hit.paper.abstract for hit in answer.hits} == {QUAGGA, QUAGGA_AGAIN}
    assert len([quote for quote in quotes(answer) if "64 km/h" in quote]) == 1


@pytest.mark.parametrize("max_quotes", [1, 2, 4, 20])
def test_at_most_max_quotes_are_shown(assistant_over: MakeAssistant, max_quotes: int) -> None:
    answer = assistant_over(*HERDS, max_quotes=max_quotes, max_papers=10).ask("How do antelope herds graze?")
    assert 1 <= len(answer.citations) <= max_quotes
    assert len(set(quotes(answer))) == len(answer.citations)


@pytest.mark.parametrize("max_papers", [1, 2, 5])
def test_at_most_max_papers_are_quoted_and_numbered_in_order(assistant_over: MakeAssistant, max_papers: int) -> None:
    answer = assistant_over(*HERDS, max_quotes=20, max_papers=max_papers).ask("How do antelope herds graze?")
    numbers = list(dict.fromkeys(citation.number for citation in answer.citations))
    assert len({citation.paper.id for citation in answer.citations}) == max_papers
    assert numbers == list(range(1, max_papers + 1))


def test_quotes_of_one_paper_stand_together(assistant_over: MakeAssistant) -> None:
    numbers = [citation.number for citation in assistant_over(*HERDS, max_quotes=20).ask("How do antelope herds graze?").citations]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    "abstract",
    [
        r"We prove that quagga herds need $\mathcal{O}(\epsilon^{-3}\ln\epsilon^{-1})$ steps, i.e., **many**. It costs \$5 [1].",
        "Quagga <b>bold</b> & <script>alert(1)</script> herds. Quagga [3] cites `code` and | pipes | # here.",
        "1. Quagga herds come first. - Quagga herds come second. > Quagga herds come third.",
        "Quagga* herds_of_the_plain \\ run ~fast~ at 82.24\\% [1](http://example.org) speed!",
        "“Quagga” herds — ‘fast’ – 64 km/h × 2.6; naïve Ünïcode 斑驴 herds run. Quagga rests.",
    ],
    ids=["maths", "HTML", "list marks", "Markdown", "typography"],
)
def test_a_quote_is_verbatim_and_escaped_in_the_text(assistant_over: MakeAssistant, abstract: str) -> None:
    answer = assistant_over(abstract, QUAGGA).ask("quagga herds")
    assert abstract in {citation.paper.abstract for citation in answer.citations}
    for citation in answer.citations:
        assert citation.paper.abstract[citation.start : citation.end] == citation.quote
        start, end = citation.claim
        claim = answer.text[start:end]
        assert claim.endswith(f" [{citation.number}]")
        assert " ".join(citation.quote.split()) in unescaped(claim)
    outside_escapes = answer.text.replace("\\[", "")
    assert outside_escapes.count("[") == len(answer.citations) + len({citation.number for citation in answer.citations})
    assert "<" not in answer.text.replace("\\<", "")


def test_the_claims_cover_the_whole_text(assistant_over: MakeAssistant) -> None:
    answer = assistant_over(*HERDS).ask("How do antelope herds graze?")
    uncovered = answer.text
    for citation in answer.citations:
        start, end = citation.claim
        uncovered = uncovered[:start] + " " * (end - start) + uncovered[end:]
    assert uncovered.replace(">", "").strip() == ""


@pytest.mark.slow
def test_what_something_is_begins_with_the_sentence_that_introduces_it(seed_assistant: Assistant) -> None:
    answer = seed_assistant.ask("What is LLark?")
    assert answer.citations[0].quote.startswith("We present LLark, an instruction-tuned multimodal model")
