"""Follow-ups as questions of their own: small dialogues in the program's own answers and in a model's words."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.assistant import Assistant
from rag.citations import QuotedPaper, quoting_answer
from rag.conversation import HISTORY_TOKENS, standalone
from rag.index import PaperIndex
from rag.mentions import papers_named
from rag.papers import Paper
from rag.text import Span
from tests.scripted_model import assistant_over

History = Sequence[tuple[str, str]]


def answer_quoting(*titles: str, quote: str = "A quote.") -> str:
    papers = [Paper(id=title, title=title, abstract=quote) for title in titles]
    return quoting_answer([QuotedPaper(paper, [Span(0, len(quote))]) for paper in papers])[0]


def alone(text: str, history: History) -> str:
    return standalone(text, history).question


KIVI = [("Which method quantizes the cache?", answer_quoting("KIVI", "CaM"))]
TWO_TOPICS = [
    ("Which method quantizes the cache?", answer_quoting("KIVI", quote="KIVI is a quantization method.")),
    ("what does it save?", answer_quoting("KIVI", quote="KIVI saves memory.")),
    ("different topic: what is a copyright trap?", answer_quoting("Copyright traps", quote="Traps are fictitious entries.")),
]


# --- going on with the paper in play ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "how fast is it?",
        "Is its code available anywhere on the web?",
        "What does the paper say about larger batch sizes?",
        "tell me more",
        "does it work for YOLO?",
        "How does that compare with Tandem transformers?",
        "And the accuracy on long sequences of that kind?",
        "on how many benchmarks?",
    ],
)
def test_question_that_points_back_is_led_by_the_paper_in_play(text: str) -> None:
    assert alone(text, KIVI) == f"KIVI: {text}"


@pytest.mark.parametrize("text", ["why?", "and on ImageNet?", "what about Falcon?"])
def test_rest_of_a_question_takes_along_the_question_before(text: str) -> None:
    assert alone(text, KIVI) == f"KIVI: Which method quantizes the cache? {text}"


@pytest.mark.parametrize(
    "text",
    [
        "Which papers study clustering of large graphs?",
        "What is MathScale?",
        "How does TURTLE label data?",
        "Which method quantizes the cache?",
    ],
)
def test_question_of_its_own_is_left_alone(text: str) -> None:
    assert alone(text, KIVI) == text


@pytest.mark.parametrize("text", ["", "???", "what is the", "aaaaaaa", "thanks!", "ok, great"])
def test_what_asks_nothing_is_left_alone(text: str) -> None:
    assert alone(text, KIVI) == text


def test_thanks_leave_the_paper_in_play() -> None:
    assert alone("how fast is it?", [*KIVI, ("thanks!", "")]) == "KIVI: how fast is it?"


def test_first_question_is_left_alone() -> None:
    assert alone(" how fast  is it? ", []) == "how fast is it?"


def test_subject_stays_when_the_answer_names_another_paper_first_or_none() -> None:
    for answer in (answer_quoting("Zebra", "KIVI"), answer_quoting("Zebra"), ""):
        assert alone("is it new?", [*KIVI, ("how fast is it?", answer)]) == "KIVI: is it new?"


def test_without_a_paper_the_last_question_of_its_own_leads() -> None:
    history = [("Which papers study graph clustering methods?", ""), ("and how fast is that?", "")]
    assert alone("is it new?", history) == "Which papers study graph clustering methods? is it new?"


def test_refused_topic_does_not_lead_a_question_with_words_of_its_own() -> None:
    assert alone("hm, and music understanding?", [("Which paper detects fake speech?", "")]) == "hm, and music understanding?"


# --- one of several papers, and others --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("and the second paper, on which models?", "CaM"),
        ("the first one?", "KIVI"),
        ("and the other one, which models did they try?", "CaM"),
        ("what does the latter need?", "CaM"),
        ("which of them has code?", "KIVI; CaM"),
        ("do both need training?", "KIVI; CaM"),
    ],
)
def test_a_paper_is_picked_by_its_place(text: str, lead: str) -> None:
    assert alone(text, KIVI).startswith(f"{lead}: ")


def test_second_paper_may_come_from_an_earlier_turn() -> None:
    history = [("What is KIVI?", answer_quoting("KIVI")), ("who else shrinks the cache?", answer_quoting("CaM"))]
    assert alone("is the first one faster?", history) == "KIVI: is the first one faster?"


@pytest.mark.parametrize(
    "text", ["who else works on shrinking the cache?", "any other work on quantization?", "are there other papers with caches?"]
)
def test_others_are_asked_for_without_the_paper_in_play(text: str) -> None:
    found = standalone(text, KIVI)
    assert (found.question, found.excluded_titles) == (text, ("KIVI",))


def test_who_else_does_this_takes_what_was_asked_along() -> None:
    assert alone("who else does this?", KIVI) == "who else does this? Which method quantizes the cache?"
    named = [("What is KIVI?", answer_quoting("KIVI", quote="A cache quantization algorithm."))]
    assert alone("who else does this?", named) == "who else does this? A cache quantization algorithm."


def test_paper_found_beside_the_first_becomes_the_subject() -> None:
    history = [*KIVI, ("who else shrinks the cache?", answer_quoting("KIVI", "CaM"))]
    assert alone("how fast is it?", history) == "CaM: how fast is it?"
    assert standalone("any others?", history).excluded_titles == ("KIVI", "CaM")


# --- switching, going back, correcting --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opening",
    [
        "different topic: ",
        "ok, different topic: ",
        "switching topic: ",
        "new question, ",
        "forget that. ",
        "ok something else now. ",
        "next topic: ",
        "another thing: ",
        "Let's talk about something else: ",
    ],
)
def test_announced_switch_lets_the_old_paper_go(opening: str) -> None:
    history = [*KIVI, (f"{opening}what is a copyright trap?", answer_quoting("Copyright traps"))]
    assert alone(f"{opening}what is a copyright trap?", KIVI) == "what is a copyright trap?"
    assert alone("does it work?", history) == "Copyright traps: does it work?"


def test_another_question_about_the_same_paper_is_no_switch() -> None:
    assert alone("another question: is it fast?", KIVI) == "KIVI: is it fast?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("back to KIVI: what throughput did they get?", "KIVI: what throughput did they get?"),
        ("Back to the quantization one: is there code?", "KIVI: is there code?"),
        ("going back to the quantization method - is it fast?", "KIVI: is it fast?"),
        ("let's go back to the first paper, is it fast?", "KIVI: is it fast?"),
        ("and the quantization paper again, is it fast?", "KIVI: and the quantization paper again, is it fast?"),
    ],
)
def test_going_back_finds_the_turn_meant(text: str, expected: str) -> None:
    assert alone(text, TWO_TOPICS) == expected


def test_going_on_after_going_back_stays_there() -> None:
    history = [*TWO_TOPICS, ("back to the quantization one: is there code?", "")]
    assert alone("how fast is it?", history) == "KIVI: how fast is it?"


def test_going_back_to_what_was_never_named_is_a_question_of_its_own() -> None:
    assert (
        alone("back to the zebra stripes on graphs: which savanna?", TWO_TOPICS)
        == "back to the zebra stripes on graphs: which savanna?"
    )


def test_correction_is_about_the_same_paper_or_asks_for_another() -> None:
    assert alone("no, I meant by what factor memory shrinks", KIVI) == "KIVI: by what factor memory shrinks"
    other = standalone("no, I meant the one for images", KIVI)
    assert other.question == "Which method quantizes the cache? the one for images"
    assert other.excluded_titles == ("KIVI",)


def test_question_repeated_after_other_topics_is_left_alone() -> None:
    assert alone("Which method quantizes the cache?", TWO_TOPICS) == "Which method quantizes the cache?"


# --- answers of other callers -----------------------------------------------------------------------------------------


def test_answer_in_free_words_leads_by_the_question_and_its_names() -> None:
    history = [("How can an LLM draw vector graphics?", "StrokeNUWA introduces stroke tokens [1].")]
    assert alone("how fast is it?", history) == "How can an LLM draw vector graphics? StrokeNUWA: how fast is it?"


def test_papers_of_free_words_are_told_apart_by_their_markers() -> None:
    history = [
        ("Two ways to shrink it?", "One quantizes it to 2 bits (KIVI) [1], another merges entries that would be evicted (CaM) [2].")
    ]
    assert alone("the second one?", history).startswith("CaM: ")


@pytest.mark.parametrize("title", ["MM-Vet", "Cache Merging (CaM)", "A*B **C** [1] $x$", "C++ & <b>", "llm_uncertainty"])
def test_leading_title_is_shown_as_it_was(title: str) -> None:
    assert alone("how fast is it?", [("Which?", answer_quoting(title))]) == f"{title}: how fast is it?"


def test_bold_text_inside_a_quote_leads_nothing() -> None:
    history = [("Which?", answer_quoting("Zebra", quote="**Okapi** [1] wins."))]
    assert alone("how fast is it?", history) == "Zebra: how fast is it?"


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_history_is_capped_newest_first() -> None:
    long = ("what is a heron?", answer_quoting("Heron", quote="patience " * 1000))
    history = [("What is KIVI?", answer_quoting("KIVI")), *[long] * (HISTORY_TOKENS * 4 // 9000 + 2)]
    assert "KIVI" not in alone("back to the first one: is it fast?", history)
    assert alone("is it fast?", history) == "Heron: is it fast?"


HOSTILE = st.text() | st.text(st.sampled_from("$\\{}[]()*_`.?\"'-×% \n\u200b\ue000aX的12"))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(HOSTILE, HOSTILE), max_size=4), HOSTILE)
def test_no_history_raises(history: list[tuple[str, str]], text: str) -> None:
    assert isinstance(alone(text, history), str)


@pytest.mark.parametrize(
    "text", ["back to " + "a " * 3000, "**" + "\\*" * 3000, "[1] " * 3000, "no " * 2000, "that " * 1000, "\ud800 it"]
)
def test_hostile_text_is_read_at_once(text: str) -> None:
    assert isinstance(alone("how fast is it?", [(text, text)] * 5), str)
    assert isinstance(alone(text, [(text, text)] * 5), str)


# --- with an index ----------------------------------------------------------------------------------------------------


def test_index_tells_a_silent_switch_from_a_follow_up(small_assistant: Assistant) -> None:
    okapi = small_assistant.papers[1].title
    history = [("Which ranker is there for antelope documents?", answer_quoting(okapi))]

    def asked(text: str) -> str:
        return standalone(text, history, small_assistant.index).question

    assert asked("which accuracy do they reach with neural documents?").startswith(f"{okapi}: ")
    assert asked("which accuracy is reached by rankers?").startswith(f"{okapi}: ")
    assert asked("Do herons stand still in water?") == "Do herons stand still in water?"
    assert asked("Which Bayesian model describes waiting time?") == "Which Bayesian model describes waiting time?"


NAMED = """Named Papers 2021

