"""Answers to Markdown, BibTeX and plain text: what is in them, that markers lead right, and that nothing hostile acts."""

import re
from dataclasses import replace

import pytest
from bibtexparser.entrypoint import parse_string
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag.answer import Answer, Status
from rag.citations import Ground, GroundedSentence, QuotedPaper, grounded_answer, quoting_answer
from rag.export import STATUS_WORDS, answer_markdown, bibtex, conversation_markdown, leading, plain_with_citations
from rag.papers import Paper
from rag.text import Span, sentence_spans

BEES = Paper(
    "aaaa", "Bees", "Bees fly. Bees hum.", ("Ada Smith", "Bo Li"), 2024, "ICML", ("https://a.org/bees",), ("bees.txt#1",), True
)
ANTS = Paper("bbbb", "Ants", "Ants walk.", sources=("ants.txt#2", "more.txt#1"))
HOSTILE = st.sampled_from([
    "[3]", "[1]", "\\[2]", "**", "*a*", "<script>alert(1)</script>", "</p>", "$x$", "\\", "\\\\", "> ", "# ", "1. ", "- ", "---", "===", "```",
    "~~", "|", "&amp;", "![a](b)", "[a]: b", "<!--", "\n", "\n\n", "\n> ", " ", ". ", "{", "}", "\\{", "\\\\{", "%", "\\%", "&", "@misc{a,", '"',
    "\n@book{b}", "$\\{x$", "$${$$", "$a\\\\$", ",", "=", "机器学习", "é", "\u2028", "\ud800", "\x00", " and ",
])  # fmt: skip
TEXTS = st.lists(HOSTILE | st.text(max_size=5), max_size=12).map("".join)
WORDS = TEXTS.map(lambda text: "".join(character for character in text if character not in "\0\ud800") + " x")
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def answer(*papers: Paper, question: str = "Do bees fly?", status: Status = "answered", notices: tuple[str, ...] = ()) -> Answer:
    """The answer that quotes every sentence of every paper."""
    text, citations = quoting_answer([QuotedPaper(paper, sentence_spans(paper.abstract)) for paper in papers])
    return Answer(question, question, status, text, citations, (), notices, "quotes")


def parsed(bib: str) -> list[dict[str, str]]:
    """The entries of a BibTeX file, each with its key and type; nothing in it may be left over or doubled."""
    library = parse_string(bib)
    assert library.failed_blocks == []
    assert library.comments == []
    return [
        {"key": entry.key, "type": entry.entry_type} | {field.key: field.value for field in entry.fields}
        for entry in library.entries
    ]


def balances(text: str) -> bool:
    """Whether the braces balance as BibTeX counts them: a backslash before one changes nothing."""
    depths = [0]
    for brace in re.findall(r"[{}]", text):
        depths.append(depths[-1] + (1 if brace == "{" else -1))
    return min(depths) >= 0 and depths[-1] == 0


def tags(markdown: str) -> set[str]:
    tokens = MARKDOWN.parse(markdown)
    inline = [child for token in tokens for child in token.children or []]
    return {token.tag or token.type for token in [*tokens, *inline]} - {"inline", "text", "text_special", "softbreak"}


# --- one answer -------------------------------------------------------------------------------------------------------


def test_an_answer_is_followed_by_its_sources_with_their_exact_quotes() -> None:
    assert answer_markdown(answer(BEES, ANTS, notices=("Only a part was searched.",))) == (
        "# Do bees fly?\n\n"
        "**Bees** [1]\n\n> Bees fly. [1]\n\n> Bees hum. [1]\n\n**Ants** [2]\n\n> Ants walk. [2]\n\n"
        "Only a part was searched.\n\n"
        "## Sources\n\n"
        "1. **Bees.** Ada Smith, Bo Li. ICML 2024. <https://a.org/bees> Source: bees.txt\\#1.\n\n   > Bees fly.\n\n   > Bees hum.\n\n"
        "2. **Ants.** Source: ants.txt\\#2, more.txt\\#1.\n\n   > Ants walk.\n"
    )


