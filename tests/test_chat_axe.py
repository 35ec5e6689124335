"""An axe scan of every tab of the chat, light and dark: nothing that keeps people out.

axe-core comes with the package axe-playwright-python. What is left out of the scan is Gradio's own, each with its reason.
"""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chat_server import HOW_MANY, ask, open_tab, visit
from tests.server_process import Served

pytestmark = pytest.mark.slow
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = "async (exclude) => (await axe.run({ exclude }, { resultTypes: ['violations'] })).violations"
GRADIO_ITSELF: list[str] = []
HEAVY = ("serious", "critical")


def faults(page: Page, place: str) -> Iterator[str]:
    """What axe finds serious or critical on the page as it stands."""
    page.wait_for_timeout(250)  # colours fade in
    violations: list[dict[str, Any]] = page.evaluate(RUN, GRADIO_ITSELF)
    for violation in violations:
        if violation["impact"] in HEAVY:
            for node in violation["nodes"]:
                yield f"{place}: {violation['id']} ({violation['help']}): {node['html'][:200]} {node.get('failureSummary', '')[:300]}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_tab_has_a_serious_fault(browser: Browser, chat: Served, theme: str, tmp_path: Path) -> None:
    found: list[str] = []
    with visit(browser, chat, color_scheme=theme, reduced_motion="reduce") as page:
        page.evaluate(AXE)
        found += faults(page, "first screen")
        ask(page, "What is the best recipe for carrot cake?")
        answer = ask(page, HOW_MANY)
        answer.get_by_text("How it was found").click()
        answer.get_by_role("button", name="Edit the question").click()
        answer.locator("a.marker").first.click()
        expect(page.locator("#evidence mark.shown")).to_be_focused()
        found += faults(page, "chat")
        open_tab(page, "Papers")
        expect(page.get_by_role("table")).to_be_visible()
        found += faults(page, "papers")
        page.get_by_role("table").get_by_role("link").first.click()
        page.get_by_role("button", name="Similar papers").click()
        expect(page.locator(".paper-page .similar li").first).to_be_visible()
        found += faults(page, "paper")
        page.get_by_role("button", name="Ask about this paper").click()
        expect(page.locator("#filters")).to_contain_text("1 of 85")
        found += faults(page, "filter")
        open_tab(page, "Map")
        expect(page.locator("#map a.map-point").first).to_be_visible(timeout=30_000)
        found += faults(page, "map")
        open_tab(page, "Add abstracts")
        (tmp_path / "own.txt").write_text("Animal Papers 2021\n\nWe introduce Zebra, a method that paints stripes on graphs.\n")
        page.locator("#upload-files input[type=file]").set_input_files(tmp_path / "own.txt")
        expect(page.locator(".upload-report")).to_be_visible(timeout=30_000)
        found += faults(page, "add")
        open_tab(page, "Settings")
        found += faults(page, "settings")
    assert found == []
