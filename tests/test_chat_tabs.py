"""The chat in a real browser: the other tabs, and how the page looks and speaks."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chat_server import HOW_MANY, answered, ask, open_tab, saved, settle, turns, visit
from tests.conftest import HERON, OKAPI, ZEBRA
from tests.server_process import Served

pytestmark = pytest.mark.slow
PHONE = {"width": 390, "height": 844}
TABS = ("Chat", "Papers", "Map", "Add abstracts", "Settings")


def upload(page: Page, folder: Path, text: str = f"Animal Papers 2021\n\n{ZEBRA}\n\n{OKAPI}\n\n{HERON}\n") -> None:
    """Adds a file of abstracts, as a person does, and waits for the report."""
    (folder / "own.txt").write_text(text, encoding="utf-8")
    open_tab(page, "Add abstracts")
    page.locator("#upload-files input[type=file]").set_input_files(folder / "own.txt")
    expect(page.locator(".upload-report")).to_be_visible(timeout=30_000)


def is_dark(page: Page) -> bool:
    """Whether the page is drawn on a dark ground."""
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) < 200


def test_questions_go_to_one_paper_until_all_are_asked_again(page: Page) -> None:
    open_tab(page, "Papers")
    page.get_by_label("Search the papers").fill("lookahead")
    page.get_by_role("table").get_by_role("link", name="Lookahead decoding").click()
    page.get_by_role("button", name="Ask about this paper").click()
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    chip = page.locator("#filters").get_by_role("group", name="Filters")
    expect(chip).to_contain_text("1 of 85 papers")
    expect(chip).to_contain_text("Lookahead decoding")
    answer = ask(page, "How much faster is decoding with Lookahead decoding?")
    expect(answer.locator("section.paper h3")).to_contain_text(["Lookahead decoding"])
    expect(answer.locator(".found tbody tr")).to_have_count(1)
    chip.get_by_role("button", name="Ask all papers").click()
    expect(chip).to_have_count(0)
    assert ask(page, HOW_MANY).locator(".found tbody tr").count() > 1


def test_the_map_marks_the_last_answer_and_leads_to_papers(page: Page) -> None:
    ask(page, HOW_MANY)
    open_tab(page, "Map")
    marked = page.locator("#map a.map-point.marked")
    expect(marked.first).to_be_visible(timeout=30_000)
    assert page.locator("#map a.map-point").count() == 85
    name = marked.first.get_attribute("aria-label").removesuffix(", in the last answer")
    marked.first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Papers")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".paper-page h2")).to_have_text(name)


def test_added_abstracts_are_asked_and_then_deleted(page: Page, browser: Browser, chat: Served, tmp_path: Path) -> None:
    upload(page, tmp_path)
    expect(page.locator(".upload-report")).to_contain_text("New papers: 3")
    open_tab(page, "Chat")
    own = page.get_by_role("radio", name="Your own (3 papers)")
    expect(own).to_be_checked()
    answer = ask(page, "How much faster is Zebra than Okapi?")
    expect(answer.locator("blockquote", has_text="3.5 times faster than Okapi")).to_be_visible()
    answer.locator("a.marker").first.click()
    expect(page.locator("#evidence")).to_contain_text("own.txt#1")
    entry = saved(page, answer.get_by_role("button", name="BibTeX"))[1]
    assert "own.txt" in entry
    open_tab(page, "Papers")
    expect(page.get_by_role("table").get_by_role("link")).to_have_count(3)
    with visit(browser, chat) as other:
        expect(other.locator("#collection")).to_have_count(0)
        assert ask(other, "How much faster is Zebra than Okapi?").locator("section.paper", has_text="Zebra").count() == 0
    open_tab(page, "Chat")
    page.get_by_role("radio", name="The shared collection").check()
    expect(ask(page, HOW_MANY).locator("h3").first).to_contain_text("MMT-Bench")
    open_tab(page, "Add abstracts")
    page.get_by_role("button", name="Delete my abstracts").click()
    expect(page.get_by_text("Your abstracts are deleted.")).to_be_visible()
    expect(page.locator("#collection")).to_be_hidden()


def test_a_file_that_is_no_text_is_refused_in_words(page: Page, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00\x01" * 50)
    open_tab(page, "Add abstracts")
    page.locator("#upload-files input[type=file]").set_input_files(tmp_path / "own.txt")
    expect(page.locator(".upload-report")).to_contain_text("Nothing was added", timeout=30_000)


def test_the_page_speaks_chinese_and_english_again(page: Page) -> None:
    ask(page, HOW_MANY)
    open_tab(page, "Settings")
    page.get_by_role("radio", name="中文").click()
    settle(page)
    expect(page.get_by_role("tab", name="对话")).to_be_visible()
    expect(page.get_by_label("你的问题")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("向 85 篇论文摘要提问")
    expect(turns(page)).to_have_attribute("aria-label", "已回答")
    page.get_by_label("你的问题").fill("What is the best recipe for carrot cake?")
    page.get_by_role("button", name="提问", exact=True).click()
    expect(answered(page, 2).locator(".refusal")).to_contain_text("集合里没有")
    open_tab(page, "设置")
    page.get_by_role("radio", name="English").click()
    settle(page)
    expect(page.get_by_role("tab", name="Chat")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("Ask 85 paper abstracts")
    expect(turns(page).first).to_have_attribute("aria-label", "Answered")


def test_a_chinese_browser_is_spoken_to_in_chinese(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, locale="zh-CN") as page:
        expect(page.get_by_role("tab", name="论文")).to_be_visible()
        expect(page.get_by_label("你的问题")).to_be_visible()
        expect(page.locator("#evidence")).to_contain_text("在答案里选一个")
        assert page.evaluate("document.documentElement.lang").startswith("zh")


def test_dark_is_chosen_and_kept(page: Page) -> None:
    assert not is_dark(page)
    page.get_by_role("button", name=re.compile("^(Dark|Light)$")).click()
    assert is_dark(page)
    page.reload()
    settle(page)
    assert is_dark(page)
    page.get_by_role("button", name=re.compile("^(Dark|Light)$")).click()
    assert not is_dark(page)


def test_a_dark_system_has_a_dark_page(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, color_scheme="dark") as page:
        assert is_dark(page)


def test_a_phone_needs_no_sideways_scrolling_on_any_tab(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, viewport=PHONE, has_touch=True, is_mobile=True) as page:

        def assert_fits() -> None:
            assert page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)") <= 390

        assert_fits()
        answer = ask(page, "Where is the code of CaM? " + "unbreakable" * 20)
        answer.get_by_text("How it was found").click()
        assert_fits()
        answer = ask(page, HOW_MANY)
        answer.get_by_role("button", name="Edit the question").click()
        assert_fits()
        answer.locator("a.marker").first.click()
        expect(page.locator("#evidence mark.shown")).to_be_in_viewport()
        assert_fits()
        page.locator("#evidence").get_by_role("link", name="Open the paper's page").click()
        expect(page.locator(".paper-page")).to_be_visible()
        assert_fits()
        page.get_by_role("button", name="All papers").click()
        for name in TABS:
            open_tab_on_phone(page, name)
            page.wait_for_timeout(200)
            assert_fits()


def open_tab_on_phone(page: Page, name: str) -> None:
    """Chooses a tab, which may be in the menu of those that find no room."""
    tab = page.get_by_role("tab", name=name, exact=True)
    if not tab.is_visible():
        page.locator("#tabs .overflow-menu > button").click()
        page.locator("#tabs .overflow-dropdown").get_by_text(name, exact=True).click()
    else:
        tab.click()
