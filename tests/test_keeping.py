"""A visitor's conversations as the browser keeps them: what is ours comes back whole, what is not does no harm."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.assistant import Assistant
from rag.index import PaperIndex
from rag.web import keeping
from rag.web.keeping import Conversation, Conversations, as_kept, from_kept
from tests.scripted_model import ANIMALS, ZEBRA_IS_FASTER, ScriptedLLM, assistant_over, with_llm

HOW_MUCH_FASTER = "How much faster is Zebra than Okapi?"
_opened: list[Assistant] = []
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module", autouse=True)
def _animals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An assistant over the small collection, one for all these tests: `animals()`."""
    _opened.append(assistant_over(ANIMALS, tmp_path_factory.mktemp("animals")))
    yield
    _opened.clear()
    asked.cache_clear()


def animals() -> Assistant:
    return _opened[0]


def held(_: str) -> PaperIndex:
    """The index of every collection."""
    return animals().index


@lru_cache
def asked(*questions: str) -> Conversations:
    """One conversation with the answers to some questions."""
    fresh = Conversation.new()
    return Conversations((replace(fresh, answers=tuple(animals().ask(question) for question in questions)),), fresh.id)


def kept_row(conversations: Conversations) -> Any:
    """What is kept, as data to tamper with."""
    return json.loads(as_kept(conversations)[0])


def back(data: object) -> Conversations:
    return from_kept(json.dumps(data), held)


def test_what_was_kept_comes_back() -> None:
    before = asked(HOW_MUCH_FASTER, "What is the best recipe for carrot cake?").renamed("", "")
    after = from_kept(as_kept(before)[0], held)
    assert (after.open_id, [one.id for one in after.all]) == (before.open_id, [one.id for one in before.all])
    for old, new in zip(before.open.answers, after.open.answers, strict=True):
        assert [(hit.paper, hit.score) for hit in new.hits] == [(hit.paper, hit.score) for hit in old.hits]
        assert replace(new, hits=()) == replace(old, hits=())
    assert as_kept(after) == as_kept(before)


def test_a_models_answer_comes_back() -> None:
    model = ScriptedLLM(f"{ZEBRA_IS_FASTER} [1] Bananas were sold in Ecuador. [1]")
    answer = with_llm(animals(), model, unsupported="show").ask(HOW_MUCH_FASTER)
    before = Conversations((replace(Conversation.new(), name="A name", answers=(answer,)),))
    [after] = from_kept(as_kept(before)[0], held).open.answers
    assert "~~" in after.text
    assert replace(after, hits=()) == replace(answer, hits=())


@pytest.mark.parametrize(
    "text", ["", "garbage", "{", "[]", "null", "5", '"text"', "[" * 100_000, "{}", '{"version": 1}', None, 5, b"{}", {"version": 1}],
    ids=lambda text: str(text)[:20] or "empty",
)  # fmt: skip
def test_what_is_not_ours_gives_a_fresh_start(text: object) -> None:
    fresh = from_kept(text, held)
    assert [one.answers for one in fresh.all] == [()]


def test_another_version_and_a_text_too_long_give_a_fresh_start(monkeypatch: pytest.MonkeyPatch) -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    assert back(row | {"version": 0}).open.answers == ()
    monkeypatch.setattr(keeping, "_LONGEST_KEPT", 10)
    assert back(row).open.answers == ()


@pytest.mark.parametrize("length", [1, 50, 200, 500, -1])
def test_a_cut_text_gives_a_fresh_start(length: int) -> None:
    assert from_kept(as_kept(asked(HOW_MUCH_FASTER))[0][:length], held).open.answers == ()


def set_quote(citation: list[Any]) -> None:
    citation[4] = "A forged quote."


def set_place(citation: list[Any]) -> None:
    citation[2] += 1


def set_paper(citation: list[Any]) -> None:
    citation[1] = "0" * 16