@pytest.mark.parametrize("status", ["silent", "not_found", "premise", "invalid"])
def test_what_is_not_answered_says_so_in_words(status: Status) -> None:
    refusal = answer(status=status, notices=("Try another word.",))
    assert answer_markdown(refusal) == f"# Do bees fly?\n\n**{STATUS_WORDS[status]}.**\n\nTry another word.\n"
    assert plain_with_citations(refusal) == f"{STATUS_WORDS[status]}.\nTry another word.\n"


def test_what_leads_over_to_the_quotes_stands_before_them() -> None:
    silent = answer(BEES, status="silent", notices=("The paper may say it. Nearest is:", "tiny was shown 1 of the 3 papers."))
    written = answer_markdown(silent)
    assert written.index("Nearest is:") < written.index("> Bees fly. [1]") < written.index("tiny was shown")
    assert leading(("One.", "Two.")) == (["One.", "Two."], [])
    assert leading(("One.", "最接近的是：", "Two.")) == (["One.", "最接近的是："], ["Two."])


def test_an_unsupported_sentence_stays_struck_and_labelled() -> None:
    sentences = [GroundedSentence("Bees fly.", [Ground(BEES, [Span(0, 9)], 0.9)]), GroundedSentence("Bees swim*.", [])]
    text, citations = grounded_answer(sentences, show_unsupported=True)
    written = replace(answer(), text=text, citations=citations)
    assert "Bees fly. [1] ~~Bees swim\\*.~~ *(not supported by the abstracts)*\n" in answer_markdown(written)
    assert plain_with_citations(written).startswith("Bees fly. [1] Bees swim*. (not supported by the abstracts)\n\n[1] Bees.")


def test_a_quote_that_two_sentences_rest_on_is_listed_once() -> None:
    ground = Ground(BEES, [Span(0, 9)], 0.9)
    text, citations = grounded_answer([GroundedSentence("A.", [ground]), GroundedSentence("B.", [ground])], show_unsupported=False)
    assert answer_markdown(replace(answer(), text=text, citations=citations)).count("> Bees fly.") == 1


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://a.org/> [x](https://b.org)", "https://a.org/\n# Head", "ftp://a.org"]
)
def test_only_a_whole_web_address_becomes_a_link(url: str) -> None:
    assert "a" not in tags(answer_markdown(answer(replace(BEES, urls=(url,)))))
    assert "url" not in parsed(bibtex([replace(BEES, urls=(url,))]))[0]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(WORDS, WORDS, WORDS)
def test_nothing_in_a_question_an_abstract_or_a_name_acts_as_markup(one: str, two: str, three: str) -> None:
    paper = Paper("cccc", two, one, (three, one), 2024, three, (), (f"{two}#1",))
    exported = answer_markdown(answer(paper, question=three, notices=(one, two)))
    assert tags(exported) == {"h1", "h2", "p", "strong", "blockquote", "ol", "li"}
    rendered = MARKDOWN.render(exported)
    assert rendered.count("<h1>") == rendered.count("<h2>") == rendered.count("<ol>") == rendered.count("<li>") == 1


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        (r"It is 2.6$\times$ faster.", r"It is 2.6$\times$ faster."),
        (r"A gain of $82.24\%$ in $x_i^2$.", r"A gain of $82.24\%$ in $x_i^2$."),
        ("It costs $5 and $6.", r"It costs \$5 and \$6."),
        ("If $a<b$ or $*c*$.", r"If \$a\<b\$ or \$\*c\*\$."),
    ],
    ids=["sign", "percent and index", "money", "what could be markup"],
)
def test_maths_stays_maths_unless_it_could_be_markup(text: str, exported: str) -> None:
    made = answer_markdown(answer(replace(BEES, abstract=text)))
    assert made.count(exported) == 2


@pytest.mark.parametrize("line", ["---", "===", "+", "- - -", "***", "___", ": a definition", "1.", "```", "# a", "    code", "@a"])
def test_a_line_of_its_own_is_text(line: str) -> None:
    exported = answer_markdown(answer(replace(ANTS, abstract=line), question=line, notices=("a", line)))
    assert tags(exported) == {"h1", "h2", "p", "strong", "blockquote", "ol", "li"}
    assert MARKDOWN.render(exported).count("<li>") == 1


# --- a conversation ---------------------------------------------------------------------------------------------------


