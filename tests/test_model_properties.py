"""Whatever a model writes, every answer and every snapshot keep what is promised of quotes, markers and numbers."""

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag import Answer
from rag.assistant import Assistant
from rag.citations import UNSUPPORTED
from tests.conftest import HERON, OKAPI
from tests.scripted_model import (
    ABOUT_OKAPI,
    ANIMALS,
    OFF_TOPIC,
    OKAPI_IS,
    OKAPI_REACHES,
    ZEBRA_IS_FASTER,
    ScriptedLLM,
    assistant_over,
    with_llm,
)

PIECES = st.sampled_from([
    OKAPI_IS, OKAPI_REACHES, ZEBRA_IS_FASTER, OFF_TOPIC, OKAPI, HERON, "Okapi", "71.2%", "It reaches 17.2% accuracy.",
    f"{OKAPI_IS.rstrip('.')}, whereas {ZEBRA_IS_FASTER}", " [1]", "[2]", "[99]", " [1, 2]", "[1-9]", "【1】", "[^1]", "\\[1]", "[1](http://evil)",
    ". ", "\n", "\n\n", "\r\n", "- ", "# ", "> ", "1. ", "**", "~~", "*", "`", "```", "|", "$", "<b>", "</abstracts>", "<think>", "</think>",
    "<script>alert(1)</script>", "![x](y)", "&amp;", "\\", "\\\\", "\x00", "\x1b[31m", "\u202e", "\u2028", "\ud800", "\ufeff",
    "Sources:\n", "NOT STATED", "WRONG PREMISE", "🦓", "…", "：", f"~~x~~ *({UNSUPPORTED})*",
])  # fmt: skip
REPLIES = st.lists(PIECES | st.text(max_size=8), max_size=14).map("".join) | st.text()
STRUCK = re.compile(rf"~~(?:\\.|[^~\\])*~~ \*\({UNSUPPORTED}\)\*", re.DOTALL)


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    return assistant_over(ANIMALS, tmp_path_factory.mktemp("properties"))


def markers_in(text: str) -> list[int]:
    """The numbers of the markers in Markdown; one whose bracket is escaped is text."""
    unescaped = re.sub(r"\\.", "", text, flags=re.DOTALL)
    return [int(number) for number in re.findall(r"\[(\d+)\]", unescaped)]


def assert_promises(answer: Answer) -> None:
    """What holds for a model's final answer, for its snapshots, and for the quotes in its place."""
    numbers = [one.number for one in answer.citations]
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
    assert len({(one.number, one.paper.id) for one in answer.citations}) == len(set(numbers))
    assert set(markers_in(answer.text)) == set(numbers)
    assert list(dict.fromkeys(markers_in(answer.text))) == sorted(set(numbers))
    for one in answer.citations:
        assert one.paper.abstract[one.start : one.end] == one.quote != ""
        assert one.number in markers_in(answer.text[slice(*one.claim)])
        assert 0 <= one.support <= 1
    assert_nothing_uncited(answer)


def assert_nothing_uncited(answer: Answer) -> None:
    """Outside the claims there is nothing but struck and labelled sentences, which carry no marker."""
    claims = sorted({one.claim for one in answer.citations})
    assert all(first[1] <= second[0] for first, second in pairwise(claims))
    ends = [0, *(end for _, end in claims)]
    starts = [*(start for start, _ in claims), len(answer.text)]
    between = "".join(answer.text[end:start] for end, start in zip(ends, starts, strict=True))
    struck = STRUCK.findall(between)
    assert not any(markers_in(one) for one in struck)
    left = STRUCK.sub("", between)
    assert not left.replace(">", "").strip()  # a further quote of a paper begins with ">"


@pytest.mark.parametrize("unsupported", ["drop", "show"])
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=REPLIES, step=st.integers(1, 60))
def test_any_reply_becomes_an_answer_that_keeps_every_promise(
    assistant: Assistant, unsupported: str, written: str, step: int
) -> None:
    with_model = with_llm(assistant, ScriptedLLM(written, step=max(step, len(written) // 20)), unsupported=unsupported)
    *snapshots, answer = with_model.stream(ABOUT_OKAPI)
    assert answer.is_final
    assert not any(snapshot.is_final for snapshot in snapshots)
    assert answer.model in ("quotes", "ScriptedLLM")
    assert (answer.model == "quotes") <= bool(answer.notices)
    assert answer.citations  # those of the quotes, when nothing of the reply is supported
    for one in [*snapshots, answer]:
        assert_promises(one)


@pytest.mark.parametrize("unsupported", ["drop", "show"])
@pytest.mark.parametrize(
    "written",
    [
        f"{OKAPI_IS} [1]\n\n{OFF_TOPIC} [1]\n\n{OKAPI_REACHES} [3]",
        f"~~{OKAPI_IS}~~ [1] *({UNSUPPORTED})*",
        f"[1] {OKAPI_IS}[1](http://evil) {OFF_TOPIC}\\[1]",
        f"> {OKAPI_IS}\n>\n> **Okapi** [1]\n\n| a | b [2] |",
        "[1] [2] [3]",
    ],
)
def test_replies_that_look_like_answers_keep_every_promise(assistant: Assistant, unsupported: str, written: str) -> None:
    for one in with_llm(assistant, ScriptedLLM(written, step=3), unsupported=unsupported).stream(ABOUT_OKAPI):
        assert_promises(one)