@pytest.mark.parametrize("forge", [set_quote, set_place, set_paper])
def test_an_answer_whose_quotes_are_not_in_the_collection_loses_its_text(forge: Callable[[list[Any]], None]) -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    forge(row["conversations"][0]["answers"][0]["citations"][0])
    [answer] = back(row).open.answers
    assert (answer.text, answer.citations) == ("", ())
    assert "Ask again" in answer.notices[-1]


def test_a_forged_text_without_quotes_is_not_shown() -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    row["conversations"][0]["answers"][0] |= {"text": "Zebra is a fraud.", "citations": []}
    [answer] = back(row).open.answers
    assert answer.text == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "perfect"), ("status", []), ("timings", {"plan": "fast"}), ("timings", []), ("citations", "no"), ("citations", [[1]]),
     ("hits", [[5]]), ("hits", [["0" * 16, 0.5]]), ("hits", [[[], 0.5]]), ("notices", 5), ("notices", "abc"), ("model", None), ("question", {"a": 1})],
    ids=str,
)  # fmt: skip
def test_a_field_of_another_kind_raises_nothing(field: str, value: object) -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    row["conversations"][0]["answers"][0][field] = value
    conversations = back(row)
    for answer in conversations.open.answers:
        assert isinstance(answer.question, str)
        assert answer.status in keeping._STATUSES
    as_kept(conversations)


def test_the_oldest_conversations_give_way_and_the_open_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [replace(Conversation.new(), name=str(number), answers=asked(HOW_MUCH_FASTER).open.answers) for number in range(5)]
    conversations = Conversations(tuple(many), many[-1].id)
    one = len(as_kept(Conversations((many[0],)))[0])
    monkeypatch.setattr(keeping, "_LONGEST_KEPT", 3 * one)
    text, dropped = as_kept(conversations)
    assert len(text) <= 3 * one
    assert [row["name"] for row in json.loads(text)["conversations"]] == ["0", "1", "4"]
    assert dropped == 2
    assert from_kept(text, held).open.name == "4"


def test_one_conversation_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_LONGEST_KEPT", 100)
    assert as_kept(asked(HOW_MUCH_FASTER))[0] == ""


@given(JSON)
def test_no_json_raises(data: object) -> None:
    as_kept(back(data))


@given(st.text())
def test_no_text_raises(text: str) -> None:
    as_kept(from_kept(text, held))


@pytest.mark.parametrize(
    "hits", ['{"": null}', "[[]]", f'[["{"0" * 16}", 1e999]]', '[["a", 1' + "0" * 400 + "]]"], ids=lambda text: text[:20]
)
def test_hits_of_no_sense_raise_nothing(hits: str) -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    row["conversations"][0]["answers"][0]["hits"] = json.loads(hits)
    as_kept(back(row))


@given(JSON, st.sampled_from(["id", "name", "answers"]), st.data())
def test_no_json_in_the_place_of_another_raises(value: object, field: str, data: st.DataObject) -> None:
    row = kept_row(asked(HOW_MUCH_FASTER))
    conversation = row["conversations"][0]
    if data.draw(st.booleans()):
        conversation[field] = value
    else:
        answer = conversation["answers"][0]
        answer[data.draw(st.sampled_from(sorted(answer)))] = value
    as_kept(back(row))


def test_conversations_are_begun_opened_named_and_deleted() -> None:
    first = asked(HOW_MUCH_FASTER)
    second = first.with_new()
    assert (len(second.all), second.open.answers) == (2, ())
    assert second.with_new().all == second.all, "an empty one is there already"
    assert second.opened(first.open.id).open.answers == first.open.answers
    assert second.opened("unknown") == second
    assert first.open.shown_name == HOW_MUCH_FASTER
    assert len(first.renamed(first.open.id, " a \n b " * 40).open.name) <= 60
    assert second.without(second.open.id).open.id == first.open.id
    assert first.without(first.open.id).open.answers == ()
