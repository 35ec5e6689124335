import re
from pathlib import Path

import pytest

from rag.errors import SourceMissingError
from rag.papers import Collection, Paper, paper_id, read_collection, source_files
from tests.conftest import HERON, OKAPI, SEEDS, ZEBRA

FIRST, SECOND, THIRD, FOURTH, FIFTH = sorted(path.name for path in SEEDS.iterdir())
MERGED_SEEDS = {
    f"{FOURTH}#7": f"{THIRD}#7",
    f"{FOURTH}#8": f"{THIRD}#8",
    f"{FOURTH}#9": f"{THIRD}#9",
    f"{FOURTH}#11": f"{THIRD}#10",
    f"{FOURTH}#15": f"{THIRD}#11",
    f"{FIFTH}#2": f"{SECOND}#1",
    f"{FIFTH}#4": f"{SECOND}#2",
    f"{FIFTH}#5": f"{SECOND}#3",
    f"{FIFTH}#6": f"{SECOND}#5",
    f"{FIFTH}#19": f"{SECOND}#10",
}


@pytest.fixture(scope="module")
def seeds() -> Collection:
    return read_collection([str(SEEDS)])


def read(folder: Path, **abstracts: str) -> Collection:
    """The collection of `folder` after one file a name was written into it."""
    for name, text in abstracts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    return read_collection([str(folder)])


def with_sources(collection: Collection) -> dict[str, tuple[str, ...]]:
    return {paper.abstract: paper.sources for paper in collection.papers}


# --- the seeds ----------------------------------------------------------------------------------------------------------


def test_ninety_five_occurrences_are_eighty_five_papers(seeds: Collection) -> None:
    assert (seeds.occurrences, len(seeds.papers), len({paper.id for paper in seeds.papers})) == (95, 85, 85)
    assert seeds.unreadable == ()


def test_every_occurrence_belongs_to_the_paper_with_its_text(seeds: Collection) -> None:
    blocks = {path.name: path.read_text(encoding="utf-8").strip().split("\n\n") for path in SEEDS.iterdir()}
    occurrences = {f"{name}#{place}": block.strip() for name, all_ in blocks.items() for place, block in enumerate(all_) if place}
    assert {source: paper.abstract for paper in seeds.papers for source in paper.sources} == occurrences
    assert sum(len(paper.sources) for paper in seeds.papers) == 95


def test_the_ten_repeated_seeds_are_reported_as_exact(seeds: Collection) -> None:
    assert seeds.duplicates == tuple(f"{later} = {first}" for later, first in MERGED_SEEDS.items())
    assert seeds.near_duplicates == ()
    assert {paper.sources for paper in seeds.papers if len(paper.sources) > 1} == {(b, a) for a, b in MERGED_SEEDS.items()}


def test_seeds_come_from_icml_2024_by_their_headers(seeds: Collection) -> None:
    assert {(paper.venue, paper.year) for paper in seeds.papers} == {("ICML", 2024)}
    assert "ICML 2024 论文列表" in (SEEDS / FIFTH).read_text(encoding="utf-8").splitlines()


def test_seed_titles_are_short_and_unique(seeds: Collection) -> None:
    titles = [paper.title for paper in seeds.papers]
    assert len({title.casefold() for title in titles}) == len(titles)
    assert [title for title in titles if not 2 <= len(title) <= 90] == []
    assert not any(paper.has_given_title for paper in seeds.papers)


