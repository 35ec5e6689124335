"""The chat in a real browser: a server in a process of its own, over the seeds, driven as a person would."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from rag import Assistant

ROOT = Path(__file__).resolve().parent.parent
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
START_SECONDS = 120
ATTACK = (
    '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script> ${window.pwned=3} `${window.pwned=4}` {{window.pwned=5}} '
    "</h2></article><svg onload=window.pwned=6>"
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(seed_assistant: Assistant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the chat is served for this module, by a process that is ended afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("chat") / "log.txt"
    command = [sys.executable, "-m", "rag", "chat", "--store", seed_assistant.settings.store, "--port", str(port)]
    with open(log, "wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_until_served(f"http://127.0.0.1:{port}/", server, log)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_served(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the chat was not served at {url}:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium. Only a developer's machine may lack it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail(
                "chromium is not installed; run .ci/run, or: apt-get install --no-install-recommends chromium fonts-noto-cjk"
            )
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The chat as a new visitor sees it; an error in its scripts fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
    opened.goto(address)
    yield opened
    context.close()
    assert errors == []


def ask(page: Page, question: str) -> Any:
    """Asks as a person does and returns the answer's element."""
    answers = page.get_by_role("article", name="Answer")
    before = answers.count()
    box = page.get_by_label("Your question")
    box.fill(question)
    box.press("Enter")
    expect(answers).to_have_count(before + 1, timeout=30_000)
    return answers.last


def test_a_question_is_answered_with_the_quote_that_holds_the_fact(page: Page) -> None:
    answer = ask(page, "How many questions does MMT-Bench hold?")
    expect(answer.locator("h2")).to_have_text("How many questions does MMT-Bench hold?")
    expect(answer.locator("h3").first).to_contain_text("MMT-Bench")
    quote = answer.locator("blockquote", has_text="meticulously curated multi-choice visual questions")
    expect(quote).to_be_visible()
    assert "31,325" in quote.text_content()
    expect(page.get_by_label("Your question")).to_have_value("")


def test_a_marker_opens_the_abstract_at_the_highlighted_quote_and_escape_leads_back(page: Page) -> None:
    answer = ask(page, "How many questions does MMT-Bench hold?")
    quote = answer.locator("blockquote", has_text="meticulously curated")
    marker = quote.locator("a.marker")
    expect(answer.locator("mark").first).to_be_hidden()
    marker.click()
    mark = answer.locator("mark.shown")
    expect(mark).to_be_visible()
    expect(mark).to_be_in_viewport()
    expect(mark).to_be_focused()
    assert mark.text_content() == quote.text_content().removesuffix(" [1]")
    assert mark.evaluate("mark => getComputedStyle(mark).backgroundColor") not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()


def test_a_formula_between_single_dollars_is_drawn(page: Page) -> None:
    answer = ask(page, "How many questions does MMT-Bench hold?")
    formula = answer.locator("blockquote math").first
    expect(formula).to_be_visible()
    assert formula.bounding_box()["width"] > 5
    assert "$" not in answer.locator("blockquote", has_text="meticulously curated").text_content()


def test_an_unanswerable_question_is_refused_in_words(page: Page) -> None:
    refusal = ask(page, "What is the best recipe for carrot cake?").locator(".refusal")
    expect(refusal).to_contain_text("Not in this collection.")
    expect(refusal).to_contain_text("The nearest papers:")


def test_an_attack_in_a_question_is_shown_as_text_and_does_nothing(page: Page) -> None:
    answer = ask(page, ATTACK)
    expect(answer.locator("h2")).to_have_text(ATTACK)
    page.wait_for_timeout(500)  # time for an image to fail to load
    assert page.evaluate("window.pwned") is None
    assert answer.locator("img, script, svg, iframe").count() == 0


