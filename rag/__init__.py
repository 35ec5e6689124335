"""AskAbstracts: questions over a collection of paper abstracts, answered with exact quotes.

The public Python API, in order of use. Importing this package loads no model, no store and no web interface.
"""

from rag.settings import Settings  # isort: skip
from rag.answer import Answer, Status, Turn
from rag.assistant import Assistant
from rag.citations import Citation
from rag.errors import AskAbstractsError
from rag.filters import PaperFilter
from rag.papers import Paper
from rag.search import Hit, Sentence

__all__ = [
    "Answer",
    "AskAbstractsError",
    "Assistant",
    "Citation",
    "Hit",
    "Paper",
    "PaperFilter",
    "Sentence",
    "Settings",
    "Status",
    "Turn",
]
