"""The chat as its reader sees it: what is in view while an answer comes, what stays there, and what says that something was done."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rag.assistant import Assistant
from tests.chat_server import ANSWER_MILLISECONDS, HOW_MANY, answered, ask, chat_over, open_tab, turns, visit
from tests.conftest import OKAPI, ZEBRA
from tests.model_server import ModelServer, Reply
from tests.server_process import Served

pytestmark = pytest.mark.slow
PHONE = {"width": 390, "height": 844}
KIVI = "How should a KV cache be quantized?"
WRITTEN = Reply(
    "The key cache should be quantized per-channel, while the value cache should be quantized per-token [1]. KIVI is a tuning-free 2bit "
    "KV cache quantization algorithm [1]. It was trained on 512 GPUs for three weeks by a team in Zurich [1].\n\nWith KIVI, Llama, Falcon "
    "and Mistral keep almost the same quality while using 2.6x less peak memory [1]. This allows up to 4x larger batch size [1].",
    step=400,
    pause_seconds=0.1,
)
SHIFTS = """() => { window.shifts = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) window.shifts += entry.value; })).observe({ type: 'layout-shift' }); }"""


@pytest.fixture(scope="module")
def writing(seed_assistant: Assistant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat over the seeds with a model that writes slowly, and a place for feedback."""
    folder = tmp_path_factory.mktemp("writing")
    with ModelServer([WRITTEN]) as models:
        options = ("--llm", models.spec, "--feedback", str(folder / "feedback.jsonl"))
        with chat_over(seed_assistant.settings.store, folder, *options) as server:
            yield server


def top(page: Page, selector: str) -> float:
    """Where an element begins in the view, once the page no longer scrolls."""
    page.wait_for_timeout(1100)
    return float(page.locator(selector).bounding_box()["y"])


def begin(page: Page, question: str) -> None:
    """Asks, and waits until something verified is there and the model writes on."""
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator("#current [aria-busy=true] .written")).to_be_visible(timeout=ANSWER_MILLISECONDS)


@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, PHONE], ids=["wide", "phone"])
def test_a_question_goes_to_the_top_and_the_box_stays_in_view(browser: Browser, chat: Served, viewport: dict[str, int]) -> None:
    with visit(browser, chat, viewport=viewport) as page:
        for question in (KIVI, "How much memory does it save?", HOW_MANY):
            ask(page, question)
            assert 0 <= top(page, "#current .question") <= 20
            box = page.get_by_label("Your question").bounding_box()
            assert box["y"] + box["height"] <= viewport["height"]
        page.mouse.move(200, 200)
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(300)
        tools, dock = page.locator("#current .tools").first.bounding_box(), page.locator("#dock").bounding_box()
        assert tools["y"] + tools["height"] <= dock["y"]


def test_a_reader_who_scrolls_is_left_in_peace(browser: Browser, writing: Served) -> None:
    with visit(browser, writing) as page:
        begin(page, KIVI)
        answered(page, 1)
        begin(page, "What is KIVI?")
        page.mouse.move(500, 300)
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(200)
        before = page.evaluate("scrollY")
        answered(page, 2)
        page.wait_for_timeout(1000)
        assert page.evaluate("scrollY") == before


def test_stop_stands_in_the_place_of_ask_and_the_draft_below_what_is_verified(browser: Browser, writing: Served) -> None:
    with visit(browser, writing) as page:
        asks = page.get_by_role("button", name="Ask", exact=True)
        width = page.get_by_label("Your question").bounding_box()["width"]
        begin(page, KIVI)
        expect(asks).to_be_hidden()
        stop = page.get_by_role("button", name="Stop").bounding_box()
        written, draft = page.locator("#current .written").bounding_box(), page.locator("#current .draft").bounding_box()
        assert written["y"] + written["height"] <= draft["y"]
        assert page.get_by_label("Your question").bounding_box()["width"] == width
        answered(page, 1)
        there = asks.bounding_box()
        assert abs(there["x"] - stop["x"]) < 2
        assert abs(there["width"] - stop["width"]) < 2


def test_an_answer_that_grows_on_a_phone_moves_nothing_much(browser: Browser, writing: Served) -> None:
    with visit(browser, writing, viewport=PHONE, has_touch=True) as page:
        page.wait_for_timeout(500)
        page.evaluate(SHIFTS)
        begin(page, KIVI)
        answered(page, 1)
        page.wait_for_timeout(500)
        assert page.evaluate("window.shifts") < 0.1


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["wide", "phone"])
def test_the_evidence_keeps_its_head_while_it_scrolls_and_the_page_stays(
    browser: Browser, chat: Served, viewport: dict[str, int]
) -> None:
    with visit(browser, chat, viewport=viewport) as page:
        answer = ask(page, HOW_MANY)
        page.wait_for_timeout(1100)
        before = page.evaluate("scrollY")
        answer.locator("a.marker").first.click()
        expect(page.locator("#evidence mark.shown")).to_be_focused()
        page.locator("#evidence .evidence-body").evaluate("body => { body.scrollTop = body.scrollHeight; }")
        page.wait_for_timeout(600)
        assert page.evaluate("scrollY") == before
        expect(page.locator("#evidence h3")).to_be_in_viewport(ratio=1)
        expect(page.locator("#evidence").get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)


