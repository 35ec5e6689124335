"""The chat in a real browser: what is kept when the server, the page or the visitor comes between a question and its answer."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.chat_server import ANSWER_MILLISECONDS, answered, ask, settle, turns, visit
from tests.server_process import Served, served

pytestmark = pytest.mark.slow
FASTER = "How much faster is Zebra than Okapi?"
OKAPI = "What is Okapi?"
HERONS = "What do herons do?"
SLOW_SECONDS = 6.0


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A chat whose model takes its time for every answer."""
    with served(tmp_path_factory.mktemp("slow"), model_seconds=SLOW_SECONDS) as server:
        yield server


@pytest.fixture
def page(browser: Browser, slow: Served) -> Iterator[Page]:
    """The slow chat as a new visitor sees it; every dialog is accepted."""
    with visit(browser, slow, replies=["Named anew"] * 3) as opened:
        yield opened


def quickly(page: Page) -> None:
    """Has the quotes answer, which takes no time."""
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("radio", name="exact quotes").check()
    page.get_by_role("tab", name="Chat").click()


def slowly(page: Page) -> None:
    """Has the model answer."""
    page.get_by_role("tab", name="Settings").click()
    page.locator("#answerer input").last.check()
    page.get_by_role("tab", name="Chat").click()


def begin(page: Page, question: str) -> None:
    """Asks, and waits until the model writes."""
    box = page.get_by_label("Your question")
    box.fill(question)
    box.press("Enter")
    expect(page.locator("#current .draft")).to_be_visible(timeout=ANSWER_MILLISECONDS)


def questions(page: Page) -> list[str]:
    return list(map(str, turns(page).locator("h2").all_text_contents()))


