"""A map of the collection to HTML: one inline SVG that needs no script, no font and nothing from elsewhere, and its legend.

Clusters differ by colour and by shape, so that colour is never the only sign. Text is placed for a wide and for a narrow page;
the style sheet shows one of the two by the room there is. Everything that comes from a file is escaped.
"""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rag.index import PaperIndex
from rag.overview import Overview
from rag.web.texts import Language, say

MOST_LINKED_PAPERS = 3000  # about 300 bytes each; dots without names above
# Each stands out by 3:1 on white and on near-black (WCAG 1.4.11), and neighbours in the list for every kind of colour vision.
COLOURS = (
    "#0a7cc2", "#d55e00", "#0d946d", "#c45a96", "#9a7b00", "#7d6ae0", "#7f7f7f", "#c0504d", "#1193a5", "#a8691f", "#5f8f2d", "#b04fc4",
)  # fmt: skip
_SHAPES = (
    "M-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0z",  # circle
    "M-7-7H7V7H-7z",  # square
    "M0-9.5L9.5 7H-9.5z",  # triangle
    "M0-10L9 0 0 10-9 0z",  # diamond
    "M-3-9H3V-3H9V3H3V9H-3V3H-9V-3H-3z",  # plus
    "M0 9.5L-9.5-7H9.5z",  # triangle upside down
)
_WIDTH, _HEIGHT, _MARGIN = 900, 680, 34
_FARTHEST = 210  # units; a text farther from its place would seem to name others
_CROWD = 300  # papers; smaller signs above
_CELL = 3  # units; of a large collection, one dot of a cluster per cell
_STYLE = """
.collection-map{container-type:inline-size;margin:0;color:var(--body-text-color,CanvasText)}
.collection-map svg{display:block;width:100%;height:auto;max-height:70vh;overflow:hidden}
.collection-map text{font-family:var(--font,system-ui,sans-serif);font-size:17px;font-weight:650;fill:currentColor;stroke-linejoin:round;
stroke:var(--map-ground,var(--body-background-fill,Canvas));stroke-width:5px;paint-order:stroke;pointer-events:none}
.collection-map .mark-label text{font-size:15px;font-weight:500;font-style:italic}
.collection-map .lead{stroke:currentColor;stroke-width:1.2;opacity:.75}
.collection-map .filled{stroke:var(--map-ground,var(--body-background-fill,Canvas));stroke-width:1}
.collection-map .hollow{fill:var(--map-ground,var(--body-background-fill,Canvas));stroke-width:3.5}
.collection-map .dots{fill:none;stroke-width:4;stroke-linecap:round;opacity:.65}
.collection-map .ring{fill:none;stroke:currentColor;stroke-width:2.5}
.collection-map .map-point{cursor:pointer;outline:none}
.collection-map .map-point:hover .sign,.collection-map .map-point:focus .sign{stroke:currentColor;stroke-width:3}
.collection-map .map-point:focus-visible .sign{stroke:currentColor;stroke-width:5}
.collection-map.crowded .map-point .sign{scale:.72}
.collection-map .narrow{display:none}
.collection-map ul{list-style:none;margin:.8rem 0 0;padding:0 !important;display:grid;gap:.3rem 1.2rem;
grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr))}
.collection-map li{display:flex;gap:.55em;align-items:baseline;line-height:1.4;margin:0}
.collection-map li svg{width:1em;flex:none;align-self:center}
.collection-map li .count{margin-left:auto;font-variant-numeric:tabular-nums;opacity:.8;white-space:nowrap}
.collection-map .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.collection-map p{margin:.7rem 0 0;line-height:1.5;font-size:.92rem;opacity:.85}
@container (max-width:620px){.collection-map .wide{display:none}.collection-map .narrow{display:inline}
.collection-map text{font-size:32px;stroke-width:9px}.collection-map .mark-label text{font-size:28px}
.collection-map .map-point .sign{scale:1.7}.collection-map .lead{stroke-width:2.5}
.collection-map.crowded .map-point .sign{scale:1.15}.collection-map .dots{stroke-width:6}}
"""


@dataclass(frozen=True, slots=True)
class _Room:
    """How text is set for one width of the page: sizes in units of the view box, lengths in characters."""

    name: str
    size: int
    mark_size: int
    line_length: int
    phrases: int  # of a label; the legend has them all
    point_radius: int


_ROOMS = (_Room("wide", 17, 15, 24, 2, 10), _Room("narrow", 32, 28, 16, 1, 17))


@dataclass(frozen=True, slots=True)
class _Box:
    """A text to place: its lines, its width and height, and the point it belongs to."""

    lines: tuple[str, ...]
    size: int
    at: tuple[float, float]
    ring: float = 0  # radius of what surrounds the point, where a line to it ends
    is_paper: bool = False

    @property
    def width(self) -> float:
        return max(sum(_advance(letter) for letter in line) for line in self.lines) * self.size + 8

    @property
    def height(self) -> float:
        return 1.2 * self.size * len(self.lines) + 4