We propose KIVI, a tuning-free quantization of the cache. KIVI saves memory by storing keys in two bits.

We introduce TURTLE, an unsupervised transfer method. TURTLE is evaluated on many datasets and needs no labels.

We present BASED, an architecture based on sliding windows and linear attention. It improves recall of long texts.

We propose Momentor, a video model based on segments. Momentor was trained with annotated segments of videos.

We study the weather based on sensors. The sensors save time and cost little money over a season.
"""
KIVI_SAVES = [("What is KIVI?", answer_quoting("KIVI")), ("How much memory does it save?", answer_quoting("KIVI"))]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> PaperIndex:
    return assistant_over(NAMED, tmp_path_factory.mktemp("named")).index


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("And what about TURTLE?", "TURTLE: How much memory does it save? And what about TURTLE?"),
        ("and turtle?", "TURTLE: How much memory does it save? and turtle?"),
        ("No, I meant TURTLE", "TURTLE"),
        ("No, I meant on which datasets TURTLE is evaluated", "TURTLE: on which datasets TURTLE is evaluated"),
        ("How many labels does TURTLE need?", "How many labels does TURTLE need?"),
        ("How does it differ from TURTLE?", "KIVI: How does it differ from TURTLE?"),
        ("and is it based on windows?", "KIVI: and is it based on windows?"),
    ],
)
def test_name_of_another_paper_leads_unless_the_two_are_compared(text: str, expected: str, index: PaperIndex) -> None:
    assert standalone(text, KIVI_SAVES, index).question == expected


def test_paper_switched_to_by_name_stays_in_play(index: PaperIndex) -> None:
    for text in ("And what about TURTLE?", "No, I meant TURTLE", "How many labels does TURTLE need?"):
        history = [*KIVI_SAVES, (text, answer_quoting("TURTLE"))]
        assert standalone("how fast is it?", history, index).question == "TURTLE: how fast is it?"


@pytest.mark.parametrize("text", ["How does it differ from TURTLE?", "Does TURTLE beat KIVI?", "is it better than TURTLE"])
def test_compared_papers_are_both_in_play(text: str, index: PaperIndex) -> None:
    history = [*KIVI_SAVES, (text, answer_quoting("KIVI"))]
    assert set(standalone("which one is tuning-free?", history, index).leads) == {"KIVI", "TURTLE"}


def test_refused_turn_leaves_the_paper_before_it_in_play(index: PaperIndex) -> None:
    def asked(text: str, refused: str) -> str:
        history = [("How are videos read by Momentor?", answer_quoting("Momentor")), (refused, "")]
        return standalone(text, history, index).question

    assert asked("and its segments?", "How tall is the tower in Paris?") == "Momentor: and its segments?"
    for refused in ("What is AlphaFold?", "different topic: how tall is the tower in Paris?"):
        assert not asked("and its segments?", refused).startswith("Momentor")
    assert not asked("and its height?", "How tall is the tower in Paris?").startswith("Momentor")


def test_question_of_stop_words_that_points_back_is_no_fault() -> None:
    assert alone("what is it for", KIVI) == "KIVI: what is it for"


def test_choice_of_the_turn_before_is_not_taken_along() -> None:
    history = [*KIVI, ("the second one - on which error term does it rest?", answer_quoting("CaM"))]
    assert alone("and the first?", history) == "KIVI: on which error term does it rest? and the first?"


def test_what_leads_is_told_and_a_question_of_its_own_has_no_lead() -> None:
    assert standalone("how fast is it?", KIVI).leads == ("KIVI",)
    assert standalone("which of them has code?", KIVI).leads == ("KIVI", "CaM")
    assert standalone("What is MathScale?", KIVI).leads == ()


def test_names_of_a_paper_are_found_as_they_are_written(index: PaperIndex) -> None:
    def named(text: str) -> list[str]:
        return [one.mention.title for one in papers_named(text, index)]

    assert named("Is TURTLE like KIVI's cache, or BASED?") == ["TURTLE", "KIVI", "BASED"]
    assert named("What is it based on?") == named("WHAT IS IT BASED ON NOW?") == named("") == []