def test_an_example_is_asked_with_one_click(page: Page) -> None:
    page.get_by_role("button", name="What is TURTLE and how well does it do without labels?").click()
    answer = page.get_by_role("article", name="Answer")
    expect(answer.locator("h3").first).to_contain_text("TURTLE", timeout=30_000)


def test_a_follow_up_is_about_the_paper_of_the_last_answer(page: Page) -> None:
    ask(page, "What is Lookahead decoding?")
    answer = ask(page, "How fast is it?")
    expect(answer.locator("h3").first).to_contain_text("Lookahead decoding")
    expect(answer.locator("blockquote", has_text="1.8x")).to_be_visible()
    ids = page.locator("mark").evaluate_all("marks => marks.map(mark => mark.id)")
    assert len(ids) == len(set(ids))


def test_another_visitor_sees_nothing_of_a_conversation(page: Page, browser: Browser, address: str) -> None:
    ask(page, "What is Lookahead decoding?")
    other = browser.new_context().new_page()
    other.goto(address)
    expect(other.get_by_label("Your question")).to_be_visible()
    assert other.get_by_role("article").count() == 0
    other.context.close()


def test_the_page_talks_to_this_machine_only(browser: Browser, address: str) -> None:
    context = browser.new_context()
    asked_for: list[str] = []
    context.on("request", lambda request: asked_for.append(request.url))
    page = context.new_page()
    page.on("websocket", lambda websocket: asked_for.append(websocket.url))
    page.goto(address)
    ask(page, "How many questions does MMT-Bench hold?").locator("a.marker").first.click()
    ask(page, ATTACK)
    page.wait_for_timeout(1000)
    context.close()
    addresses = [urlsplit(url) for url in asked_for]
    assert len(addresses) > 5
    assert {parts.hostname for parts in addresses if parts.scheme not in ("data", "blob")} == {"127.0.0.1"}


def test_a_phone_needs_no_sideways_scrolling(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(address)
    answer = ask(page, "Where is the code of CaM? " + "unbreakable" * 20)
    expect(answer).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


ASK_AFTER_AN_ERROR = """
import sys
from rag import Assistant, Settings
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.web.page import make_page
from tests.conftest import WordCountEmbedder
from vectorstore.generations import GenerationFolder

settings, embedder = Settings(store=sys.argv[1]), WordCountEmbedder()
assistant = Assistant(settings, embedder, PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())
ask = next(event.fn for event in make_page(assistant).fns.values() if getattr(event.fn, "__name__", "") == "ask")
build_index(settings, WordCountEmbedder("another model"), rebuild=True)
*_, (conversation, turns, history, examples) = ask("What is Zebra?", [], [])
print(conversation)
"""


def test_an_error_while_answering_is_said_on_the_page(small_assistant: Assistant) -> None:
    # In a process of its own: gradio leaves an event loop open, which this suite counts as an error.
    command = [sys.executable, "-c", ASK_AFTER_AN_ERROR, small_assistant.settings.store]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "--rebuild" in shown.stdout, shown.stderr


ASK_WITH_A_FAULT = """
import sys
from rag import Assistant, Settings
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.web.page import make_page
from tests.conftest import WordCountEmbedder
from vectorstore.generations import GenerationFolder

settings = Settings(store=sys.argv[1])
assistant = Assistant(settings, WordCountEmbedder(), PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())
ask = next(event.fn for event in make_page(assistant).fns.values() if getattr(event.fn, "__name__", "") == "ask")
assistant.stream = lambda question, history: 1 / 0
try:
    for conversation, *_ in ask("What is Zebra?", [], []):
        print(conversation)
except ZeroDivisionError:
    print("raised for the log")
"""


def test_a_fault_of_the_program_does_not_leave_the_page_waiting(small_assistant: Assistant) -> None:
    command = [sys.executable, "-c", ASK_WITH_A_FAULT, small_assistant.settings.store]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "met a fault of AskAbstracts" in shown.stdout, shown.stderr
    assert "raised for the log" in shown.stdout
