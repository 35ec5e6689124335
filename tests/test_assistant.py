"""The public Python API: what `ask`, `stream`, `search` and `papers` promise, whatever is asked."""

import copy
import gc
import json
import pickle
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path

import pytest

from rag import Answer, Assistant, Settings, Turn
from rag.as_json import answer_as_json
from rag.citations import unescaped
from rag.errors import AskAbstractsError
from rag.indexing import build_index
from tests.conftest import OKAPI, ZEBRA, WordCountEmbedder
from vectorstore.passport import Passport

ANSWERED = (
    "How many questions does MMT-Bench hold?",
    "How should the key and value caches of an LLM be quantized?",
    "What is TURTLE and how well does it do without labels?",
    "Which parts of a robot learning setup should be automated, and why?",
    "How much of the text of AI conference reviews was written by ChatGPT?",
    "What is Lookahead decoding?",
    "how can longer sequences be used as copyright traps in llms",
    "Where is the code of CaM, the Cache Merging method?",
)
NOT_FOUND = (
    "What is the best recipe for carrot cake?",
    "What is the capital of France?",
    "Does the Higgs boson mass measured at the LHC agree with the Standard Model prediction?",
)
INVALID = ("", "  \n\t", "?!…", "the of and", "😀😀", "\u200b\u200b", "aaaaaaaaaa", "word word word word")
NASTY = (
    pytest.param("x" * 200_000, id="200,000 letters"),
    pytest.param("antelope " * 10_000, id="one word 10,000 times"),
    pytest.param("graph neural network " * 10_000, id="three words 10,000 times"),
    pytest.param("http://" + "a" * 100_000, id="an endless address"),
    pytest.param("$" * 3_000 + "*" * 3_000 + "_" * 3_000, id="nothing but marks"),
    pytest.param("[a](" * 5_000, id="open brackets"),
    pytest.param("\x00\x01\x02\xff\x7f", id="control characters"),
    pytest.param("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", id="the head of a picture"),
    pytest.param('<img src=x onerror="alert(1)"><script>alert(1)</script>', id="HTML"),
    pytest.param("'; DROP TABLE papers; --", id="SQL"),
    pytest.param("{{7*7}} ${7*7} %s {0} \\d+(a+)+$", id="templates and patterns"),
    pytest.param("\u202eKV \u200bca\u200bche\ufeff", id="zero-width and right-to-left"),
    pytest.param("KV cache 😀👩‍👩‍👧 quantization", id="emoji"),
    pytest.param("KV 缓存怎么量化？", id="Chinese"),
    pytest.param("ﷺ" * 500, id="letters that grow when normalised"),
    pytest.param("e\u0301" * 2_000, id="combining marks"),
    pytest.param("\ue0000\ue001 \ue0009\ue001 cache", id="private characters"),
    pytest.param("\ud800", id="only a lone surrogate"),
    pytest.param("KV \ud800 cache", id="a lone surrogate within words"),
)
OPEN_FILES = Path("/proc/self/fd")
STATUSES = {"answered", "silent", "not_found", "premise", "invalid"}


def assert_sound(answer: Answer) -> None:
    """Every promise that holds for every answer."""
    assert answer.is_final
    assert answer.status in STATUSES
    assert (answer.status in ("answered", "silent", "premise")) == bool(answer.text) == bool(answer.citations)
    assert answer.status == "answered" or answer.notices
    numbers = [citation.number for citation in answer.citations]
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
    assert len({(citation.number, citation.paper.id) for citation in answer.citations}) == len(set(numbers))
    assert {int(number) for number in re.findall(r"(?<!\\)\[(\d+)\]", answer.text)} == set(numbers)
    for citation in answer.citations:
        assert citation.paper.abstract[citation.start : citation.end] == citation.quote != ""
        claim = answer.text[slice(*citation.claim)]
        assert claim.endswith(f"[{citation.number}]")
        assert " ".join(citation.quote.split()) in unescaped(claim)
        assert 0 <= citation.support <= 1
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(seconds >= 0 for seconds in answer.timings.values())


def timeless(answer: Answer) -> Answer:
    """The answer without its timings, which alone may differ between two runs."""
    return replace(answer, timings={})


@pytest.mark.slow
@pytest.mark.parametrize("question", ANSWERED)
def test_a_question_about_the_seeds_is_answered_with_exact_quotes(seed_assistant: Assistant, question: str) -> None:
    answer = seed_assistant.ask(question)
    assert answer.status == "answered"
    assert_sound(answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("How many questions does MMT-Bench hold?", "$31,325$"),
        ("In KIVI, along which dimension are keys quantized and along which are values?", "per-token"),
        ("How fast is Lookahead decoding?", "1.8x"),
        ("What AUC do copyright traps reach?", "AUC=0.75"),
        ("wHaT iS tUrTlE?", "TURTLE"),
    ],
)
def test_the_fact_asked_for_is_in_a_quote(seed_assistant: Assistant, question: str, fact: str) -> None:
    assert any(fact in citation.quote for citation in seed_assistant.ask(question).citations)


