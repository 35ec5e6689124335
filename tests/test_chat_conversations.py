"""The chat in a real browser: what a visitor does with turns and conversations, and takes away from them."""

import json

import pytest
from bibtexparser.entrypoint import parse_string
from playwright.sync_api import Browser, Page, expect

from rag.web.keeping import STORAGE_KEY
from tests.chat_server import HOW_MANY, answered, ask, open_chat, saved, settle, turns, visit
from tests.server_process import Served

pytestmark = pytest.mark.slow
LOOKAHEAD = "What is Lookahead decoding?"


def test_an_edited_question_takes_the_place_of_its_turn_and_of_those_after_it(page: Page) -> None:
    first = ask(page, LOOKAHEAD)
    ask(page, "How fast is it?")
    first = turns(page).first
    first.get_by_role("button", name="Edit the question").click()
    box = first.get_by_role("textbox", name="Edit the question")
    expect(box).to_be_focused()
    expect(box).to_have_value(LOOKAHEAD)
    box.fill(HOW_MANY)
    first.get_by_role("button", name="Cancel").click()
    expect(box).to_be_hidden()
    first.get_by_role("button", name="Edit the question").click()
    box.fill(HOW_MANY)
    first.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name=LOOKAHEAD)).to_have_count(0)
    answer = answered(page, 1)
    expect(answer.locator("h2")).to_have_text(HOW_MANY)
    expect(answer.locator("h3").first).to_contain_text("MMT-Bench")


def test_asking_again_answers_the_same_turn_anew(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    answer.evaluate("one => one.dataset.old = 'yes'")
    answer.get_by_role("button", name="Ask again").click()
    expect(page.locator("article[data-old]")).to_have_count(0)
    expect(answered(page, 1).locator("h2")).to_have_text(HOW_MANY)


def test_a_reload_keeps_the_conversation_and_its_evidence(page: Page) -> None:
    ask(page, LOOKAHEAD)
    quotes = ask(page, HOW_MANY).locator("blockquote").all_text_contents()
    page.reload()
    settle(page)
    expect(turns(page)).to_have_count(2)
    kept = turns(page).last
    assert kept.locator("blockquote").all_text_contents() == quotes
    kept.locator("a.marker").first.click()
    expect(page.locator("#evidence mark.shown")).to_be_focused()
    follow_up = ask(page, "How many tasks does it cover?")
    expect(follow_up.locator("h3").first).to_contain_text("MMT-Bench")


def test_conversations_are_begun_named_opened_and_deleted(browser: Browser, chat: Served) -> None:
    with visit(browser, chat, replies=["About <b>decoding</b>", ""]) as page:
        ask(page, LOOKAHEAD)
        names = page.locator("#conversations .name")
        expect(names).to_have_text([LOOKAHEAD])
        page.get_by_role("button", name=f"Rename: {LOOKAHEAD}").click()
        expect(names).to_have_text(["About <b>decoding</b>"])
        page.locator("#conversations").get_by_role("button", name="New conversation").last.click()
        expect(turns(page)).to_have_count(0)
        expect(page.locator("#examples button")).to_have_count(4)
        ask(page, HOW_MANY)
        expect(names).to_have_text([HOW_MANY, "About <b>decoding</b>"])
        names.last.click()
        expect(turns(page).locator("h2")).to_have_text([LOOKAHEAD])
        page.reload()
        settle(page)
        expect(turns(page).locator("h2")).to_have_text([LOOKAHEAD])
        page.get_by_role("button", name="Delete: About <b>decoding</b>").click()
        expect(names).to_have_text([HOW_MANY])
        expect(turns(page).locator("h2")).to_have_text([HOW_MANY])
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(turns(page)).to_have_count(0)
        page.reload()
        settle(page)
        expect(turns(page)).to_have_count(0)


def test_two_visitors_see_nothing_of_each_other(page: Page, browser: Browser, chat: Served) -> None:
    ask(page, LOOKAHEAD)
    with visit(browser, chat) as other:
        expect(other.get_by_label("Your question")).to_be_visible()
        assert turns(other).count() == 0
        ask(other, HOW_MANY)
        expect(other.locator("#conversations .name")).to_have_text([HOW_MANY])
        assert LOOKAHEAD not in other.content()
    assert HOW_MANY not in page.content()
    follow_up = ask(page, "How fast is it?")
    expect(follow_up.locator("h3").first).to_contain_text("Lookahead decoding")


def test_a_conversation_is_exported_with_its_sources(page: Page) -> None:
    ask(page, LOOKAHEAD)
    ask(page, HOW_MANY)
    name, text = saved(page, page.get_by_role("button", name="Export the conversation"))
    assert name == "conversation.md"
    assert f"## 1. {LOOKAHEAD}" in text
    assert "## Sources" in text
    entries = parse_string(text.partition("```bibtex\n")[2].partition("\n```")[0])
    assert entries.failed_blocks == []
    assert {"ICML"} == {entry["booktitle"] for entry in entries.entries}
    assert any("MMT-Bench" in entry["title"] for entry in entries.entries)
    assert saved(page, page.get_by_role("button", name="Export the conversation"))[1] == text


def test_one_answer_is_saved_as_markdown_and_as_bibtex(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    name, text = saved(page, answer.get_by_role("button", name="BibTeX"))
    entries = parse_string(text)
    assert name == "citations.bib"
    assert entries.failed_blocks == []
    assert len(entries.entries_dict) == len(entries.entries) == answer.locator("section.paper").count()
    assert "MMT-Bench" in entries.entries[0]["title"]
    name, text = saved(page, answer.get_by_role("button", name="Markdown"))
    assert name == "answer.md"
    assert text.startswith("# How many questions does MMT\\-Bench hold?") or text.startswith(f"# {HOW_MANY}")


def test_an_answer_is_copied_with_its_citations(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, HOW_MANY).get_by_role("button", name="Copy with citations").click()
    expect(page.locator("#announce")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "31,325" in copied
    assert "\n[1] " in copied
    assert "ICML 2024" in copied


def test_whatever_a_browser_kept_the_page_begins(page: Page, chat: Served) -> None:
    ask(page, LOOKAHEAD)
    for kept in ("garbage", "", "{", "null", json.dumps({"version": 1, "conversations": [{}]}), "[" * 50_000):
        page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [STORAGE_KEY, kept])
        open_chat(page, chat)
        expect(page.locator("#examples button")).to_have_count(4)
        assert turns(page).count() == 0
    ask(page, HOW_MANY)
