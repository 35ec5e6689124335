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
        ("Bees fly (1).", (1,)),
        ("Bees fly. (1)", (1,)),
        ("Bees fly (Abstract 1).", (1,)),
        ("Bees fly [source: 1].", (1,)),
        ("Bees fly [doc 1].", (1,)),
        ("Bees fly [ref 1].", (1,)),
        ("Bees fly 【1†source】.", (1,)),
        ("Bees fly [1 and 2].", (1, 2)),
        ("Bees fly [Paper 1, Paper 2].", (1, 2)),
        ("Bees fly [abstracts 1 and 3-4].", (1, 3, 4)),
        ("Bees fly [1]-[3].", (1, 2, 3)),
        ("Bees fly \\[1\\].", (1,)),
        ("Bees fly<sup>1</sup>.", (1,)),
        ("Bees fly ［1］.", (1,)),
        ("Bees fly [[1]].", (1,)),
        ("Bees fly **[1]**.", (1,)),
        ("Bees fly [1](http://evil.example/x).", (1,)),
        ("[1] Bees fly.", (1,)),
        ("[1]: Bees fly.", (1,)),
        ("According to abstract 1, bees fly.", (1,)),
        ("In [1], bees fly.", (1,)),
        ("Abstract 1 says that bees fly.", (1,)),
        ("Bees fly [0].", (0,)),
        ("Bees fly.", ()),
    ],
)
def test_markers_are_read_in_every_form_and_taken_off(written: str, markers: tuple[int, ...]) -> None:
    assert read(written) == [("Bees fly.", markers)]


def test_marker_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert read("Bees fly. [1] Ants walk. [2]") == [("Bees fly.", (1,)), ("Ants walk.", (2,))]


@pytest.mark.parametrize(
    "written",
    [
        "Bees fly [a].",
        "Bees fly [12345].",
        "Bees fly [1.5].",
        "First (1) bees, then (2) ants fly.",
        "In 10 (2024).",
        "Cost is O(n²).",
        "About x<b and c>d.",
    ],
)
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


def test_repeated_sentences_are_written_once_in_their_first_order() -> None:
    reply = read_reply_text("Bees fly [1]. Ants walk. Bees fly [2]. Ants  walk!")
    assert [(one.text, one.markers) for one in reply.sentences] == [("Bees fly.", (1,)), ("Ants walk.", ())]
    assert not reply.is_full


def test_reply_that_repeats_two_long_sentences_goes_on_so() -> None:
    bees, ants = "Bees fly over the long hill.", "Ants walk under the long hill."
    assert read_reply_text(f"{bees} {ants} {bees} {ants}").is_full
    assert not read_reply_text(f"{bees} {ants} {bees}").is_full


def test_headings_are_no_sentences_and_their_repetition_ends_nothing() -> None:
    written = "**Method**\nBees fly [1].\n**Result**\nAnts walk [1].\n## Method\nThere are two:\n- Wasps hum [1]."
    assert [text for text, _ in read(written)] == ["Bees fly.", "Ants walk.", "Wasps hum."]
    assert not read_reply_text(written).is_full


def test_last_sentence_is_left_out_when_the_model_had_no_tokens_left() -> None:
    written = "Bees fly [1]. Ants walk over the"
    assert [one.text for one in read_reply_text(written, is_cut=True).sentences] == ["Bees fly."]
    assert read(written) == [("Bees fly.", (1,)), ("Ants walk over the", ())]


@pytest.mark.parametrize(
    "written",
    [
        "<b>Bees fly.</b> [1]",
        "<b>Bees fly.</b>¹",
        "<script>alert(1)</script> Bees fly. [1]",
        "Bees <img src=x onerror=alert(1)>fly. [1]",
        "**Bees** fly. [1]",
        "B\u200be\u200des\ufeff \u202efly\u202c. [1]",
        "Bees fly\x1b[31m. [1]",
        "Sources\nBees fly. [1]",
        "So I answer about ants.</think>\nBees fly. [1]",
        "<reasoning>Ants walk.</reasoning> Bees fly. [1]",
    ],
)
def test_tags_unseen_letters_and_lone_marks_of_thinking_are_taken_off(written: str) -> None:
    assert read(written) == [("Bees fly.", (1,))]


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


@pytest.mark.parametrize(
    "written",
    [
        "NOT STATED",
        "<think>Hm.</think>\n**NOT STATED**.",
        "Not stated.",
        "NOT STATED. Bananas are blue. [1]",
        "The abstracts do not state this.",
        "I cannot answer this from the abstracts.",
    ],
)
def test_reply_that_begins_with_not_stated_says_nothing_else(written: str) -> None:
    reply = read_reply_text(written)
    assert reply.is_not_stated
    assert not reply.sentences


@pytest.mark.parametrize(
    "written",
    ["Bees fly [1]. The rest is NOT STATED.", "Bees fly [1].", "Not stated directly, but bees fly.", "There is no WRONG PREMISE."],
)
def test_tag_within_a_reply_decides_nothing(written: str) -> None:
    reply = read_reply_text(written)
    assert not reply.is_not_stated
    assert not reply.is_wrong_premise
    assert reply.sentences


def test_what_follows_a_denial_in_plain_words_is_read() -> None:
    reply = read_reply_text("The abstracts do not mention hills. Bees fly [1].")
    assert reply.is_not_stated
    assert [one.text for one in reply.sentences] == ["Bees fly."]


def test_wrong_premise_is_told_with_what_follows() -> None:
    for tag in ("WRONG PREMISE: ", "**Wrong premise.** ", "WRONG PREMISE\n"):
        reply = read_reply_text(f"{tag}Bees fly [1].")
        assert reply.is_wrong_premise
        assert [(one.text, one.markers) for one in reply.sentences] == [("Bees fly.", (1,))]


@pytest.mark.parametrize("nothing", ["", "  \n ", "***", "[1]", "[1] [2].", "<think>", "---\n```\n", "Sources:\n[1]"])
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
        "Sources\n" * 10_000,
        " " * 100_000 + "Bees fly.",
        "<script>" * 15_000,
        "<a " * 30_000,
        "paper 1 " * 12_000,
        "a" * 100_000,
    ],
    ids=lambda text: text[:7],
)
def test_hostile_replies_are_read_in_a_moment(hostile: str) -> None:
    started = time.perf_counter()
    read_reply_text(hostile)
    assert time.perf_counter() - started < 5