@pytest.mark.slow
@pytest.mark.parametrize("question", NOT_FOUND)
def test_a_refusal_says_what_was_searched_and_names_the_nearest_papers(seed_assistant: Assistant, question: str) -> None:
    answer = seed_assistant.ask(question)
    assert answer.status == "not_found"
    assert_sound(answer)
    said = " ".join(answer.notices)
    assert question in said
    assert all(hit.paper.title in said for hit in answer.hits[:3])


@pytest.mark.parametrize("question", INVALID)
def test_nothing_that_can_be_searched_is_invalid(small_assistant: Assistant, question: str) -> None:
    answer = small_assistant.ask(question)
    assert answer.status == "invalid"
    assert answer.hits == ()
    assert_sound(answer)


@pytest.mark.slow
@pytest.mark.parametrize("question", NASTY)
def test_no_text_raises_an_error(seed_assistant: Assistant, question: str) -> None:
    answer = seed_assistant.ask(question)
    assert_sound(answer)
    assert all(0 <= hit.score <= 1 for hit in seed_assistant.search(question))
    assert_sound(seed_assistant.ask("And how fast is it?", [Turn(question, answer.text)]))


def test_an_answer_to_a_lone_surrogate_can_be_written(small_assistant: Assistant) -> None:
    assert json.dumps(answer_as_json(small_assistant.ask("zebra \udcff")), ensure_ascii=False).encode()


def test_a_long_question_is_searched_by_its_beginning_and_says_so(small_assistant: Assistant) -> None:
    answer = small_assistant.ask("What is Zebra? " + "It runs and runs. " * 1000)
    assert any("first 4000 characters" in notice for notice in answer.notices)


def test_the_last_snapshot_of_a_stream_is_the_answer(small_assistant: Assistant) -> None:
    *before, last = small_assistant.stream("What is Zebra?")
    assert before
    assert not any(snapshot.is_final or snapshot.text or snapshot.citations for snapshot in before)
    assert last.is_final
    assert last.citations
    assert timeless(last) == timeless(small_assistant.ask("What is Zebra?"))


def test_an_invalid_question_streams_one_final_snapshot(small_assistant: Assistant) -> None:
    assert [(snapshot.status, snapshot.is_final) for snapshot in small_assistant.stream("?")] == [("invalid", True)]


@pytest.mark.slow
def test_the_same_question_gives_the_same_answer(seed_assistant: Assistant) -> None:
    for question in (*ANSWERED[:3], *NOT_FOUND[:1]):
        assert timeless(seed_assistant.ask(question)) == timeless(seed_assistant.ask(question))


@pytest.mark.slow
def test_two_threads_get_the_answers_that_one_gets(seed_assistant: Assistant) -> None:
    questions = [*ANSWERED[:4], *NOT_FOUND[:2]] * 2
    alone = [timeless(seed_assistant.ask(question)) for question in questions[:6]] * 2
    with ThreadPoolExecutor(max_workers=2) as threads:
        assert [timeless(answer) for answer in threads.map(seed_assistant.ask, questions)] == alone


@pytest.mark.slow
def test_the_seeds_are_85_papers_with_venue_year_and_source(seed_assistant: Assistant) -> None:
    papers = seed_assistant.papers
    assert len({paper.id for paper in papers}) == len({paper.title for paper in papers}) == len(papers) == 85
    assert sum(len(paper.sources) for paper in papers) == 95
    assert {(paper.venue, paper.year) for paper in papers} == {("ICML", 2024)}
    assert all(re.fullmatch(r"\d{3}_\w+\.txt#\d+", source) for paper in papers for source in paper.sources)


@pytest.mark.slow
def test_search_over_the_seeds_keeps_its_promises(seed_assistant: Assistant) -> None:
    hits = seed_assistant.search("kv cache", k=5)
    scores = [hit.score for hit in hits]
    assert len({hit.paper.id for hit in hits}) == 5
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(hit.paper.abstract[one.start : one.end] == one.text for hit in hits for one in hit.sentences)
    assert len(seed_assistant.search("kv cache", k=1000)) <= 85


@pytest.mark.slow
def test_a_follow_up_is_about_the_paper_of_the_last_answer(seed_assistant: Assistant) -> None:
    first = seed_assistant.ask("What is Lookahead decoding?")
    answer = seed_assistant.ask("How fast is it?", [Turn(first.question, first.text)])
    assert answer.question == "How fast is it?"
    assert "Lookahead" in answer.standalone_question
    assert answer.hits[0].paper == first.citations[0].paper
    assert any("1.8x" in citation.quote for citation in answer.citations)


