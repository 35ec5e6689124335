"""What a model's sentences may rest on: one shown paper each, found by what they say, whatever their markers claim."""

import pytest

from rag.answering.reply_text import ReplySentence
from rag.assistant import Assistant
from rag.citations import UNSUPPORTED, Ground, GroundedSentence, grounded_answer
from rag.papers import Paper
from rag.text import Span
from rag.verification import ShownRow, Verifier
from tests.scripted_model import (
    ABOUT_OKAPI,
    HERONS_STAND,
    OFF_TOPIC,
    OKAPI_IS,
    OKAPI_REACHES,
    ZEBRA_IS_FASTER,
    ScriptedLLM,
    with_llm,
)

ZEBRA_ROW, OKAPI_ROW, HERON_ROW = 0, 1, 2


@pytest.fixture
def verifier(small_assistant: Assistant) -> Verifier:
    """It was shown all three papers, in the order of the collection."""
    return verifier_of(small_assistant, ZEBRA_ROW, OKAPI_ROW, HERON_ROW)


def verifier_of(assistant: Assistant, *rows: int) -> Verifier:
    index = assistant.index
    shown = [ShownRow(row, tuple(range(len(index.spans[row])))) for row in rows]
    return Verifier(shown, index, assistant.embedder, assistant.coefficients)


def grounds(verifier: Verifier, text: str, *markers: int) -> list[tuple[str, list[str]]]:
    """The first word of each abstract that `text` rests on, and the sentences."""
    found = verifier.ground(ReplySentence(text, markers, 0)).grounds
    return [(one.paper.abstract.split(" ")[0], [one.paper.abstract[span.start : span.end] for span in one.spans]) for one in found]


@pytest.mark.parametrize("markers", [(2,), (1,), (3, 1), (99,), (0,), ()], ids=str)
def test_sentence_rests_on_the_paper_that_says_it_whatever_its_marker(verifier: Verifier, markers: tuple[int, ...]) -> None:
    ((paper, quotes),) = grounds(verifier, OKAPI_IS, *markers)
    assert paper == "Okapi"
    assert OKAPI_IS in quotes


@pytest.mark.parametrize("markers", [(1,), (1, 2, 3), (99,), ()], ids=str)
@pytest.mark.parametrize("text", [OFF_TOPIC, "Penguins dive 300 metres deep in Antarctica."])
def test_sentence_that_no_paper_supports_rests_on_nothing(verifier: Verifier, text: str, markers: tuple[int, ...]) -> None:
    assert grounds(verifier, text, *markers) == []


def test_paper_that_was_not_shown_supports_nothing(small_assistant: Assistant) -> None:
    assert grounds(verifier_of(small_assistant, ZEBRA_ROW, HERON_ROW), OKAPI_IS, 1) == []


def test_sentence_that_was_not_shown_supports_nothing(small_assistant: Assistant) -> None:
    verifier = Verifier([ShownRow(OKAPI_ROW, (0,))], small_assistant.index, small_assistant.embedder, small_assistant.coefficients)
    assert grounds(verifier, OKAPI_REACHES, 1) == []


def test_nothing_was_shown(small_assistant: Assistant) -> None:
    assert grounds(verifier_of(small_assistant), OKAPI_IS, 1) == []


@pytest.mark.parametrize("markers", [(1,), (2, 3), ()], ids=str)
def test_sentence_that_mixes_two_papers_is_not_supported(verifier: Verifier, markers: tuple[int, ...]) -> None:
    assert (
        grounds(verifier, "Herons stand still in antelope documents that reach 71.2% accuracy on the Savanna benchmark.", *markers)
        == []
    )


def test_comparison_that_names_both_papers_rests_on_both(verifier: Verifier) -> None:
    text = "We study the patience of herons with a Bayesian model of waiting time, whereas Zebra is a method that paints stripes on graphs."
    assert sorted(paper for paper, _ in grounds(verifier, text, 1, 3)) == ["Herons", "We"]


def test_comparison_with_an_unfounded_half_is_not_supported(verifier: Verifier) -> None:
    text = f"{OKAPI_IS.rstrip('.')}, whereas Zebra exports bananas from Ecuador by steamship."
    assert grounds(verifier, text, 1, 2) == []


@pytest.mark.parametrize("tail", [", but both fail", "; bananas sink", " and both sink"])
def test_comparison_with_an_unfounded_short_clause_is_not_supported(verifier: Verifier, tail: str) -> None:
    text = "We study the patience of herons with a Bayesian model of waiting time, whereas Zebra is a method that paints stripes on graphs"
    assert len(grounds(verifier, f"{text}.", 1, 3)) == 2
    assert grounds(verifier, f"{text}{tail}.", 1, 3) == []


@pytest.mark.parametrize("text", ["2", "Zebra.", "Graphs", "71.2%."])
def test_fragment_rests_on_nothing(verifier: Verifier, text: str) -> None:
    assert grounds(verifier, text, 1, 2) == []


