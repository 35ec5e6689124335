"""The map as HTML: a link for every paper, text over text nowhere, nothing that runs or is fetched."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rag.index import PaperIndex
from rag.overview import Overview
from rag.papers import Paper
from rag.web import map_html as module
from rag.web.map_html import COLOURS, map_html

ATTACK = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>&lt;b&gt;"


class Elements(HTMLParser):
    """The elements of some HTML, each with its attributes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def links(self) -> list[dict[str, Any]]:
        return [attributes for tag, attributes in self.found if tag == "a"]


def a_map(count: int, *, clusters: int = 3, title: str = "Title", label: str = "topic") -> tuple[PaperIndex, Overview]:
    papers = tuple(Paper(id=f"{row:016x}", title=f"{title} {row}", abstract="Text.") for row in range(count))
    index = SimpleNamespace(papers=papers, row_of={paper.id: row for row, paper in enumerate(papers)})
    points = np.random.default_rng(5).random((count, 2)).astype(np.float32)
    labels = tuple(f"{label} {number}" for number in range(clusters))
    return cast(PaperIndex, index), Overview(points, (np.arange(count) % max(clusters, 1)).astype(np.int16), labels)


def test_every_paper_is_a_named_link() -> None:
    links = Elements(map_html(*a_map(12))).links()
    assert [link["href"] for link in links] == [f"#paper-{row:016x}" for row in range(12)]
    assert {link["class"] for link in links} == {"map-point"}
    assert links[3] | {"transform": ""} == {
        "href": "#paper-0000000000000003", "data-paper": "0000000000000003", "class": "map-point", "aria-label": "Title 3", "data-title": "Title 3",
        "transform": "",
    }  # fmt: skip


def test_marked_papers_come_last_ringed_and_named() -> None:
    page = map_html(*a_map(12), marked=[f"{4:016x}", "unknown", f"{4:016x}"])
    marked = [link for link in Elements(page).links() if "marked" in link["class"]]
    assert [link["aria-label"] for link in marked] == ["Title 4, in the last answer"]
    assert Elements(page).links()[-1] == marked[0]
    assert page.count('class="ring sign"') == 1
    assert page.count(">Title 4</tspan>") == 2
    assert "The ringed paper is from the last answer." in page


def test_the_legend_names_every_topic_with_its_count_and_says_how_it_was_made() -> None:
    page = map_html(*a_map(11))
    assert [int(count) for count in re.findall(r'<span class="count">(\d+)<', page)] == [4, 4, 3]
    assert all(f"<span>topic {number}</span>" in page for number in range(3))
    assert "Distance is only a hint" in page


def test_an_empty_collection_says_so() -> None:
    assert "no papers to map" in map_html(*a_map(0, clusters=0))


def test_a_large_collection_has_links_for_the_marked_papers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINKED_PAPERS", 50)
    page = map_html(*a_map(60), marked=[f"{7:016x}"])
    assert [link["data-paper"] for link in Elements(page).links()] == [f"{7:016x}"]
    assert page.count('class="dots"') == 3
    assert "With 60 papers, each is a dot without a link; the ringed ones are links." in page


def test_the_page_of_a_hundred_thousand_papers_is_light() -> None:
    assert len(map_html(*a_map(100_000, clusters=12))) < 1_500_000


def test_everything_from_a_file_is_shown_and_does_nothing() -> None:
    page = map_html(*a_map(6, title=ATTACK, label=ATTACK), marked=[f"{1:016x}"])
    elements = Elements(page).found
    assert not {tag for tag, _ in elements} & {"script", "img", "iframe", "image", "use", "foreignobject", "b"}
    assert not any(name.startswith("on") or name in ("src", "xlink:href") for _, attributes in elements for name in attributes)
    assert "url(" not in page
    assert "http" not in page


@pytest.mark.parametrize("clusters", [1, 7, 12])
def test_no_text_lies_over_another_or_outside(clusters: int) -> None:
    for room in module._ROOMS:
        phrase = "graph neural networks"
        boxes = [
            module._Box(
                tuple(module._lines(phrase, room.line_length)), room.size, (150.0 + 200 * (number % 4), 110.0 + 230 * (number // 4))
            )
            for number in range(clusters)
        ]
        points = np.random.default_rng(1).random((80, 2)) * 600
        placed = list(module._placed(boxes, points, points[:2], room))
        assert len(placed) >= min(clusters, 9)
        for number, (box, (x, y)) in enumerate(placed):
            assert box.width / 2 <= x <= module._WIDTH - box.width / 2
            assert box.height / 2 <= y <= module._HEIGHT - box.height / 2
            for other, (other_x, other_y) in placed[:number]:
                is_beside = abs(x - other_x) >= (box.width + other.width) / 2
                assert is_beside or abs(y - other_y) >= (box.height + other.height) / 2


def test_text_without_room_is_left_out() -> None:
    room = module._ROOMS[1]
    boxes = [module._Box(("graph neural", "networks"), room.size, (400.0, 300.0)) for _ in range(60)]
    assert 4 < len(list(module._placed(boxes, np.zeros((1, 2)), np.zeros((0, 2)), room))) < 60


@pytest.mark.parametrize("ground", ["#ffffff", "#0b0f19"])
def test_colours_stand_out_on_light_and_dark(ground: str) -> None:
    for colour in COLOURS:
        light, dark = sorted((_luminance(colour), _luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_cluster_has_a_sign_of_its_own_also_without_colour() -> None:
    signs = [re.sub(r'(?:fill|stroke)="[^"]*"', "", module._sign(cluster)) for cluster in range(12)]
    assert len(set(signs)) == 12