def names(page: Page) -> list[str]:
    return list(map(str, page.locator("#conversations .name").all_text_contents()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("act", ["ask", "new", "rename", "clear", "export"])
def test_a_server_started_anew_under_an_open_page_loses_nothing(browser: Browser, tmp_path: Path, act: str) -> None:
    port = free_port()
    with served(tmp_path / "one", port=port) as first, visit(browser, first, replies=["Named anew"]) as page:
        ask(page, OKAPI)
        page.get_by_role("button", name="New conversation").last.click()
        expect(turns(page)).to_have_count(0)
        ask(page, FASTER)
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        with served(tmp_path / "two", port=port):
            if act == "ask":
                ask(page, HERONS)
            elif act == "rename":
                page.get_by_role("button", name=f"Rename: {FASTER}").click()
                expect(page.locator("#conversations .name").first).to_have_text("Named anew")
            elif act == "export":
                with page.expect_download() as saved:
                    page.get_by_role("button", name="Export the conversation").click()
                assert FASTER.rstrip("?") in Path(saved.value.path()).read_text(encoding="utf-8")
            else:
                page.get_by_role("button", name="New conversation" if act == "new" else "Clear", exact=True).last.click()
                expect(turns(page)).to_have_count(0)
            page.reload()
            settle(page)
            mine = {"rename": "Named anew", "clear": "Nothing asked yet"}.get(act, FASTER)
            assert names(page) == [*(["Nothing asked yet"] if act == "new" else []), mine, OKAPI]
            if act in ("ask", "rename", "export"):
                assert questions(page) == ([FASTER, HERONS] if act == "ask" else [FASTER])


def test_a_conversation_deleted_while_it_is_answered_stays_deleted(page: Page) -> None:
    begin(page, FASTER)
    page.get_by_role("button", name="Delete: ").click()
    expect(page.locator("#current article")).to_have_count(0)
    page.wait_for_timeout(1000)
    assert names(page) == ["Nothing asked yet"]
    assert page.locator("#current article").count() == 0
    page.reload()
    settle(page)
    assert names(page) == ["Nothing asked yet"]


def test_another_conversation_deleted_while_one_is_answered_stays_deleted(page: Page) -> None:
    quickly(page)
    ask(page, OKAPI)
    page.get_by_role("button", name="New conversation").last.click()
    expect(turns(page)).to_have_count(0)
    slowly(page)
    begin(page, FASTER)
    page.get_by_role("button", name=f"Delete: {OKAPI}").click()
    answered(page, 1)
    assert names(page) == [FASTER]
    page.reload()
    settle(page)
    assert names(page) == [FASTER]


def test_a_name_given_while_an_answer_is_written_stays(page: Page) -> None:
    begin(page, FASTER)
    page.get_by_role("button", name="Rename: ").click()
    expect(page.locator("#conversations .name")).to_have_text("Named anew")
    answered(page, 1)
    expect(page.locator("#conversations .name")).to_have_text("Named anew")
    page.reload()
    settle(page)
    assert names(page) == ["Named anew"]
    assert questions(page) == [FASTER]


def test_a_question_asked_after_the_conversation_was_deleted_in_mid_answer_is_answered(page: Page) -> None:
    begin(page, FASTER)
    page.get_by_role("button", name="Delete: ").click()
    expect(page.locator("#current article")).to_have_count(0)
    box = page.get_by_label("Your question")
    box.fill(OKAPI)
    box.press("Enter")
    expect(answered(page, 1).locator("h2")).to_have_text(OKAPI)


def test_a_question_asked_while_another_is_answered_stays_in_the_box_with_a_word(page: Page) -> None:
    begin(page, FASTER)
    box = page.get_by_label("Your question")
    box.fill(OKAPI)
    box.press("Enter")
    expect(page.locator("#note")).to_contain_text("press Stop")
    expect(box).to_have_value(OKAPI)
    page.get_by_role("button", name="Stop").click()
    answered(page, 1)
    expect(page.locator("#note")).to_have_text("")
    expect(box).to_have_value(OKAPI)


def test_what_must_wait_for_an_answer_looks_so_and_says_so(page: Page) -> None:
    quickly(page)
    ask(page, OKAPI)
    slowly(page)
    begin(page, FASTER)
    turns(page).first.get_by_role("button", name="Edit the question").click()
    waiting = [
        page.get_by_role("button", name=name, exact=True).last for name in ("New conversation", "Clear", "Ask again", "Send")
    ]
    for button in (*waiting, page.locator("#conversations .name").first):
        expect(button).to_have_attribute("aria-disabled", "true")
        page.evaluate("document.querySelector('#note').textContent = ''")
        button.click(force=True)
        expect(page.locator("#note")).to_contain_text("An answer is being written")
    answered(page, 2)
    assert page.locator("[aria-disabled=true]").count() == 0


def test_asking_an_earlier_turn_again_keeps_the_later_ones(page: Page) -> None:
    quickly(page)
    for question in (OKAPI, FASTER, HERONS):
        ask(page, question)
    slowly(page)
    turns(page).first.get_by_role("button", name="Ask again").click()
    expect(page.locator("#current .draft")).to_be_visible(timeout=ANSWER_MILLISECONDS)
    assert page.locator("#later h2").all_text_contents() == [FASTER, HERONS]
    expect(turns(page)).to_have_count(3, timeout=ANSWER_MILLISECONDS)
    assert questions(page) == [OKAPI, FASTER, HERONS]
    page.reload()
    settle(page)
    expect(turns(page)).to_have_count(3)
    assert questions(page) == [OKAPI, FASTER, HERONS]
    quickly(page)
    ask(page, "What does Zebra paint?")
    assert questions(page) == [OKAPI, FASTER, HERONS, "What does Zebra paint?"]


def test_an_edit_says_beforehand_which_turns_it_replaces(page: Page) -> None:
    quickly(page)
    for question in (OKAPI, FASTER, HERONS):
        ask(page, question)
    for turn, said in enumerate(("this and the 2 turns after it", "this and the turn after it", "")):
        turns(page).nth(turn).get_by_role("button", name="Edit the question").click()
        expect(turns(page).nth(turn).locator(".cuts")).to_have_text(f"Sending replaces {said}." if said else "")


def test_a_question_is_given_back_when_the_page_is_loaded_anew_before_its_answer(page: Page) -> None:
    begin(page, FASTER)
    page.reload()
    settle(page)
    expect(page.get_by_label("Your question")).to_have_value(FASTER)
    expect(page.locator("#note")).to_contain_text("not answered yet")
    quickly(page)
    page.get_by_label("Your question").press("Enter")
    answered(page, 1)
    page.wait_for_timeout(400)
    page.reload()
    settle(page)
    page.wait_for_timeout(600)
    expect(page.get_by_label("Your question")).to_have_value("")


def test_a_question_is_given_back_when_the_server_dies_under_it(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path / "one", port=port, model_seconds=SLOW_SECONDS) as first, visit(browser, first) as page:
        begin(page, FASTER)
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        with served(tmp_path / "two", port=port):
            expect(page.get_by_label("Your question")).to_have_value(FASTER, timeout=ANSWER_MILLISECONDS)
            expect(page.locator("#note")).to_contain_text("not answered yet")
            page.get_by_label("Your question").press("Enter")
            answered(page, 1)


def test_escape_finds_the_marker_again_when_its_answer_was_finished_meanwhile(page: Page) -> None:
    begin(page, FASTER)
    marker = page.locator("#current a.marker").first
    place = marker.get_attribute("href")
    marker.click()
    answered(page, 1)
    page.locator("#evidence mark.shown").focus()
    page.keyboard.press("Escape")
    expect(page.locator(f'a.marker[href="{place}"]').first).to_be_focused()


def test_an_empty_conversation_says_that_there_is_nothing_to_export(page: Page) -> None:
    page.get_by_role("button", name="Export the conversation").click()
    expect(page.locator("#note")).to_contain_text("nothing to export")


def test_the_box_runs_in_the_direction_of_its_script(page: Page) -> None:
    box = page.get_by_label("Your question")
    for text, direction in (("מה זה?", "rtl"), ("What is it?", "ltr")):
        box.fill(text)
        assert box.evaluate("box => getComputedStyle(box).direction") == direction


def test_a_chosen_paper_and_years_are_kept_when_the_page_is_loaded_anew(page: Page) -> None:
    quickly(page)
    page.get_by_role("tab", name="Papers").click()
    page.get_by_label("From year").fill("2020")
    page.get_by_label("From year").press("Tab")
    chips = page.locator("#filters")
    expect(chips).to_contain_text("from 2020")
    page.get_by_role("table").get_by_role("link", name="Zebra").click()
    page.get_by_role("button", name="Ask about this paper").click()
    expect(chips).to_contain_text("1 of 3 papers")
    page.reload()
    settle(page)
    expect(chips).to_contain_text("1 of 3 papers")
    expect(chips).to_contain_text("from 2020")
    page.get_by_role("tab", name="Papers").click()
    expect(page.get_by_label("From year")).to_have_value("2020")
    page.get_by_role("tab", name="Chat").click()
    quickly(page)
    expect(ask(page, "What is the best recipe for carrot cake?")).to_contain_text("Only 1 of 3 papers was searched")


def test_what_is_typed_as_the_papers_open_is_not_taken_away(page: Page) -> None:
    """The answer to the opening of the tab comes late, as from a busy server."""

    def late(route: Route) -> None:
        page.wait_for_timeout(700)
        route.continue_()

    page.route("**/gradio_api/run/predict**", late)
    page.route("**/gradio_api/queue/**", late)
    page.get_by_role("tab", name="Papers").click()
    for box, typed in (("From year", "2001"), ("To year", "2031")):
        page.get_by_label(box).fill(typed)
    page.wait_for_timeout(3000)
    for box, typed in (("From year", "2001"), ("To year", "2031")):
        expect(page.get_by_label(box)).to_have_value(typed)


@pytest.mark.parametrize("year", ["2024.5", "-5", "1e5"])
def test_a_number_that_is_no_year_is_told(page: Page, year: str) -> None:
    page.get_by_role("tab", name="Papers").click()
    page.get_by_label("To year").fill(year)
    page.get_by_label("To year").press("Tab")
    expect(page.locator("#year-note")).to_contain_text("is no year")
    page.get_by_label("To year").fill("2024")
    page.get_by_label("To year").press("Tab")
    expect(page.locator("#year-note")).to_have_text("")


@pytest.mark.parametrize("leaves", ["New conversation", "Clear", "Delete: "])
def test_the_evidence_of_a_conversation_is_closed_with_it(page: Page, leaves: str) -> None:
    quickly(page)
    ask(page, FASTER).locator("a.marker").first.click()
    panel = page.locator("#evidence")
    expect(panel).to_contain_text("Zebra")
    page.get_by_role("button", name=leaves).last.click()
    expect(panel).to_contain_text("Choose a marker")
    assert "Zebra" not in (panel.text_content() or "")