def test_a_conversation_has_one_list_of_sources_that_every_marker_leads_into() -> None:
    turns = [answer(BEES), answer(status="not_found", question="And wasps?"), answer(ANTS, BEES, question="And ants?")]
    exported = conversation_markdown(turns, title="Insects")
    assert re.findall(r"^#+ .*$", exported, re.MULTILINE) == [
        "# Insects", "## 1. Do bees fly?", "## 2. And wasps?", "## 3. And ants?", "## Sources", "## BibTeX",
    ]  # fmt: skip
    assert "**Ants** [2]\n\n> Ants walk. [2]\n\n**Bees** [1]\n\n> Bees fly. [1]\n\n> Bees hum. [1]\n\n## Sources" in exported
    assert "\n\n1. **Bees.** Ada Smith, Bo Li. ICML 2024." in exported
    assert exported.count("   > Bees fly.") == 1
    block = exported.partition("```bibtex\n")[2].partition("```")[0]
    keys = [entry["key"] for entry in parsed(block)]
    assert keys == re.findall(r"BibTeX key: (\w+)\.", exported) == ["smith2024bees", "ants"]


def test_only_markers_are_renumbered() -> None:
    quoting = replace(ANTS, abstract=r"Ants walk [1], see \[1] and [2].")
    exported = conversation_markdown([answer(BEES), answer(quoting)], title="Insects")
    assert r"> Ants walk \[1\], see \\\[1\] and \[2\]. [2]" in exported


def test_an_empty_conversation_says_so() -> None:
    assert conversation_markdown([], title="") == "# Conversation\n\nNothing was asked yet.\n"


def test_backticks_in_a_title_do_not_end_the_bibtex_block() -> None:
    exported = conversation_markdown([answer(replace(BEES, title="A ```` b"))], title="Insects")
    (fence,) = [token for token in MARKDOWN.parse(exported) if token.type == "fence"]
    assert fence.content == bibtex([replace(BEES, title="A ```` b")])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(WORDS, min_size=2, max_size=4, unique=True), WORDS)
def test_every_conversation_keeps_its_shape(abstracts: list[str], title: str) -> None:
    papers = [Paper(abstract, abstract, abstract, sources=("a.txt#1",)) for abstract in abstracts]
    exported = conversation_markdown([answer(papers[0]), answer(*papers[::-1], question=title)], title=title)
    tokens = MARKDOWN.parse(exported)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2", "h2", "h2", "h2"]
    (fence,) = [token for token in tokens if token.type == "fence"]
    assert len(parsed(fence.content)) == len(papers)
    assert tags(exported) == {"h1", "h2", "p", "strong", "blockquote", "ol", "li", "code"}


# --- plain text -------------------------------------------------------------------------------------------------------


def test_plain_text_has_quotation_marks_and_a_line_for_each_source() -> None:
    assert plain_with_citations(answer(BEES, replace(ANTS, title="Why ants?", abstract="A *few* <b>ants</b> [3] walk."))) == (
        "Bees [1]\n“Bees fly.” [1]\n“Bees hum.” [1]\nWhy ants? [2]\n“A *few* <b>ants</b> [3] walk.” [2]\n\n"
        "[1] Bees. ICML 2024. https://a.org/bees\n[2] Why ants?\n"
    )


# --- BibTeX -----------------------------------------------------------------------------------------------------------


def test_a_paper_with_a_venue_is_in_proceedings_and_one_without_is_misc() -> None:
    assert parsed(bibtex([BEES, ANTS])) == [
        {
            "key": "smith2024bees", "type": "inproceedings", "title": "{Bees}", "author": "Ada Smith and Bo Li", "booktitle": "ICML",
            "year": "2024", "url": "https://a.org/bees", "note": r"bees.txt\#1",
        },
        {"key": "ants", "type": "misc", "title": "{Ants}", "note": r"ants.txt\#2"},
    ]  # fmt: skip


def test_no_papers_give_no_bibtex_and_a_paper_given_twice_one_entry() -> None:
    assert bibtex([]) == ""
    assert len(parsed(bibtex([BEES, ANTS, BEES]))) == 2