def test_thanks_are_said_on_the_button_and_one_form_is_open_at_a_time(browser: Browser, writing: Served) -> None:
    with visit(browser, writing) as page:
        begin(page, KIVI)
        answer = answered(page, 1)
        answer.get_by_role("button", name="Good answer").click()
        expect(answer.get_by_role("button", name="✓ Noted, thank you")).to_be_visible()
        expect(page.locator("#announce")).to_have_text("Noted, thank you")
        expect(answer.get_by_role("button", name="Good answer")).to_be_visible()
        answer.get_by_role("button", name="Edit the question").click()
        answer.get_by_role("button", name="Bad answer").click()
        expect(answer.locator("form[data-form=edit]")).to_be_hidden()
        answer.locator("form[data-form=feedback]").get_by_role("button", name="Cancel").click()
        expect(answer.get_by_role("button", name="Bad answer")).to_be_focused()
        answer.get_by_role("button", name="Bad answer").click()
        answer.get_by_label("What was wrong?").fill("The unit.")
        answer.locator("form[data-form=feedback]").get_by_role("button", name="Send").click()
        expect(answer.get_by_role("button", name="✓ Noted, thank you")).to_be_visible()


def test_a_quote_that_is_pointed_at_stays_within_the_column(browser: Browser, writing: Served) -> None:
    with visit(browser, writing, viewport={"width": 1024, "height": 768}) as page:
        begin(page, KIVI)
        markers = answered(page, 1).locator(".written a.marker")
        for marker in (markers.first, markers.last):
            marker.hover()
            shift = marker.evaluate("marker => parseFloat(marker.style.getPropertyValue('--shift'))")
            box, column = marker.bounding_box(), page.locator("#middle").bounding_box()
            width = marker.evaluate("marker => getComputedStyle(marker, '::after').width")
            left = box["x"] + box["width"] / 2 - float(width.removesuffix("px")) / 2 + shift
            assert left >= column["x"] - 1


def test_a_long_question_is_folded(page: Page) -> None:
    answer = ask(page, f"{HOW_MANY} " + "Please consider every abstract. " * 40)
    folded = answer.locator("h2").bounding_box()["height"]
    answer.get_by_role("button", name="Show all").click()
    assert answer.locator("h2").bounding_box()["height"] > 1.5 * folded
    answer.get_by_role("button", name="Show less").click()
    assert answer.locator("h2").bounding_box()["height"] == folded


def test_a_paper_chosen_to_be_asked_is_named_at_the_box_until_the_collection_changes(page: Page, tmp_path: Path) -> None:
    open_tab(page, "Papers")
    page.get_by_role("table").get_by_role("link").first.click()
    page.get_by_role("button", name="Ask about this paper").click()
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.locator("#dock .filter-chips")).to_be_in_viewport(ratio=1)
    (tmp_path / "own.txt").write_text(f"Animal Papers 2021\n\n{ZEBRA}\n\n{OKAPI}\n", encoding="utf-8")
    open_tab(page, "Add abstracts")
    page.locator("#upload-files input[type=file]").set_input_files(tmp_path / "own.txt")
    expect(page.locator(".upload-report")).to_be_visible(timeout=ANSWER_MILLISECONDS)
    open_tab(page, "Chat")
    expect(page.locator(".filter-chips")).to_have_count(0)
    expect(ask(page, "How much faster is Zebra than Okapi?").locator("blockquote").first).to_be_visible()


def test_the_map_says_the_title_of_the_paper_that_is_pointed_at(page: Page) -> None:
    open_tab(page, "Map")
    point = page.locator("#map a.map-point").nth(20)
    expect(point).to_be_visible(timeout=ANSWER_MILLISECONDS)
    point.hover(force=True)
    expect(page.locator("#map-tip")).to_have_text(point.get_attribute("data-title"))
    page.mouse.move(5, 5)
    expect(page.locator("#map-tip")).to_be_hidden()


def test_a_touch_on_the_map_says_the_title_and_a_second_one_opens_the_paper(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        open_tab(page, "Map")
        point = page.locator("#map a.map-point").nth(20)
        expect(point).to_be_visible(timeout=ANSWER_MILLISECONDS)
        title = point.get_attribute("data-title")
        point.tap(force=True)
        expect(page.locator("#map-tip")).to_have_text(title)
        point.tap(force=True)
        expect(page.locator(".paper-page h2")).to_have_text(title)


def test_every_tab_speaks_chinese(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, locale="zh-CN") as page:
        page.locator("#examples button").first.click()
        expect(turns(page)).to_have_attribute("aria-label", "已回答", timeout=ANSWER_MILLISECONDS)
        turns(page).get_by_text("怎样找到的").click()
        expect(turns(page).locator(".found .origin")).to_contain_text("检索")
        open_tab(page, "地图")
        expect(page.locator("#map figure > p")).to_contain_text("只根据摘要绘制", timeout=ANSWER_MILLISECONDS)
        open_tab(page, "添加摘要")
        expect(page.locator("#upload-intro")).to_contain_text("文件")
        expect(page.locator("#upload-intro")).not_to_contain_text(re.compile(r"\b[a-z]{4,}\b"))  # names of formats may stand


def test_on_a_phone_what_is_touched_is_large_enough(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, viewport=PHONE, has_touch=True) as page:
        answer = ask(page, HOW_MANY)
        answer.get_by_text("How it was found").click()
        answer.get_by_role("button", name="Edit the question").click()
        page.locator("nav summary").click()
        answer.locator("a.marker").first.click()
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, summary, [role=tab], .turn input, #question textarea")]
              .filter((one) => one.checkVisibility() && one.offsetHeight > 1 && one.offsetHeight < 40 && !one.closest(".visually-hidden"))
              .map((one) => `${one.textContent} ${one.offsetHeight}`)"""
        )
        assert small == []