def map_html(index: PaperIndex, overview: Overview, *, marked: Collection[str] = (), language: Language = "en") -> str:
    """The map of a collection with its legend, for pages light and dark; `marked` are ids of papers to point out.

    Every paper is a link to "#paper-ID", also by keyboard; above 3,000 papers only the marked ones are, the rest are dots.
    Ids that the index does not hold are passed over.
    """
    papers = index.papers
    if not papers:
        return f'<figure class="collection-map"><p>{say("map_none", language)}</p></figure>'
    places = np.array([_MARGIN, _MARGIN]) + overview.points * (np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN)
    rows = [index.row_of[id_] for id_ in dict.fromkeys(marked) if id_ in index.row_of]
    is_linked = len(papers) <= MOST_LINKED_PAPERS
    pointed = [row for row in range(len(papers)) if row not in set(rows)] if is_linked else []
    link = partial(_link, index, overview, places, language)
    signs = "".join(link(row) for row in pointed) if is_linked else _dots(overview, places)
    marks = "".join(link(row, is_marked=True) for row in rows)
    texts = "".join(_texts(index, overview, places, rows, room) for room in _ROOMS)
    name = say("map_name", language, papers=len(papers), topics=len(overview.labels))
    return (
        f'<figure class="collection-map{" crowded" * (len(papers) > _CROWD)}"><style>{_STYLE}</style>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{name}">{texts}{signs}{marks}</svg>'  # the signs last: no text hides one
        f"{_legend(overview, language)}<p>{_explained(len(papers), len(rows), language, is_linked=is_linked)}</p></figure>"
    )


def _link(
    index: PaperIndex, overview: Overview, places: NDArray[np.float64], language: Language, row: int, *, is_marked: bool = False
) -> str:
    paper, (x, y) = index.papers[row], places[row]
    title, id_ = html.escape(paper.title), html.escape(paper.id)
    note = f", {say('map_in_answer', language)}" if is_marked else ""
    sign = _sign(int(overview.clusters[row]))
    if is_marked:
        sign = f'<circle class="ring sign" r="17"/><g transform="scale(1.35)">{sign}</g>'
    return (
        f'<a href="#paper-{id_}" data-paper="{id_}" class="map-point{" marked" * is_marked}" aria-label="{title}{note}" '
        f'data-title="{title}" transform="translate({x:.1f} {y:.1f})">{sign}</a>'
    )


def _sign(cluster: int) -> str:
    """A cluster's shape in its colour, around the origin: the first six filled, the next six hollow."""
    colour, shape = COLOURS[cluster % len(COLOURS)], _SHAPES[cluster % len(_SHAPES)]
    if cluster // len(_SHAPES) % 2:
        return f'<path class="sign hollow" d="{shape}" stroke="{colour}"/>'
    return f'<path class="sign filled" d="{shape}" fill="{colour}"/>'


def _dots(overview: Overview, places: NDArray[np.float64]) -> str:
    """All papers as dots without names, one path per cluster."""
    cells = (places / _CELL).round().astype(int) * _CELL
    paths = []
    for cluster in range(len(overview.labels)):
        dots = np.unique(cells[overview.clusters == cluster], axis=0)
        path = "".join(f"M{x} {y}h0" for x, y in dots)
        paths.append(f'<path class="dots" stroke="{COLOURS[cluster % len(COLOURS)]}" d="{path}"/>')
    return "".join(paths)


def _legend(overview: Overview, language: Language) -> str:
    items = "".join(
        f'<li><svg viewBox="-12 -12 24 24" aria-hidden="true">{_sign(cluster)}</svg><span>{html.escape(label)}</span> '
        f'<span class="count">{count:,}<span class="unseen"> {say("map_papers", language)}</span></span></li>'
        for cluster, (label, count) in enumerate(zip(overview.labels, overview.counts, strict=True))
    )
    return f'<ul class="map-legend" aria-label="{say("map_legend", language)}">{items}</ul>'


def _explained(papers: int, marked: int, language: Language, *, is_linked: bool) -> str:
    said = [say("map_made", language)]
    if marked:
        said.append(say("map_one_ringed" if marked == 1 else "map_ringed", language, count=marked))
    if not is_linked:
        said.append(say("map_dots_ringed" if marked else "map_dots", language, papers=f"{papers:,}"))
    return " ".join(said)


# --- text on the map ------------------------------------------------------------------------------------------------------


