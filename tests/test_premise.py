"""What a question takes for granted and a sentence contradicts."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from rag import Assistant, Settings
from rag.answering.alignment import align
from rag.answering.premise import PREMISE_FEATURES, Contradiction, contradictions, premise_features
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.questions import read_question
from rag.search import candidates
from tests.conftest import WordCountEmbedder
from vectorstore.generations import GenerationFolder

Read = Callable[[str], tuple[Sequence[Contradiction], dict[str, float]]]
ABSTRACT = "Gnu sorts herds without supervision. Gnu is faster than Kudu. A herd takes 3 hours."


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a question against the one abstract: contradictions by sentence, features by name."""
    source = tmp_path / "abstracts.txt"
    source.write_text(ABSTRACT, encoding="utf-8")
    settings = Settings(store=str(tmp_path / "store"), sources=(str(source),))
    build_index(settings, WordCountEmbedder())
    index = PaperIndex.open(GenerationFolder(settings.store_folder).current())
    assistant = Assistant(settings, WordCountEmbedder(), index, Coefficients.load())

    def contradicted(text: str) -> tuple[Sequence[Contradiction], dict[str, float]]:
        question = read_question(text)
        query = assistant.embedder.encode_query(question.searched)
        best = candidates(question, query, index, assistant.coefficients, limit=1)[0]
        alignment = align(query, best, index)
        found = contradictions(question, alignment, best, index)
        return found, dict(zip(PREMISE_FEATURES, premise_features(question, alignment, found), strict=True))

    return contradicted


def test_a_word_that_the_sentence_denies_contradicts(read: Read) -> None:
    found, features = read("How much supervision does Gnu get for its herds?")
    assert found[0].denied_alone == max(one.denied_alone for one in found) > 0.5
    assert features["denied_alone"] > 0


def test_a_question_that_denies_it_too_takes_nothing_for_granted(read: Read) -> None:
    found, features = read("Why does Gnu need no supervision?")
    assert not any(one.denied or one.opposite for one in found)
    assert features["denies_itself"] == 1


def test_an_opposite_direction_contradicts(read: Read) -> None:
    assert read("Why is Gnu slower than Kudu?")[0][1].opposite == 1
    assert read("Why is Gnu faster than Kudu?")[0][1].opposite == 0


def test_another_number_with_the_same_unit_contradicts(read: Read) -> None:
    assert read("Why does a herd take 9 hours?")[0][2].quantity == 1
    assert read("Why does a herd take 3 hours?")[0][2].quantity == 0


def test_the_contradicting_sentence_is_the_strongest(read: Read) -> None:
    found, _ = read("Why is Gnu slower than Kudu?")
    assert int(np.argmax([one.strength for one in found])) == 1


def test_a_question_whether_presupposes_nothing(read: Read) -> None:
    assert read("Why is Gnu slower than Kudu?")[1]["presupposes"] == 1
    assert read("Is Gnu slower than Kudu?")[1]["presupposes"] == 0
