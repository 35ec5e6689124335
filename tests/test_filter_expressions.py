"""Filters as they are typed: what each means, and that a faulty one is shown with how it is written."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import FilterError
from rag.filter_expressions import LONGEST_FILTER, parse_filter
from rag.filters import PaperFilter


def names(*given: str) -> frozenset[str]:
    return frozenset(given)


@pytest.mark.parametrize(
    ("texts", "filter"),
    [
        pytest.param([], PaperFilter(), id="nothing"),
        pytest.param(["year>=2020"], PaperFilter(first_year=2020), id="from a year"),
        pytest.param(["year<=2022"], PaperFilter(last_year=2022), id="up to a year"),
        pytest.param(["year>2020", "year<2022"], PaperFilter(first_year=2021, last_year=2021), id="after and before"),
        pytest.param(["year>=2018", "year>=2020", "year<=2030"], PaperFilter(first_year=2020, last_year=2030), id="the narrower"),
        pytest.param(["year=2021"], PaperFilter(years=frozenset({2021})), id="a year"),
        pytest.param(["year=2019..2021"], PaperFilter(years=frozenset({2019, 2020, 2021})), id="a range"),
        pytest.param(["year=2019", "year=2021"], PaperFilter(years=frozenset({2019, 2021})), id="either of two years"),
        pytest.param(["year!=2020"], PaperFilter(without_years=frozenset({2020})), id="not a year"),
        pytest.param(["venue=ICML"], PaperFilter(venues=names("ICML")), id="a venue"),
        pytest.param(["venue=ICML", "venue=ACL"], PaperFilter(venues=names("ICML", "ACL")), id="either of two venues"),
        pytest.param(["venue!=ICML"], PaperFilter(without_venues=names("ICML")), id="not a venue"),
        pytest.param(['venue="Animal Papers"'], PaperFilter(venues=names("Animal Papers")), id="quotes"),
        pytest.param(["venue=Animal Papers"], PaperFilter(venues=names("Animal Papers")), id="spaces without quotes"),
        pytest.param(["venue='A=B'"], PaperFilter(venues=names("A=B")), id="a sign in quotes"),
        pytest.param(["author='t Hooft"], PaperFilter(authors=names("'t Hooft")), id="an apostrophe"),
        pytest.param(["author != Hinton"], PaperFilter(without_authors=names("Hinton")), id="blanks about the sign"),
        pytest.param(["file=icml 24.txt"], PaperFilter(files=names("icml 24.txt")), id="a file"),
        pytest.param(["file!=a.txt"], PaperFilter(without_files=names("a.txt")), id="not a file"),
        pytest.param(["title~graph", "title~neural"], PaperFilter(title_words=names("graph", "neural")), id="words of the title"),
        pytest.param(["YEAR=2020 And Venue=X"], PaperFilter(years=frozenset({2020}), venues=names("X")), id="keys in any case"),
        pytest.param(
            ['year>=2020 and venue=Animal Papers author="van der Maaten"'],
            PaperFilter(first_year=2020, venues=names("Animal Papers"), authors=names("van der Maaten")),
            id="several in one text",
        ),
    ],
)
def test_a_filter_means_what_it_says(texts: list[str], filter: PaperFilter) -> None:
    assert parse_filter(texts) == filter


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("venu=ICML", "'venu=ICML': there is no field 'venu'"),
        ("venue=ICML auther=Hinton", "'auther=Hinton': there is no field 'auther'"),
        ("hello", "'hello' is no condition"),
        ("", "A filter is empty"),
        ("   ", "A filter is empty"),
        ("venue=", "'venue=' gives no value"),
        ('venue=""', "gives no value"),
        ("author=?!", "gives no value"),
        ("venue>=ICML", "venue goes with = or !=, not with >="),
        ("title=graph", "title goes with ~, not with ="),
        ("year~2020", "year goes with"),
        ("year=twenty", "'twenty' is no year"),
        ("year=20200", "'20200' is no year"),
        ("year>=2019..2021", "'2019..2021' is no year to compare with"),
        ("year=2021..2019", "wrong way round; write 2019..2021"),
        ('venue="ICML', "the quotes do not enclose the value"),
        ('venue="ICML" more', "the quotes do not enclose the value"),
        ("year>=2020; drop", "'2020; drop' is no year"),
        ("venue=" + "x" * LONGEST_FILTER, f"{LONGEST_FILTER + 6} characters"),
    ],
)
def test_a_faulty_filter_is_shown_with_how_filters_are_written(text: str, told: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(["year=2020", text])
    assert told in str(caught.value)
    assert "year=2019..2021, venue=NAME, author=NAME, file=NAME and title~WORD" in str(caught.value)


@given(st.text(alphabet="yearvnutitl=~<>!\"' .0129\n", max_size=60))
def test_any_text_is_a_filter_or_is_refused_as_one(text: str) -> None:
    with suppress(FilterError):
        assert isinstance(parse_filter([text]), PaperFilter)


def test_a_long_text_of_signs_is_read_at_once() -> None:
    with pytest.raises(FilterError):
        parse_filter(["venue=" + "a and " * 150 + "="])
