"""The chat in a real browser: asking, and reading what an answer rests on."""

import pytest
from playwright.sync_api import Page, expect

from tests.chat_server import HOW_MANY, answered, ask, turns

pytestmark = pytest.mark.slow
KEPT_ANNOUNCEMENTS = """() => {
  window.announced = [];
  const place = document.querySelector('#announce');
  new MutationObserver(() => { if (place.textContent) window.announced.push(place.textContent); }).observe(place, { childList: true });
}"""


def test_a_question_is_answered_with_the_quote_that_holds_the_fact(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    expect(answer).to_have_attribute("aria-label", "Answered")
    expect(answer.locator("h2")).to_have_text(HOW_MANY)
    expect(answer.locator("h3").first).to_contain_text("MMT-Bench")
    quote = answer.locator("blockquote", has_text="meticulously curated multi-choice visual questions")
    expect(quote).to_be_visible()
    assert "31,325" in quote.text_content()
    expect(page.get_by_label("Your question")).to_have_value("")
    expect(page.locator("#examples button")).to_have_count(0)


def test_the_button_asks(page: Page) -> None:
    page.get_by_label("Your question").fill(HOW_MANY)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(answered(page, 1).locator("h2")).to_have_text(HOW_MANY)


def test_an_example_is_asked_with_one_click(page: Page) -> None:
    expect(page.locator("#examples button")).to_have_count(4)
    page.get_by_role("button", name="What is TURTLE and how well does it do without labels?").click()
    expect(answered(page, 1).locator("h3").first).to_contain_text("TURTLE")


def test_a_marker_opens_the_abstract_at_the_quote_and_escape_leads_back(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_contain_text("Choose a marker")
    quote = answer.locator("blockquote", has_text="meticulously curated")
    marker = quote.get_by_role("link", name="Source 1:")
    marker.click()
    mark = panel.locator("mark.shown")
    expect(mark).to_be_in_viewport()
    expect(mark).to_be_focused()
    assert mark.text_content() == quote.text_content().removesuffix("\N{NO-BREAK SPACE}[1]")
    style = mark.evaluate(
        "mark => { const style = getComputedStyle(mark); return [style.backgroundColor, style.textDecorationLine]; }"
    )
    assert style[0] not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    assert style[1] == "underline"
    expect(panel.locator("h3")).to_contain_text("MMT-Bench")
    expect(panel).to_contain_text("ICML 2024")
    expect(panel).to_contain_text("Source: ")
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()
    expect(panel).not_to_have_class("open")


def test_a_marker_works_by_keyboard_alone_and_shows_its_quote(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    marker = answer.locator("a.marker").first
    marker.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(marker).to_be_focused()
    shown = marker.evaluate("marker => getComputedStyle(marker, '::after').content")
    assert "curated" in shown or "MMT-Bench" in shown
    page.keyboard.press("Enter")
    expect(page.locator("#evidence mark.shown")).to_be_focused()
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#evidence").get_by_role("button", name="Close").click()
    expect(marker).to_be_focused()


def test_an_evidence_leads_to_the_page_of_its_paper(page: Page) -> None:
    ask(page, HOW_MANY).locator("a.marker").first.click()
    page.locator("#evidence").get_by_role("link", name="Open the paper's page").click()
    expect(page.get_by_role("tab", name="Papers")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".paper-page h2")).to_contain_text("MMT-Bench")


def test_a_formula_between_single_dollars_is_drawn(page: Page) -> None:
    answer = ask(page, HOW_MANY)
    formula = answer.locator("blockquote math").first
    expect(formula).to_be_visible()
    assert formula.bounding_box()["width"] > 5
    assert "$" not in answer.locator("blockquote", has_text="meticulously curated").text_content()


def test_a_refusal_lists_the_nearest_papers_and_one_of_them_opens(page: Page) -> None:
    answer = ask(page, "What is the best recipe for carrot cake?")
    expect(answer).to_have_attribute("aria-label", "Not in this collection")
    refusal = answer.locator(".refusal")
    expect(refusal).to_contain_text("Not in this collection.")
    nearest = refusal.locator("ul.nearest a")
    expect(nearest).to_have_count(3)
    title = nearest.first.text_content()
    nearest.first.click()
    expect(page.locator(".paper-page h2")).to_have_text(title)
    page.get_by_role("button", name="All papers").click()
    expect(page.get_by_role("table")).to_be_visible()


def test_a_follow_up_is_about_the_paper_of_the_last_answer_and_shows_what_was_searched(page: Page) -> None:
    ask(page, "What is Lookahead decoding?")
    answer = ask(page, "How fast is it?")
    expect(answer.locator("h3").first).to_contain_text("Lookahead decoding")
    expect(answer.locator("blockquote", has_text="1.8x")).to_be_visible()
    answer.get_by_text("How it was found").click()
    searched = answer.get_by_label("Searched for")
    expect(searched).to_be_visible()
    assert "Lookahead decoding" in searched.input_value()
    expect(answer.locator(".found")).to_contain_text("exact quotes, no language model")
    assert float(answer.locator(".found .score").first.text_content()) > 0.5
    ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id).filter(id => /^(quote|turn)-/.test(id))")
    assert len(ids) == len(set(ids)) > 2


def test_an_edited_search_is_asked_as_a_question_of_its_own(page: Page) -> None:
    ask(page, "What is Lookahead decoding?")
    answer = ask(page, "How fast is it?")
    answer.get_by_text("How it was found").click()
    answer.get_by_label("Searched for").fill(HOW_MANY)
    answer.get_by_role("button", name="Search again").click()
    again = answered(page, 3)
    expect(again.locator("h2")).to_have_text(HOW_MANY)
    expect(again.locator("h3").first).to_contain_text("MMT-Bench")


def test_a_finished_answer_is_announced_once(page: Page) -> None:
    page.evaluate(KEPT_ANNOUNCEMENTS)
    ask(page, HOW_MANY)
    ask(page, "What is the best recipe for carrot cake?")
    page.wait_for_timeout(300)
    answered_text, refused = page.evaluate("window.announced")
    assert answered_text.startswith("Answered. ")
    assert "MMT-Bench" in answered_text
    assert refused.startswith("Not in this collection. ")


def test_nothing_is_asked_without_a_word(page: Page) -> None:
    box = page.get_by_label("Your question")
    box.fill("   ")
    box.press("Enter")
    page.wait_for_timeout(300)
    assert turns(page).count() == 0
