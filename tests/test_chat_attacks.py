"""The chat in a real browser: what abstracts, questions, files and models write is shown as text, and a model is stopped.

The collection is an abstract of attacks among harmless ones; the model is a server that replays a script.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.chat_server import answered, ask, chat_over, open_tab, saved, settle, turns, visit
from tests.conftest import HERON, OKAPI, ZEBRA
from tests.model_server import ModelServer, Reply
from tests.server_process import Served

pytestmark = pytest.mark.slow
IMAGE = '<img src=x onerror="window.pwned=1">'
ATTACK = (
    f"{IMAGE}<script>window.pwned=2</script> ${{window.pwned=3}} `${{window.pwned=4}}` {{{{window.pwned=5}}}} "
    "</h2></article><svg onload=window.pwned=6> [click](javascript:window.pwned=7) <a href='javascript:window.pwned=8'>here</a>"
)
TRAP = (
    f"Gecko{IMAGE} is a method that climbs glass on the Wall benchmark of 2021. "
    "Gecko <script>window.pwned=2</script><svg onload=window.pwned=6><iframe src=//evil.example></iframe> reaches 93.7% accuracy on walls. "
    "Its ${window.pwned=3} and `${window.pwned=4}` and {{window.pwned=5}} rest. "
    'Code is at [our page](javascript:window.pwned=7), ![shot](https://evil.example/x.png) and https://evil.example/"onmouseover=window.pwned=8. '
    "Maths $\\href{javascript:window.pwned=9}{x}$ and <style>@import url(https://evil.example/x.css)</style> stand still."
)
COLLECTION = f"Animal Papers 2021\n\n{TRAP}\n\n{ZEBRA}\n\n{OKAPI}\n\n{HERON}\n"
ABOUT_GECKO = "Which accuracy does Gecko reach on walls?"
ABOUT_ZEBRA = "How much faster is Zebra than Okapi on the Savanna benchmark?"
REPLY = f"Zebra is 3.5 times faster than Okapi on the Savanna benchmark. [1] **Bananas** {ATTACK} were sold by merchants in Ecuador. [1]"
SLOWLY = Reply(f"{ATTACK} Zebra climbs. " * 200, step=400, pause_seconds=0.05)
ALIEN = "img, script, svg, iframe, style, object, [onerror], [onload], [onmouseover], [href^=javascript]"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    """The scripted model; a test sets what it replies."""
    with ModelServer([Reply(REPLY)]) as server:
        yield server


@pytest.fixture(scope="module")
def trapped(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat over the attacks, answered by the scripted model, unsupported sentences shown."""
    folder = tmp_path_factory.mktemp("attacks")
    (folder / "papers.txt").write_text(COLLECTION, encoding="utf-8")
    options = ("--llm", models.spec, "--unsupported", "show")
    with chat_over(str(folder / "store"), folder, *options, ASKABSTRACTS_SOURCES=str(folder / "papers.txt")) as server:
        yield server


@pytest.fixture
def page(browser: Browser, trapped: Served, models: ModelServer) -> Iterator[Page]:
    """A visitor of the chat over the attacks; nothing may have run or been fetched in the end."""
    models.script[:] = [Reply(REPLY)]
    models.hung_up.clear()
    with visit(browser, trapped) as opened:
        yield opened
        opened.wait_for_timeout(300)  # time for an image to fail to load
        assert opened.evaluate("window.pwned") is None


def assert_only_text(place: Locator) -> None:
    """Nothing of an attack has become an element."""
    assert place.locator(ALIEN).count() == 0


def by_quotes(page: Page) -> None:
    """Chooses answers without a model."""
    open_tab(page, "Settings")
    page.get_by_role("radio", name="exact quotes").check()
    open_tab(page, "Chat")


def test_an_attack_in_an_abstract_is_asked_read_and_exported_as_text(page: Page) -> None:
    by_quotes(page)
    answer = ask(page, ABOUT_GECKO)
    expect(answer.locator("blockquote", has_text="<script>window.pwned=2</script>")).to_be_visible()
    answer.locator("a.marker").first.hover()
    answer.locator("a.marker").first.click()
    panel = page.locator("#evidence")
    expect(panel.locator("mark.shown")).to_be_focused()
    expect(panel).to_contain_text("<iframe src=//evil.example>")
    expect(panel).to_contain_text("[our page](javascript:window.pwned=7)")
    assert_only_text(panel)
    assert_only_text(answer)
    text = saved(page, page.get_by_role("button", name="Export the conversation"))[1]
    assert "<script>" not in text.partition("## BibTeX")[0].replace("\\<", "")
    page.reload()
    settle(page)
    expect(turns(page)).to_have_count(1)
    assert_only_text(turns(page))


