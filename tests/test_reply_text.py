"""A model's reply taken apart: sentences without dress, and the markers each of them carries, in whatever form a model writes them."""

import time

import pytest

from rag.answering.reply_text import read_reply_text, without_thinking


def read(text: str, *, is_whole: bool = True) -> list[tuple[str, tuple[int, ...]]]:
    """Each sentence with its markers."""
    return [(one.text, one.markers) for one in read_reply_text(text, is_whole=is_whole).sentences]


@pytest.mark.parametrize(
    ("written", "markers"),
    [
        ("Bees fly [1].", (1,)),
        ("Bees fly. [1]", (1,)),
        ("Bees fly.[1]", (1,)),
        ("Bees fly [1][2].", (1, 2)),
        ("Bees fly [1] [2].", (1, 2)),
        ("Bees fly. [1] [2]", (1, 2)),
        ("Bees fly [1, 2].", (1, 2)),
        ("Bees fly [1; 2].", (1, 2)),
        ("Bees fly [1-3].", (1, 2, 3)),
        ("Bees fly [1–3].", (1, 2, 3)),
        ("Bees [2] fly [1].", (2, 1)),
        ("Bees fly [1][1].", (1,)),
        ("Bees fly [^1].", (1,)),
        ("Bees fly 【1】.", (1,)),
        ("Bees fly [Abstract 2].", (2,)),
        ("Bees fly [source 2].", (2,)),
        ("Bees fly [ 1 ].", (1,)),
        ("Bees fly [99].", (99,)),
        ("Bees fly [0].", (0,)),
        ("Bees fly.", ()),
    ],
)
def test_markers_are_read_in_every_form_and_taken_off(written: str, markers: tuple[int, ...]) -> None:
    assert read(written) == [("Bees fly.", markers)]


def test_marker_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert read("Bees fly. [1] Ants walk. [2]") == [("Bees fly.", (1,)), ("Ants walk.", (2,))]


@pytest.mark.parametrize("written", ["Bees fly [a].", "Bees fly [12345].", "Bees fly (1).", "Bees fly [1.5]."])
def test_what_is_no_marker_stays(written: str) -> None:
    assert read(written) == [(written, ())]


def test_huge_range_is_bounded() -> None:
    ((_, markers),) = read("Bees fly [1-999].")
    assert len(markers) < 30


@pytest.mark.parametrize(
    "written",
    [
        "- Bees fly [1].\n- Ants walk [2].",
        "* Bees fly [1].\n* Ants walk [2].",
        "• Bees fly [1].\n• Ants walk [2].",
        "1. Bees fly [1].\n2. Ants walk [2].",
        "1) Bees fly [1].\n2) Ants walk [2].",
        "> Bees fly [1].\n> Ants walk [2].",
        "Answer: Bees fly [1].\n\nAnts walk [2].",
        "**Bees fly** [1].\r\n__Ants walk__ [2].",
    ],
)
def test_bullets_numbers_and_emphasis_are_taken_off(written: str) -> None:
    assert [(text.replace("**", "").replace("__", ""), markers) for text, markers in read(written)] == [
        ("Bees fly.", (1,)),
        ("Ants walk.", (2,)),
    ]


def test_lines_are_paragraphs() -> None:
    reply = read_reply_text("Bees fly. Bees hum.\n\nAnts walk.")
    assert [one.paragraph for one in reply.sentences] == [0, 0, 1]


@pytest.mark.parametrize("heading", ["Sources:", "**Sources**", "## References", "Citations", "Bibliography:", "source:"])
def test_list_of_sources_is_left_out(heading: str) -> None:
    assert read(f"Bees fly [1].\n\n{heading}\n[1] A paper on bees. It is long.") == [("Bees fly.", (1,))]


def test_sentence_that_speaks_of_sources_stays() -> None:
    assert len(read("Sources of honey are flowers. Bees fly.")) == 2


@pytest.mark.parametrize(
    "written",
    [
        "<think>Ants walk [2].</think>Bees fly [1].",
        "<thinking>\nAnts walk.\n\nSources:\n</thinking>\n\nBees fly [1].",
        "<THINK>Ants</THINK> Bees fly [1].",
        "<think>Ants.</think><think>Wasps.</think>Bees fly [1].",
        "Bees fly [1]. <think>Ants walk without end",
    ],
)
def test_thinking_is_left_out(written: str) -> None:
    assert read(written) == [("Bees fly.", (1,))]


def test_thinking_that_has_not_ended_is_left_out_of_a_growing_reply() -> None:
    assert without_thinking("<think>Bees fly. Ants walk. ") == ""
    assert read("<think>Bees fly. Ants walk. ", is_whole=False) == []


def test_repeated_sentences_are_told_and_written_once_in_their_first_order() -> None:
    reply = read_reply_text("Bees fly [1]. Ants walk. Bees fly [2]. Ants  walk!")
    assert [(one.text, one.markers) for one in reply.sentences] == [("Bees fly.", (1,)), ("Ants walk.", ())]
    assert reply.repeats_itself
    assert not read_reply_text("Bees fly. Ants walk.").repeats_itself


def test_last_sentence_that_was_cut_is_left_out() -> None:
    assert read("Bees fly [1]. Ants walk over the") == [("Bees fly.", (1,))]


def test_only_sentence_is_kept_without_its_full_stop() -> None:
    assert read("71.2% accuracy [1]") == [("71.2% accuracy", (1,))]


@pytest.mark.parametrize(
    ("growing", "sentences"),
    [
        ("", 0),
        ("Bees", 0),
        ("Bees fly.", 0),  # it may be "fly.5", and a marker may follow
        ("Bees fly. [1]", 1),
        ("Bees fly [1].\n", 1),
        ("Bees fly [1]. Ants", 1),
        ("Bees fly [1]. Ants walk. [2] ", 2),
    ],
)
def test_sentence_of_a_growing_reply_counts_once_it_has_ended(growing: str, sentences: int) -> None:
    assert len(read(growing, is_whole=False)) == sentences


def test_not_stated_counts_only_alone() -> None:
    assert read_reply_text("NOT STATED").is_not_stated
    assert read_reply_text("<think>Hm.</think>\n**NOT STATED**.").is_not_stated
    assert not read_reply_text("Bees fly [1]. The rest is NOT STATED.").is_not_stated
    assert not read_reply_text("Bees fly [1].").is_not_stated


def test_wrong_premise_is_told_with_what_follows() -> None:
    reply = read_reply_text("WRONG PREMISE: Bees fly [1].")
    assert reply.is_wrong_premise
    assert [one.markers for one in reply.sentences] == [(1,)]


@pytest.mark.parametrize("nothing", ["", "  \n ", "***", "[1]", "[1] [2].", "<think>", "---\n```\n", "Sources:\n[1] Bees."])
def test_reply_of_nothing_has_no_sentences(nothing: str) -> None:
    assert read(nothing) == []


@pytest.mark.parametrize(
    "hostile",
    [
        "[1]" * 20_000,
        "[1, " * 20_000,
        "<think>" * 20_000,
        "." * 50_000,
        "a. " * 20_000,
        "\n- " * 20_000,
        "[" * 50_000,
        "1,2;" * 20_000,
    ],
    ids=lambda text: text[:7],
)
def test_hostile_replies_are_read_in_a_moment(hostile: str) -> None:
    started = time.perf_counter()
    read_reply_text(hostile)
    assert time.perf_counter() - started < 5
