"""Another embedder beside the one in use: built, compared on labelled questions, and swapped in when every gate holds."""

import sys
from dataclasses import replace
from pathlib import Path

from eval.compare import compare
from eval.questions import load_questions
from eval.run import run_questions
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.embedders import make_embedder
from rag.errors import StoreError
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings


class SwapRefusedError(StoreError):
    """The other embedder misses a gate; the index in use stays."""


def swap(settings: Settings, questions: Path, gates: Path, folder: Path) -> None:
    """Builds the index of `settings` beside the published one, which goes on serving, and publishes it when it is good enough.

    Both are asked the `questions`; the reports go into `folder`, the comparison to standard output. Raises `SwapRefusedError` when
    a gate is missed.
    """
    before = Assistant.open(replace(settings, embedder="", sources=()))
    embedder = make_embedder(settings)
    labelled = load_questions(questions, before.papers)
    run_questions(before, labelled, folder / "before", name="before", progress=_silent)

    def approve(index: PaperIndex) -> None:
        after = Assistant(settings, embedder, index, Coefficients.load(), is_following=False)
        run_questions(after, labelled, folder / "after", name="after", progress=_silent)
        text, is_good = compare(folder / "before", folder / "after", gates)
        sys.stdout.write(text)
        if not is_good:
            raise SwapRefusedError(
                f"The new index misses a gate and was not published; the one in use stays. Both reports are in {folder}. "
                "To swap it in all the same: askabstracts index --swap with the same settings."
            )

    build_index(settings, embedder, rebuild=True, approve=approve)


def _silent(_: int) -> None:
    """Hears of progress and says nothing."""