def test_an_attack_in_an_abstract_is_listed_and_mapped_as_text(page: Page) -> None:
    open_tab(page, "Papers")
    expect(page.get_by_role("table")).to_contain_text("Gecko<img src=x onerror=")
    page.get_by_role("table").get_by_role("link", name="Gecko").click()
    expect(page.locator(".whole-abstract")).to_contain_text("<script>window.pwned=2</script>")
    page.get_by_role("button", name="Similar papers").click()
    expect(page.locator(".paper-page .similar li").first).to_be_visible()
    assert_only_text(page.locator(".paper-page"))
    page.get_by_role("button", name="Ask about this paper").click()
    expect(page.locator("#filters")).to_contain_text("Gecko<img")
    assert_only_text(page.locator("#filters"))
    open_tab(page, "Map")
    point = page.locator("#map a.map-point[aria-label*=Gecko]")
    expect(point).to_be_visible(timeout=30_000)
    point.hover()
    expect(page.locator("#map-tip")).to_contain_text("Gecko<img")
    assert_only_text(page.locator("#map-tip"))
    assert page.locator("#map").locator("img, script, iframe, [onload], [onerror]").count() == 0


def test_an_attack_in_a_question_and_in_a_name_is_text(page: Page) -> None:
    by_quotes(page)
    answer = ask(page, ATTACK)
    expect(answer.locator("h2")).to_have_text(ATTACK)
    assert_only_text(answer)
    expect(page.locator("#conversations .name")).to_contain_text("<img src=x")
    assert_only_text(page.locator("#conversations"))
    answer.get_by_role("button", name="Edit the question").click()
    expect(answer.get_by_role("textbox")).to_have_value(ATTACK)
    ask(page, f"And what of {ATTACK}?")
    assert_only_text(turns(page).last)


def test_a_model_writes_text_and_what_is_not_supported_is_struck(page: Page) -> None:
    answer = ask(page, ABOUT_ZEBRA)
    expect(answer.locator(".written")).to_contain_text("Zebra is 3.5 times faster than Okapi on the Savanna benchmark. [1]")
    struck = answer.locator(".unsupported")
    expect(struck.first).to_contain_text("Bananas")
    expect(struck.first).to_contain_text("not supported by the abstracts")
    assert_only_text(answer)
    for button in ("Markdown", "BibTeX"):
        saved(page, answer.get_by_role("button", name=button))
    page.reload()
    settle(page)
    expect(turns(page).locator(".written")).to_contain_text("Zebra is 3.5 times faster")
    assert_only_text(turns(page))


def test_stop_ends_a_model_that_writes_and_leaves_the_quotes(page: Page, models: ModelServer) -> None:
    models.script[:] = [SLOWLY]
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_hidden()
    page.get_by_label("Your question").fill(ABOUT_ZEBRA)
    page.get_by_role("button", name="Ask", exact=True).click()
    draft = page.locator("#current .draft")
    expect(draft).to_contain_text("<script>window.pwned=2</script>", timeout=30_000)
    expect(page.locator("#current blockquote").first).to_be_visible()
    expect(draft).to_contain_text("not verified yet")
    assert_only_text(page.locator("#current"))
    assert not models.hung_up.is_set()
    page.get_by_label("Your question").fill("A second question meanwhile?")
    page.get_by_label("Your question").press("Enter")
    stop.click()
    answer = answered(page, 1)
    assert models.hung_up.wait(10)
    expect(answer.locator("blockquote", has_text="3.5 times faster than Okapi")).to_be_visible()
    expect(answer.locator(".draft")).to_have_count(0)
    expect(stop).to_be_hidden()
    expect(page.get_by_label("Your question")).to_have_value("A second question meanwhile?")


def test_a_visitor_who_leaves_stops_the_model(browser: Browser, trapped: Served, models: ModelServer) -> None:
    models.script[:] = [SLOWLY]
    models.hung_up.clear()
    with visit(browser, trapped) as page:
        page.get_by_label("Your question").fill(ABOUT_ZEBRA)
        page.get_by_label("Your question").press("Enter")
        expect(page.locator("#current .draft")).to_contain_text("<img src=x", timeout=30_000)
    assert models.hung_up.wait(15)
