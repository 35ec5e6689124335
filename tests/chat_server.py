"""The chat for its browser tests: a server over the seeds for all of them, Debian's chromium, and what a visitor does on the page.

A plugin of pytest (see `conftest.py`), so that every module uses the same server. The browser lives for a module: its event loop
must be gone where others begin.
"""

import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rag.assistant import Assistant
from tests.server_process import Served, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
HOW_MANY = "How many questions does MMT-Bench hold?"
ANSWER_MILLISECONDS = 30_000


@pytest.fixture(scope="session")
def chat(seed_assistant: Assistant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat over the seeds, as `askabstracts chat` serves it."""
    with chat_over(seed_assistant.settings.store, tmp_path_factory.mktemp("chat")) as server:
        yield server


@contextmanager
def chat_over(store: str, folder: Path, *options: str, **environment: str) -> Iterator[Served]:
    """`askabstracts chat` over an index, on a free port; what it prints goes into `folder`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["-m", "rag", "chat", "--store", store, "--port", str(port), *options]
    with running(command, folder / "output.txt", environment=environment) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Debian's chromium. Only a developer's machine may lack it."""
    from playwright.sync_api import sync_playwright

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
def page(browser: "Browser", chat: Served) -> "Iterator[Page]":
    """The chat as a new visitor sees it, in English and light."""
    with visit(browser, chat) as opened:
        yield opened


@contextmanager
def visit(browser: "Browser", chat: Served, *, replies: Sequence[str] = (), **options: Any) -> "Iterator[Page]":
    """The chat in a browser that was never here, every other host blocked; `replies` are typed into the dialogs that appear.

    An error in the page's scripts, one dialog more, or anything asked from another host fails the test.
    """
    given: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"}
    context = browser.new_context(**(given | options))
    faults = watched(context, replies)
    try:
        page = context.new_page()
        open_chat(page, chat)
        yield page
    finally:
        context.close()
    assert faults == []


def watched(context: "BrowserContext", replies: Sequence[str] = ()) -> list[str]:
    """Collects what must not happen in a browser; other hosts are blocked."""
    faults: list[str] = []
    waiting = list(replies)

    def ours(url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme in ("data", "blob", "about") or parts.hostname == "127.0.0.1"

    def note(url: str) -> None:
        if not ours(url):
            faults.append(f"fetched {url}")

    def route(given: Any) -> None:
        if ours(given.request.url):
            given.fallback()
        else:
            given.abort()

    def answer(dialog: Any) -> None:
        if waiting:
            dialog.accept(waiting.pop(0))
        else:
            faults.append(f"dialog: {dialog.message}")
            dialog.dismiss()

    context.route("**/*", route)
    context.on("request", lambda request: note(request.url))
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("page", lambda page: page.on("websocket", lambda socket: note(socket.url)))
    context.on("dialog", answer)
    return faults


def open_chat(page: "Page", chat: Served) -> None:
    """Goes to the chat and waits until it works: the page's script has its line to the program and the visit has begun."""
    page.goto(chat.url)
    settle(page)


def settle(page: "Page") -> None:
    """Waits until the page's script has its line to the program and the visitor's things are loaded."""
    page.wait_for_function("window.askabstracts && document.querySelector('#words')", timeout=ANSWER_MILLISECONDS)


def turns(page: "Page") -> "Locator":
    """The answered turns of the open conversation."""
    return page.locator("article.turn[data-turn]")


def ask(page: "Page", question: str) -> "Locator":
    """Asks as a person does and returns the answer's element."""
    before = turns(page).count()
    box = page.get_by_label("Your question")
    box.fill(question)
    box.press("Enter")
    return answered(page, before + 1)


def answered(page: "Page", turn: int) -> "Locator":
    """The last turn, which is to have that number, once it is answered."""
    from playwright.sync_api import expect

    answer = page.locator(f'#current article.turn[data-turn="{turn}"]')
    expect(answer).to_be_visible(timeout=ANSWER_MILLISECONDS)
    expect(turns(page)).to_have_count(turn)
    return answer


def open_tab(page: "Page", name: str) -> None:
    """Chooses a tab by its name."""
    page.get_by_role("tab", name=name, exact=True).click()


def saved(page: "Page", button: "Locator") -> tuple[str, str]:
    """The name and text of the file that a button saves."""
    with page.expect_download() as caught:
        button.click()
    return caught.value.suggested_filename, Path(caught.value.path()).read_text(encoding="utf-8")
