"""An index to a map in two dimensions: a place for every paper, and topic clusters with a readable label each.

Neighbours on the map come from t-SNE (van der Maaten and Hinton, 2008), of large collections from the two main axes alone;
clusters from k-means over the same vectors. Nothing is random: a collection always gives the same map. Knows no HTML, and
writes nothing but a cache in the folder it is given.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.index import PaperIndex
from rag.papers import Paper
from rag.topics import topic_labels
from vectorstore.encoded import Matrix

MOST_PAPERS_FOR_TSNE = 2000  # 700 papers take 6 s of one core; main axes above
MOST_CLUSTERS = 12  # as many signs as a reader can tell apart
_SEED = 7
_LABELLED_PAPERS = 200  # of a cluster, those nearest its centre: enough words to name it
_FORMAT = 1  # raised when the same index would give another map, so that cached maps are made anew


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """A map of papers, in the index's order.

    `points` is (papers, 2), both axes within 0..1; `clusters` is (papers,), numbers of clusters from 0, the largest first;
    `labels` has one text per cluster, never empty and no two alike.
    """

    points: NDArray[np.float32]
    clusters: NDArray[np.int16]
    labels: tuple[str, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many papers each cluster has."""
        return tuple(int(count) for count in np.bincount(self.clusters, minlength=len(self.labels)))


def overview(index: PaperIndex, *, cache_folder: Path | None = None) -> Overview:
    """The map of an index; empty for an empty one.

    With a `cache_folder`, it is computed once per generation and read from there afterwards. A cached map that cannot be read
    or is of other papers is made anew, and a folder that cannot be written is done without.
    """
    if cache_folder is None:
        return _computed(index)
    path = cache_folder / f"overview-{index.generation.name}.npz"
    cached = _read(path, index.papers)
    if cached is not None:
        return cached
    made = _computed(index)
    _write(path, made, index.papers)
    return made


def _computed(index: PaperIndex) -> Overview:
    vectors = index.vectors.all_vectors()
    if not len(vectors):
        return Overview(np.zeros((0, 2), np.float32), np.zeros(0, np.int16), ())
    distinct, places = _distinct(vectors)
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

    with threadpool_limits(1, user_api="openmp"):  # threads add up in another order each time, and the map would differ
        laid_out = _scaled(_layout(distinct))
        clusters, closeness = _clustered(vectors, most=len(distinct))
    texts = [_central_texts(index.papers, np.flatnonzero(clusters == number), closeness) for number in range(clusters.max() + 1)]
    return Overview(_parted(laid_out[places], places), clusters, topic_labels(texts))


