"""What the program says with an answer: how many papers took part, and all of it in Chinese where the page is Chinese."""

import re
from string import Formatter

import pytest

from rag.answer import Answer
from rag.answering import said
from rag.assistant import Assistant
from rag.filters import PaperFilter
from rag.questions import fault, read_question
from rag.web.notices import notices_in
from rag.web.render import answer_html

RECIPE = "What is the best recipe for carrot cake?"
TEMPLATES = [value for name, value in vars(said).items() if name.isupper() and name[0] != "_"]


def told(*notices: str) -> list[str]:
    return notices_in(Answer("?", "?", "not_found", "", (), (), notices, "quotes"), "zh")


def filled(template: str) -> str:
    return template.format(**{name: "7" for _, name, _, _ in Formatter().parse(template) if name})


@pytest.mark.parametrize(("papers", "said_of_them"), [
    (1, ["The one abstract that was searched does not seem", "Only 1 of 3 papers was searched; clear the filter to ask all."]),
    (2, ["None of the 2 abstracts", "Only 2 of 3 papers were searched; clear the filter to ask all."]),
    (3, ["None of the 3 abstracts"]),
])  # fmt: skip
def test_a_refusal_counts_the_papers_that_took_part(small_assistant: Assistant, papers: int, said_of_them: list[str]) -> None:
    ids = frozenset(paper.id for paper in small_assistant.papers[:papers])
    notices = small_assistant.ask(RECIPE, papers=PaperFilter(ids=ids)).notices
    assert len(notices) == len(said_of_them) + 1
    for notice, start in zip(notices, said_of_them, strict=False):
        assert notice.startswith(start)
    assert notices[-1].startswith("The nearest papers: ")


def test_where_no_paper_takes_part_that_is_said(small_assistant: Assistant) -> None:
    *_, notice = small_assistant.ask(RECIPE, papers=PaperFilter(first_year=2999)).notices
    assert notice == "No paper meets the filter, so none of the 3 abstracts was searched; clear the filter to ask all."


@pytest.mark.parametrize("template", TEMPLATES)
def test_everything_said_has_its_chinese(template: str) -> None:
    [chinese] = told(filled(template))
    assert re.search("[\u4e00-\u9fff]", chinese)
    plain = re.sub("`[^`]*`|ASKABSTRACTS_EMBEDDER=[^,]*", "", chinese)
    assert not re.search("[A-Za-z]", plain)
    assert chinese.count("7") == filled(template).count("7")


@pytest.mark.parametrize("question", ["", "?!", "the of", "cat cat cat", "aaaaaa"])
def test_why_a_question_cannot_be_searched_is_said_in_chinese(question: str) -> None:
    reason = fault(read_question(question))
    assert reason
    assert not re.search("[A-Za-z]", told(reason)[0])


def test_a_refusal_is_chinese_but_for_the_papers_and_the_question(small_assistant: Assistant) -> None:
    made = answer_html(small_assistant.ask(RECIPE), turn=1, language="zh")
    refusal = made[made.index('<div class="refusal') : made.index('<ul class="nearest"')]
    assert "集合里没有。" in refusal
    text = re.sub("<[^>]*>|“.*?”", "", refusal)
    assert not re.search("[A-Za-z]{2}", text)


def test_what_a_model_did_is_said_sentence_by_sentence() -> None:
    assert told("tiny was shown 3 of the 7 papers. It found no answer in them.") == [
        "给 tiny 看了 7 篇论文中的 3 篇。它在其中没有找到答案。"
    ]
    assert told("Something else: 5.") == ["Something else: 5."]