@pytest.mark.parametrize(
    ("authors", "title", "key"),
    [
        pytest.param(("Ada Smith",), "A Bee and the Ant", "smith2024bee", id="an article is skipped"),
        pytest.param(("Smith, Ada",), "KIVI: caches", "smith2024kivi", id="surname first"),
        pytest.param(("Bernhard Schölkopf",), "Über $k$-means", "scholkopf2024uber", id="accents"),
        pytest.param(("Ada Smith Jr.",), "$\\alpha$-divergences", "smith2024divergences", id="suffix and maths"),
        pytest.param((), "A Study of Bees in Winter", "studyofbees2024", id="no authors"),
        pytest.param(("王伟",), "Bees in Winter", "beesinwinter2024", id="a name without Latin letters"),
        pytest.param(("王伟",), "机器学习", "papercccc2024", id="nothing Latin"),
        pytest.param((), "The", "the2024", id="nothing but an article"),
    ],
)
def test_key_is_made_of_surname_year_and_title(authors: tuple[str, ...], title: str, key: str) -> None:
    assert parsed(bibtex([Paper("cccc", title, "x", authors, 2024)]))[0]["key"] == key


def test_papers_that_would_share_a_key_are_told_apart_by_letters() -> None:
    same = [replace(BEES, id=str(number)) for number in range(28)]
    neighbour = replace(BEES, id="other", title="Beesb")
    keys = [entry["key"].removeprefix("smith2024bees") for entry in parsed(bibtex([*same, neighbour]))]
    assert keys[:3] == ["a", "c", "d"]
    assert keys[-3:] == ["ab", "ac", "b"]


@pytest.mark.parametrize(
    ("title", "latex"),
    [
        pytest.param("50% of R&D #1_a", r"50\% of R\&D \#1\_a", id="specials"),
        pytest.param(r"50\% of R\&D", r"50\% of R\&D", id="escaped already"),
        pytest.param("It costs $5 and $6", r"It costs \$5 and \$6", id="money"),
        pytest.param(r"On $\alpha_{i}^2$ and $50%$", r"On $\alpha_{i}^2$ and $50\%$", id="maths"),
        pytest.param(r"Sets $\{x\}$", r"Sets $\lbrace x\rbrace $", id="printed braces in maths"),
        pytest.param(r"Broken $a_{i$ maths", r"Broken \$a\_\textbraceleft{}i\$ maths", id="broken maths"),
        pytest.param("{Bees} }", r"\textbraceleft{}Bees\textbraceright{} \textbraceright{}", id="braces"),
        pytest.param(
            r"a\b~^|<>", r"a\textbackslash{}b\textasciitilde{}\textasciicircum{}\textbar{}\textless{}\textgreater{}", id="others"
        ),
        pytest.param("机器 学习\n@misc{x,", r"机器 学习 @misc\textbraceleft{}x,", id="Chinese, a new line"),
    ],
)
def test_title_is_latex_that_prints_it(title: str, latex: str) -> None:
    assert parsed(bibtex([replace(BEES, title=title)]))[0]["title"] == f"{{{latex}}}"


def test_a_name_with_and_in_it_stays_one_author() -> None:
    bib = bibtex([replace(BEES, authors=("Black and Decker", "others", "Ann Brand", "A, B, C, D"))])
    assert parsed(bib)[0]["author"] == "{Black and Decker} and {others} and Ann Brand and {A, B, C, D}"


def test_an_address_cannot_leave_its_field() -> None:
    assert (
        parsed(bibtex([replace(BEES, urls=("https://a.org/{x}\\y?p=1%20&q#z",))]))[0]["url"]
        == "https://a.org/%7Bx%7D%5Cy?p=1%20&q#z"
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3), TEXTS, st.none() | st.integers(1900, 2100)), max_size=5))
def test_any_titles_and_authors_give_bibtex_that_parses_back(rows: list[tuple[str, list[str], str, int | None]]) -> None:
    papers = [
        Paper(str(place), title, "x", tuple(authors), year, venue, (f"https://a.org/{title}",), (f"{venue}#1",))
        for place, (title, authors, venue, year) in enumerate(rows)
    ]
    bib = bibtex(papers)
    entries = parsed(bib)
    keys = [entry["key"] for entry in entries]
    assert len(entries) == len(set(keys)) == len(papers)
    assert all(re.fullmatch(r"[a-z0-9]+", key) for key in keys)
    assert all(balances(value) for entry in entries for value in entry.values())
    assert balances(bib)
    assert bib.encode("utf-8").decode("utf-8") == bib