def _distinct(vectors: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """The distinct vectors in order of first occurrence, and the place (papers,) of each paper's among them."""
    first: dict[bytes, int] = {}
    places = np.array([first.setdefault(vector.tobytes(), len(first)) for vector in vectors], np.int64)
    return vectors[np.unique(places, return_index=True)[1]], places


def _layout(distinct: Matrix) -> Matrix:
    """Points (vectors, 2) in any unit."""
    axes = _main_axes(distinct, most=2)
    if not 4 <= len(distinct) <= MOST_PAPERS_FOR_TSNE:
        return axes
    from sklearn.manifold import TSNE

    # The start decides which of many equally good maps comes out: the main axes, small, as openTSNE and scikit-learn have it.
    start = axes / max(float(axes[:, 0].std()), 1e-12) * 1e-4
    perplexity = min(30.0, (len(distinct) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, init=start, metric="euclidean", learning_rate="auto", random_state=_SEED, n_jobs=1)
    return np.asarray(tsne.fit_transform(_main_axes(distinct, most=_axes_kept(len(distinct)))), np.float32)


def _axes_kept(papers: int) -> int:
    """How many main axes carry more than noise. On the seeds 10 group the map better than all 384 (silhouette 0.27 against 0.19)."""
    return min(50, max(10, round(float(np.sqrt(papers)))))


def _main_axes(distinct: Matrix, *, most: int) -> Matrix:
    """The vectors along their `most` principal axes, each axis turned so that its longest reach is positive."""
    centred = (distinct - distinct.mean(axis=0)).astype(np.float64)
    if len(distinct) <= distinct.shape[1]:
        left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
        axes = (left * lengths)[:, :most]
    else:
        axes = centred @ np.linalg.eigh(centred.T @ centred)[1][:, : -most - 1 : -1]
    axes = np.pad(axes, ((0, 0), (0, most - axes.shape[1])))
    reach = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return np.asarray(axes * np.where(reach < 0, -1.0, 1.0), np.float32)


def _scaled(points: Matrix) -> Matrix:
    """Points with each axis stretched over 0..1; an axis without extent is put in the middle."""
    lowest, extent = points.min(axis=0), np.ptp(points, axis=0)
    scaled = (points - lowest) / np.where(extent > 1e-9, extent, 1.0)
    return np.asarray(np.where(extent > 1e-9, scaled, 0.5), np.float32)


def _parted(points: Matrix, places: NDArray[np.int64]) -> Matrix:
    """Papers of one and the same vector set around their place like the seeds of a sunflower, so that each can be seen."""
    parted = points.copy()
    for place in np.flatnonzero(np.bincount(places) > 1):
        rows = np.flatnonzero(places == place)
        turns = np.arange(len(rows))
        radius, angle = 0.02 * np.sqrt(turns), turns * np.pi * (3 - np.sqrt(5))
        parted[rows] += np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    return np.clip(parted, 0, 1)


def _clustered(vectors: Matrix, *, most: int) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """The cluster (papers,) of each vector, the largest first, and how close (papers,) each is to its cluster's centre."""
    from sklearn.cluster import KMeans

    near = _main_axes(vectors, most=_axes_kept(len(vectors)))
    wanted = min(most, max(2, min(MOST_CLUSTERS, round(float(np.sqrt(len(vectors) / 2))))))
    found = KMeans(wanted, n_init=10 if len(vectors) <= MOST_PAPERS_FOR_TSNE else 2, random_state=_SEED).fit(near)
    numbers = np.asarray(found.labels_)
    by_size = sorted(set(numbers.tolist()), key=lambda number: (-int((numbers == number).sum()), int((numbers == number).argmax())))
    renumbered = np.zeros(wanted, np.int16)
    renumbered[by_size] = np.arange(len(by_size))
    return renumbered[numbers], -np.linalg.norm(near - found.cluster_centers_[numbers], axis=1)


def _central_texts(papers: Sequence[Paper], rows: NDArray[np.int64], closeness: NDArray[np.float32]) -> list[str]:
    central = rows[np.argsort(-closeness[rows], kind="stable")[:_LABELLED_PAPERS]]
    return [
        f"{paper.title}. {paper.abstract}" if paper.has_given_title else paper.abstract
        for paper in (papers[row] for row in central)
    ]


# --- the cache ----------------------------------------------------------------------------------------------------------


def _read(path: Path, papers: Sequence[Paper]) -> Overview | None:
    """The map cached at `path`, or None when there is none of these papers."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:  # np.load leaves a torn archive open
            stamp, points, clusters, labels = (arrays[name] for name in ("stamp", "points", "clusters", "labels"))
        cached = Overview(points, clusters, tuple(str(label) for label in labels))
        return cached if str(stamp) == _stamp(papers) and _is_whole(cached, len(papers)) else None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def _is_whole(cached: Overview, papers: int) -> bool:
    return (
        cached.points.shape == (papers, 2)
        and cached.points.dtype == np.float32
        and cached.clusters.shape == (papers,)
        and cached.clusters.dtype == np.int16
        and bool(np.all((cached.points >= 0) & (cached.points <= 1)))
        and set(cached.clusters.tolist()) == set(range(len(cached.labels)))
        and all(cached.labels)
    )


def _write(path: Path, made: Overview, papers: Sequence[Paper]) -> None:
    """Caches a map, whole or not at all."""
    arrays: dict[str, Any] = {"points": made.points, "clusters": made.clusters, "labels": np.array(made.labels, dtype=np.str_)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    except OSError:
        return  # the map is there all the same; only the next process computes it again
    try:
        with open(descriptor, "wb") as file:
            np.savez_compressed(file, stamp=np.array(_stamp(papers)), **arrays)
        os.replace(partial, path)
    except OSError:
        return
    finally:
        Path(partial).unlink(missing_ok=True)


def _stamp(papers: Iterable[Paper]) -> str:
    """What a cached map must carry to be of these papers and made by this code."""
    return f"{_FORMAT} {hashlib.sha256(' '.join(paper.id for paper in papers).encode()).hexdigest()}"