def test_seed_urls_are_complete_and_clean(seeds: Collection) -> None:
    urls = [url for paper in seeds.papers for url in paper.urls]
    assert len(urls) == sum(len(set(re.findall(r"https?://[\w./-]*[\w/]", paper.abstract))) for paper in seeds.papers) == 25
    assert [url for url in urls if not re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(?:/[\w.-]+)*/?", url) or url.endswith(".")] == []


def test_ids_do_not_depend_on_file_names_or_order(seeds: Collection, tmp_path: Path) -> None:
    for number, path in enumerate(sorted(SEEDS.iterdir(), reverse=True)):
        (tmp_path / f"{number}.md").write_bytes(path.read_bytes())
    assert {p.abstract: p.id for p in read_collection([str(tmp_path)]).papers} == {p.abstract: p.id for p in seeds.papers}


def test_ids_are_frozen() -> None:
    assert paper_id(ZEBRA) == "77915accd1c44a8b"
    assert paper_id("") != paper_id(HERON) == "7d0f7a79abae2d13"


# --- merging ------------------------------------------------------------------------------------------------------------


def test_exact_and_near_duplicates_are_told_apart(tmp_path: Path) -> None:
    first, near = "We gain $2.6\\times$ — on “bees”.", 'We gain 2.6× --\non "bees".'
    collection = read(tmp_path, a=f"{first}\n\n{ZEBRA}", b=f"{near}\n\n{first}")
    assert with_sources(collection) == {first: ("a.txt#1", "b.txt#1", "b.txt#2"), ZEBRA: ("a.txt#2",)}
    assert (collection.near_duplicates, collection.duplicates) == (("b.txt#1 = a.txt#1",), ("b.txt#2 = a.txt#1",))
    assert collection.occurrences == 4


@pytest.mark.parametrize(
    "other",
    [
        ZEBRA.replace("3.5", "3.6"),
        ZEBRA.replace("3.5", "35"),
        ZEBRA.replace("paints", "prints"),
        ZEBRA + " It rests.",
        ZEBRA.lower(),
    ],
    ids=["digit", "decimal point", "letter", "sentence more", "case"],
)
def test_nothing_but_spelling_merges(other: str, tmp_path: Path) -> None:
    assert with_sources(read(tmp_path, a=ZEBRA, b=other)) == {ZEBRA: ("a.txt#1",), other: ("b.txt#1",)}


def test_papers_of_one_name_get_two_titles(tmp_path: Path) -> None:
    collection = read(tmp_path, a=f"{ZEBRA}\n\n{ZEBRA.replace('3.5', '3.6')}")
    assert [paper.title for paper in collection.papers] == ["Zebra", "Zebra (2)"]


def test_paper_holds_what_the_file_says(tmp_path: Path) -> None:
    collection = read(tmp_path, a=f"Animal Papers 2021\n\n{OKAPI}")
    assert collection.papers == (
        Paper(
            id=paper_id(OKAPI),
            title=collection.papers[0].title,
            abstract=OKAPI,
            year=2021,
            venue="Animal Papers",
            urls=("https://example.org/okapi",),
            sources=("a.txt#1",),
        ),
    )


# --- files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("Bees.\n\nCaf\xe9.".encode("latin-1"), "bad.txt, line 3: not UTF-8"), (b"Bees.\n\0", "bad.txt, line 2: not a text file")],
    ids=["latin-1", "zero byte"],
)
def test_unreadable_file_is_reported_and_the_others_are_read(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    collection = read(tmp_path, a=ZEBRA, z=OKAPI)
    assert with_sources(collection) == {ZEBRA: ("a.txt#1",), OKAPI: ("z.txt#1",)}
    assert len(collection.unreadable) == 1
    assert complaint in collection.unreadable[0]
    assert {name: bool(digest) for name, digest in collection.files.items()} == {"a.txt": True, "bad.txt": False, "z.txt": True}


@pytest.mark.parametrize("missing", ["nowhere", "nowhere/abstracts.txt"])
def test_missing_path_is_an_error_that_names_it(missing: str, tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match=re.escape(missing)):
        read_collection([str(SEEDS), str(tmp_path / missing)])


def test_folder_without_text_is_an_empty_collection(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "notes.txt").write_text(ZEBRA)
    assert read_collection([str(tmp_path)]) == read_collection([]) == Collection(papers=(), occurrences=0)


def test_files_of_known_endings_are_found_in_subfolders_in_a_fixed_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.TXT", "sub/c.md", "a.text", "d.csv", "e.py", ".f.txt"):
        (tmp_path / name).write_text(ZEBRA)
    assert list(source_files([str(tmp_path)])) == ["a.text", "b.TXT", "d.csv", "sub/c.md"]


def test_named_file_is_read_whatever_its_ending_and_once(tmp_path: Path) -> None:
    path = tmp_path / "abstracts.csv"
    path.write_text(ZEBRA)
    assert list(source_files([str(path), str(path), f"{tmp_path}/./abstracts.csv"])) == ["abstracts.csv"]


def test_files_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / "x" / "in", tmp_path / "y" / "in", tmp_path / "z"]
    for folder, text in zip(folders, (ZEBRA, OKAPI, HERON), strict=True):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(text)
    collection = read_collection([str(folder) for folder in folders])
    assert with_sources(collection) == {ZEBRA: ("a.txt#1",), OKAPI: ("in/a.txt#1",), HERON: ("z/a.txt#1",)}
    assert list(collection.files) == ["a.txt", "in/a.txt", "z/a.txt"]


def test_every_file_of_one_name_is_kept_however_many(tmp_path: Path) -> None:
    folders = [tmp_path / f"{number}" / "in" for number in range(5)]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(f"We study {number} bees.")
    collection = read_collection([str(folder) for folder in folders])
    assert len({source for paper in collection.papers for source in paper.sources}) == len(collection.papers) == 5


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_and_byte_order_mark_change_no_paper(newline: str, mark: str, tmp_path: Path) -> None:
    text = f"{mark}Animal Papers 2021\n\n{ZEBRA}\n\nHerons stand\nstill.\n"
    collection = read(tmp_path, a=text.replace("\n", newline))
    assert [(paper.abstract, paper.year) for paper in collection.papers] == [(ZEBRA, 2021), ("Herons stand\nstill.", 2021)]