def test_sentence_is_judged_once(small_assistant: Assistant, verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    first = verifier.ground(ReplySentence(OKAPI_IS, (2,), 0))
    monkeypatch.setattr("rag.verification.support", None)  # it would fail when called
    assert verifier.ground(ReplySentence(OKAPI_IS, (2,), 3)).grounds == first.grounds


# --- the text and its citations ---------------------------------------------------------------------------------------

BEES = Paper(id="bees", title="Bees", abstract="Bees fly. Bees hum.")
ANTS = Paper(id="ants", title="Ants", abstract="Ants walk.")
OF_BEES, OF_ANTS = Ground(BEES, [Span(0, 9)], 0.9), Ground(ANTS, [Span(0, 10)], 0.8)


def test_papers_are_numbered_by_first_use() -> None:
    text, citations = grounded_answer(
        [
            GroundedSentence("Ants walk.", [OF_ANTS]),
            GroundedSentence("Bees fly.", [OF_BEES]),
            GroundedSentence("They walk.", [OF_ANTS]),
        ],
        show_unsupported=False,
    )
    assert text == "Ants walk. [1] Bees fly. [2] They walk. [1]"
    assert [(one.number, one.quote, one.support, text[slice(*one.claim)]) for one in citations] == [
        (1, "Ants walk.", 0.8, "Ants walk. [1]"),
        (2, "Bees fly.", 0.9, "Bees fly. [2]"),
        (1, "Ants walk.", 0.8, "They walk. [1]"),
    ]


def test_comparison_carries_both_markers_and_every_quote_is_a_citation() -> None:
    both = Ground(BEES, [Span(0, 9), Span(10, 19)], 0.7)
    text, citations = grounded_answer([GroundedSentence("Bees fly, ants walk.", [both, OF_ANTS])], show_unsupported=False)
    assert text == "Bees fly, ants walk. [1][2]"
    assert [(one.number, one.quote) for one in citations] == [(1, "Bees fly."), (1, "Bees hum."), (2, "Ants walk.")]
    assert {text[slice(*one.claim)] for one in citations} == {text}


def test_unsupported_sentence_is_left_out_or_struck_and_labelled_without_a_marker() -> None:
    sentences = [GroundedSentence("Wasps [1] ~~sting~~.", []), GroundedSentence("Bees fly.", [OF_BEES], paragraph=1)]
    assert grounded_answer(sentences, show_unsupported=False)[0] == "Bees fly. [1]"
    shown, citations = grounded_answer(sentences, show_unsupported=True)
    assert shown == f"~~Wasps \\[1\\] \\~\\~sting\\~\\~.~~ *({UNSUPPORTED})*\n\nBees fly. [1]"
    assert [shown[slice(*one.claim)] for one in citations] == ["Bees fly. [1]"]


def test_nothing_grounded_is_no_answer() -> None:
    assert grounded_answer([], show_unsupported=True) == ("", ())
    assert grounded_answer([GroundedSentence("Wasps sting.", [])], show_unsupported=False) == ("", ())


# --- through the assistant --------------------------------------------------------------------------------------------


def test_wrong_and_unknown_markers_are_repaired_in_the_answer(small_assistant: Assistant) -> None:
    answer = with_llm(small_assistant, ScriptedLLM(f"{OKAPI_IS} [7] {OKAPI_REACHES} [2, 99]")).ask(ABOUT_OKAPI)
    assert answer.text == f"{OKAPI_IS} [1] {OKAPI_REACHES} [1]"


def test_unsupported_sentence_is_dropped_and_counted(small_assistant: Assistant) -> None:
    answer = with_llm(small_assistant, ScriptedLLM(f"{OFF_TOPIC} [1] {OKAPI_IS} [1] {HERONS_STAND} [1]")).ask(ABOUT_OKAPI)
    assert answer.text == f"{OKAPI_IS} [1]"
    assert any("2 sentences it wrote the abstracts do not support" in notice for notice in answer.notices)


def test_unsupported_sentence_is_shown_struck_on_wish(small_assistant: Assistant) -> None:
    answer = with_llm(small_assistant, ScriptedLLM(f"{OFF_TOPIC} [1] {OKAPI_IS} [1]"), unsupported="show").ask(ABOUT_OKAPI)
    assert answer.text == f"~~{OFF_TOPIC}~~ *({UNSUPPORTED})* {OKAPI_IS} [1]"


@pytest.mark.parametrize("unsupported", ["drop", "show"])
def test_nothing_supported_leaves_the_quotes(small_assistant: Assistant, unsupported: str) -> None:
    answer = with_llm(small_assistant, ScriptedLLM(f"{OFF_TOPIC} [1]"), unsupported=unsupported).ask(ABOUT_OKAPI)
    quotes = small_assistant.ask(ABOUT_OKAPI)
    assert (answer.model, answer.text, answer.citations) == ("quotes", quotes.text, quotes.citations)
    assert any("nothing that the abstracts support" in notice for notice in answer.notices)


def test_answer_from_another_paper_than_was_shown_leaves_the_quotes(small_assistant: Assistant) -> None:
    answer = with_llm(small_assistant, ScriptedLLM(f"{ZEBRA_IS_FASTER} [1]")).ask(ABOUT_OKAPI)
    assert answer.model == "quotes"
