"""Which of the four honest answers a question gets: gates by hand, and the real thing over the seeds."""

import numpy as np
import pytest

from rag.answering.abstention import GATE_FEATURES, gate_score
from rag.answering.alignment import align
from rag.answering.asked import ASKED_FEATURES, asked_features
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.questions import read_question
from rag.search import candidates


def asked(assistant: Assistant, text: str) -> dict[str, float]:
    """What is measured of the detail that `text` asks for, by name."""
    question, index = read_question(text), assistant.index
    query = assistant.embedder.encode_query(question.searched)
    best = candidates(question, query, index, assistant.coefficients, limit=1)[0]
    return dict(zip(ASKED_FEATURES, asked_features(question, align(query, best, index), best, index), strict=True))


def test_a_gate_adds_the_steps_that_are_passed() -> None:
    gate = Coefficients({"gate": {"words": 2.0, "bias": -1.0}, "gate_steps": {"words>0.4": 0.25, "words>0.6": 8.0}})
    assert gate_score("gate", np.array([0.5]), ("words",), gate) == pytest.approx(0.25)
    assert gate_score("gate", np.array([0.3]), ("words",), gate) == pytest.approx(-0.4)


def test_every_gate_is_in_the_coefficients_of_the_program() -> None:
    table = Coefficients.load().table
    assert {"field_gate", "detail_gate", "silent_gate", "premise_gate"} <= table.keys()
    assert {step.split(">")[0] for step in table["detail_gate_steps"]} <= set(GATE_FEATURES)


def test_a_number_is_sought_beside_what_is_counted(small_assistant: Assistant) -> None:
    stated = asked(small_assistant, "How many times faster is Zebra on the Savanna benchmark?")
    missing = asked(small_assistant, "How many zebras does the Zebra method paint?")
    assert stated["wants_count"] == missing["wants_count"] == 1.0
    assert stated["count_beside"] > missing["count_beside"]


def test_a_detail_that_abstracts_leave_out_is_missed(small_assistant: Assistant) -> None:
    assert asked(small_assistant, "Which optimizer and learning rate does the patience of herons need?")["details_lost"] >= 2
    assert asked(small_assistant, "What kind of model describes the patience of herons?")["details_lost"] == 0


def test_alternatives_are_sought_in_the_paper(small_assistant: Assistant) -> None:
    assert asked(small_assistant, "Do herons stand still in water or sand?")["choices_held"] == 1
    assert asked(small_assistant, "Do herons stand still in mud or sand?")["choices_held"] == 0


def test_a_misspelt_word_counts_as_the_word_of_the_paper(small_assistant: Assistant) -> None:
    index, question = small_assistant.index, read_question("patience of herosn and the Bayesain model")
    query = small_assistant.embedder.encode_query(question.searched)
    best = candidates(question, query, index, small_assistant.coefficients, limit=1)[0]
    assert align(query, best, index).nearest[query.words.index("bayesain")] == pytest.approx(0.9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "status"),
    [
        pytest.param("Which optimizer, batch size and learning rate schedule were used to train LLark?", "silent", id="silent"),
        pytest.param("What causes BASED to lag so far behind Mamba in perplexity?", "premise", id="premise"),
        pytest.param("What convergence guarantees does FedAvg have when client data are non-IID?", "not_found", id="not found"),
        pytest.param("How many questions does MMT-Bench hold?", "answered", id="answered"),
    ],
)
def test_each_status_over_the_seeds_with_its_evidence(seed_assistant: Assistant, question: str, status: str) -> None:
    answer = seed_assistant.ask(question)
    assert answer.status == status
    assert bool(answer.citations) == (status != "not_found")
    assert all(citation.paper == answer.hits[0].paper for citation in answer.citations if status != "answered")