def _texts(index: PaperIndex, overview: Overview, places: NDArray[np.float64], rows: Sequence[int], room: _Room) -> str:
    """The clusters' labels and the marked papers' titles, none over another. Screen readers have them from legend and links."""
    boxes = [
        _mark_box(index.papers[row].title, places[row], room) for row in rows
    ]  # first, because they belong close to their points
    for cluster, label in enumerate(overview.labels):
        middle = np.median(places[overview.clusters == cluster], axis=0)
        lines = tuple(line for phrase in _phrases(label)[: room.phrases] for line in _lines(phrase, room.line_length))
        boxes.append(_Box((*lines[:-1], lines[-1].removesuffix(",")), room.size, (float(middle[0]), float(middle[1]))))
    drawn = [_text(box, middle) for box, middle in _placed(boxes, places, places[rows], room)]
    return f'<g class="{room.name}" aria-hidden="true">{"".join(drawn)}</g>'


def _phrases(label: str) -> list[str]:
    """The phrases of a label, all but the last with their comma."""
    return re.split(r"(?<=,) ", label)


def _mark_box(title: str, place: NDArray[np.float64], room: _Room) -> _Box:
    lines = _lines(title, room.line_length)
    lines = [*lines[:1], lines[1] + "…"] if len(lines) > 2 else lines
    return _Box(tuple(lines), room.mark_size, (float(place[0]), float(place[1])), 1.8 * room.point_radius, is_paper=True)


def _lines(text: str, length: int) -> list[str]:
    """`text` in lines of about `length` characters; a word longer than two lines is cut."""
    lines: list[str] = []
    for word in text.split():
        short = word if len(word) <= 2 * length else word[: 2 * length - 1] + "…"
        if lines and len(lines[-1]) + len(short) < length:
            lines[-1] += f" {short}"
        else:
            lines.append(short)
    return lines or ["…"]


def _placed(
    boxes: Sequence[_Box], points: NDArray[np.float64], rings: NDArray[np.float64], room: _Room
) -> Iterator[tuple[_Box, tuple[float, float]]]:
    """Each box with its middle: inside the map, over no other text, over few points, near where it belongs.

    Where there is no room, a box is cut to its first line, or left out.
    """
    across, down = np.meshgrid(np.arange(0, _WIDTH + 1, 12), np.arange(0, _HEIGHT + 1, 10))
    grid = np.stack([across.ravel(), down.ravel()], axis=1).astype(np.float64)
    crowd = points[:: max(1, len(points) // 300)]
    hiding = 200 * min(1.0, 100 / len(crowd))  # in a dense map, near its place counts for more than free of points
    taken: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for whole in boxes:
        for box in (whole, replace(whole, lines=(whole.lines[0].removesuffix(",") + "…",))):
            half = np.array([box.width, box.height]) / 2
            middles = np.clip(grid, half, np.maximum(half, np.array([_WIDTH, _HEIGHT]) - half))
            away = np.hypot(*(middles - np.array(box.at)).T)
            cost = np.where(away > _FARTHEST, np.inf, away) + hiding * _covered(middles, half + room.point_radius, crowd)
            cost += 500 * _covered(middles, half + 1.8 * room.point_radius, rings)
            for at, other in taken:
                cost[_covered(middles, half + other, at[None]) > 0] = np.inf
            best = int(cost.argmin())
            if np.isfinite(cost[best]):
                taken.append((middles[best], half))
                yield box, (float(middles[best][0]), float(middles[best][1]))
                break


def _covered(middles: NDArray[np.float64], half: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many points lie under a box at each place."""
    covered = np.zeros(len(middles))
    for point in points:
        covered += np.all(np.abs(middles - point) < half, axis=1)
    return covered


def _text(box: _Box, middle: tuple[float, float]) -> str:
    """A box drawn, a paper's with a line to its ring."""
    x, y = middle
    first = y - box.height / 2 + box.size
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{first + 1.2 * box.size * number:.1f}">{html.escape(line)}</tspan>'
        for number, line in enumerate(box.lines)
    )
    if not box.is_paper:
        return f'<text text-anchor="middle" class="cluster-label">{spans}</text>'
    to_x, to_y = box.at
    from_x = min(max(to_x, x - box.width / 2), x + box.width / 2)
    from_y = min(max(to_y, y - box.height / 2), y + box.height / 2)
    length = max(float(np.hypot(to_x - from_x, to_y - from_y)), 1e-9)
    share = max(0.0, 1 - box.ring / length)
    end_x, end_y = from_x + share * (to_x - from_x), from_y + share * (to_y - from_y)
    lead = f'<line class="lead" x1="{from_x:.1f}" y1="{from_y:.1f}" x2="{end_x:.1f}" y2="{end_y:.1f}"/>' if share > 0 else ""
    return f'<g class="mark-label">{lead}<text text-anchor="middle">{spans}</text></g>'


def _advance(letter: str) -> float:
    """How wide a bold letter is in a wide typeface, in ems, so that a box is rather too large than too small."""
    if ord(letter) >= 0x2E80:
        return 1.05  # ideographs
    return 0.42 if letter in "iljtfrI.,:;'|()-! " else 0.9 if letter.isupper() or letter in "mw" else 0.7