def test_a_follow_up_without_history_knows_no_paper(small_assistant: Assistant) -> None:
    first = small_assistant.ask("What is Zebra?")
    small_assistant.ask("What accuracy does Okapi reach?")
    assert small_assistant.ask("How fast is it?").standalone_question == "How fast is it?"
    followed = small_assistant.ask("How fast is it?", (Turn(first.question, first.text),))
    assert followed.citations[0].paper.abstract == ZEBRA


def test_a_question_that_names_its_paper_ignores_history(small_assistant: Assistant) -> None:
    first = small_assistant.ask("What is Zebra?")
    answer = small_assistant.ask("What accuracy does Okapi reach?", [Turn(first.question, first.text)])
    assert answer.standalone_question == "What accuracy does Okapi reach?"
    assert answer.citations[0].paper.abstract == OKAPI


def test_a_newly_published_index_is_seen_without_reopening(
    small_assistant: Assistant, folder_of_abstracts: Path, embedder: WordCountEmbedder
) -> None:
    assert small_assistant.ask("What is Quokka?").citations == ()
    (folder_of_abstracts / "more.txt").write_text("Quokka is a smiling dataset of 77 islands.", encoding="utf-8")
    build_index(small_assistant.settings, embedder)
    assert len(small_assistant.papers) == 4
    assert small_assistant.ask("What is Quokka?").citations[0].quote == "Quokka is a smiling dataset of 77 islands."


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="needs Linux's /proc")
def test_indexes_that_were_replaced_are_let_go(
    small_assistant: Assistant, folder_of_abstracts: Path, embedder: WordCountEmbedder
) -> None:
    open_before = 0
    for number in range(6):
        (folder_of_abstracts / "more.txt").write_text(f"Quokka is a smiling dataset of {number} islands.", encoding="utf-8")
        build_index(small_assistant.settings, embedder)
        assert small_assistant.ask("What is Quokka?").citations
        gc.collect()
        open_before = open_before or len(list(OPEN_FILES.iterdir()))
    assert len(list(OPEN_FILES.iterdir())) < open_before + 12


def waited_for(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not is_so() and time.monotonic() < until:
        time.sleep(0.01)
    return is_so()


def test_an_index_of_another_embedder_that_is_swapped_in_is_gone_over_to(
    small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()

    def loaded(settings: Settings, passport: Passport) -> WordCountEmbedder:
        may_load.wait(10)
        return WordCountEmbedder(str(passport.embedder["model"]))

    monkeypatch.setattr("rag.assistant.make_embedder", loaded)
    build_index(small_assistant.settings, WordCountEmbedder("another model"), rebuild=True)
    assert small_assistant.ask("What is Zebra?").status == "answered"
    assert small_assistant.embedder.identity["model"] != "another model"
    may_load.set()
    assert waited_for(lambda: small_assistant.embedder.identity["model"] == "another model")
    assert small_assistant.ask("What is Zebra?").status == "answered"


def test_a_swapped_in_index_whose_embedder_cannot_be_loaded_leaves_the_old_one_serving(
    small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rag.assistant.make_embedder", lambda *_, **__: WordCountEmbedder())
    build_index(small_assistant.settings, WordCountEmbedder("another model"), rebuild=True)
    assert small_assistant.ask("What is Zebra?").status == "answered"
    assert waited_for(lambda: "answering from the one before" in caplog.text)
    assert small_assistant.ask("What is Zebra?").status == "answered"
    assert small_assistant.embedder.identity["model"] != "another model"


def test_opening_a_missing_store_builds_it_and_a_stale_one_is_brought_up_to_date(
    settings: Settings, folder_of_abstracts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.assistant.make_embedder", lambda *_, **__: WordCountEmbedder())
    assert len(Assistant.open(settings).papers) == 3
    (folder_of_abstracts / "animals.txt").write_text(ZEBRA, encoding="utf-8")
    assert [paper.abstract for paper in Assistant.open(settings).papers] == [ZEBRA]


def test_opening_without_any_abstract_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.assistant.make_embedder", lambda *_, **__: WordCountEmbedder())
    with pytest.raises(AskAbstractsError, match=re.escape(str(tmp_path))):
        Assistant.open(Settings(store=str(tmp_path / "store"), sources=(str(tmp_path),)))


def test_answers_and_citations_are_frozen(small_assistant: Assistant) -> None:
    answer = small_assistant.ask("What is Zebra?")
    with pytest.raises(FrozenInstanceError):
        answer.text = ""  # type: ignore[misc]  # the point of the test
    with pytest.raises(FrozenInstanceError):
        answer.citations[0].quote = ""  # type: ignore[misc]  # the point of the test


def test_an_answer_can_be_copied_pickled_and_turned_into_plain_data(small_assistant: Assistant) -> None:
    answer = small_assistant.ask("What is Zebra?")
    assert copy.deepcopy(answer) == pickle.loads(pickle.dumps(answer)) == answer
    assert asdict(answer)["status"] == "answered"
