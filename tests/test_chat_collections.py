"""The chat in a real browser over a store with several collections: switching, and what follows the switch."""

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from rag.assistant import Assistant
from rag.indexing import build_index
from tests.chat_server import HOW_MANY, ask, chat_over, open_tab, settle, visit
from tests.conftest import HERON, OKAPI, ZEBRA
from tests.server_process import Served

pytestmark = pytest.mark.slow
ANIMALS = (
    f'{{"title": "Zebra", "abstract": "{ZEBRA}", "authors": ["Zoë Müller"], "year": 2021, "venue": "Animals"}}\n'
    f'{{"title": "Okapi", "abstract": "{OKAPI}", "authors": ["José García"], "year": 2020, "venue": "Animals"}}\n'
    f'{{"title": "Herons", "abstract": "{HERON}", "authors": ["Ada Heron"], "year": 2019, "venue": "Birds"}}\n'
)


@pytest.fixture(scope="module")
def several(seed_assistant: Assistant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat over the seeds and a collection "animals" beside them."""
    folder = tmp_path_factory.mktemp("several")
    shutil.copytree(seed_assistant.settings.store_folder, folder / "store")
    (folder / "animals.jsonl").write_text(ANIMALS, encoding="utf-8")
    settings = replace(
        seed_assistant.settings, store=str(folder / "store"), collection="animals", sources=(str(folder / "animals.jsonl"),)
    )
    build_index(settings, seed_assistant.embedder)
    with chat_over(str(folder / "store"), folder) as server:
        yield server


@pytest.fixture
def page(browser: Browser, several: Served) -> Iterator[Page]:
    with visit(browser, several) as opened:
        yield opened


def choose(page: Page, name: str) -> None:
    """Chooses a collection on the chat's page."""
    open_tab(page, "Chat")
    page.get_by_label("Collection").click()
    page.get_by_role("option", name=name).click()


def listed(page: Page) -> Locator:
    """The papers in the table."""
    return page.get_by_role("table").get_by_role("link")


def test_the_chat_switches_collections_and_papers_and_map_follow(page: Page) -> None:
    choose(page, "animals")
    answer = ask(page, "How much faster is Zebra than Okapi?")
    expect(answer.locator("blockquote", has_text="3.5 times faster than Okapi")).to_be_visible()
    open_tab(page, "Papers")
    expect(listed(page)).to_have_count(3)
    open_tab(page, "Map")
    expect(page.locator("#map a.map-point")).to_have_count(3, timeout=30_000)
    choose(page, "The shared collection (85 papers)")
    expect(ask(page, HOW_MANY).locator("h3").first).to_contain_text("MMT-Bench")
    open_tab(page, "Papers")
    expect(page.get_by_role("table").locator("caption")).to_contain_text("85 papers")


def test_a_follow_up_knows_nothing_of_another_collection(page: Page) -> None:
    ask(page, HOW_MANY)
    choose(page, "animals")
    answer = ask(page, "How fast is it?")
    expect(answer).not_to_contain_text("MMT-Bench")


def test_answers_of_both_collections_are_there_after_a_reload(page: Page) -> None:
    choose(page, "animals")
    ask(page, "How much faster is Zebra than Okapi?")
    choose(page, "The shared collection")
    ask(page, HOW_MANY)
    page.reload()
    settle(page)
    expect(page.locator("blockquote", has_text="3.5 times faster than Okapi")).to_be_visible()
    expect(page.locator("article.turn[data-turn]").nth(1)).to_contain_text("MMT-Bench")


def test_papers_are_filtered_by_author_and_a_switch_lets_go_of_the_filter(page: Page) -> None:
    choose(page, "animals")
    open_tab(page, "Papers")
    expect(listed(page)).to_have_count(3)
    page.wait_for_timeout(500)  # the tab shows all anew when it is opened; a visitor takes longer to type
    page.get_by_label("Author").fill("muller; A. Heron")
    expect(listed(page)).to_have_count(2)
    chip = page.locator(".papers-chips").get_by_role("group", name="Filters")
    expect(chip).to_contain_text("by A. Heron, muller")
    choose(page, "The shared collection")
    expect(page.locator("#filters").get_by_role("group", name="Filters")).to_have_count(0)
    open_tab(page, "Papers")
    expect(page.get_by_role("table").locator("caption")).to_contain_text("85 papers")
    expect(page.get_by_label("Author")).to_be_hidden()
