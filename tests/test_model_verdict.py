"""What the evidence was judged to say stands against a model's words, unless what it cites answers the judgement."""

import copy
from dataclasses import replace

import pytest

from rag import Answer, Assistant, Settings
from rag.answering.abstention import Verdict
from rag.answering.compose import Found, _verdict_stands
from rag.answering.evidence import choose, named_rows
from rag.answering.llm import make_prompt
from rag.answering.model_answer import Written
from rag.answering.models import make_model
from rag.planning import Plan
from rag.questions import read_question
from rag.search import candidates
from tests.scripted_model import ABOUT_OKAPI, ANIMALS, OFF_TOPIC, ScriptedLLM, assistant_over, with_llm


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    return assistant_over(ANIMALS, tmp_path_factory.mktemp("verdict"))


def found_for(assistant: Assistant, question: str) -> Found:
    return Found(Plan(question, read_question(question)), (), Verdict("silent"), assistant.index)


def split(answer: Answer) -> tuple[Answer, Answer]:
    """The answer with its first citation alone, and with the others."""
    return replace(answer, citations=answer.citations[:1]), replace(answer, citations=answer.citations[1:])


def test_premise_stands_unless_the_model_cites_what_contradicts_it(assistant: Assistant) -> None:
    quotes, others = split(replace(assistant.ask(ABOUT_OKAPI), status="premise"))
    found = found_for(assistant, ABOUT_OKAPI)
    assert _verdict_stands(quotes, Written(citations=others.citations), found)
    assert not _verdict_stands(quotes, Written(citations=quotes.citations), found)


def test_silence_stands_unless_the_model_cites_another_sentence_that_holds_what_is_asked(assistant: Assistant) -> None:
    answer = assistant.ask(ABOUT_OKAPI)
    figure = [one for one in answer.citations if "71.2%" in one.quote]
    rest = tuple(one for one in answer.citations if "71.2%" not in one.quote)
    nearest = replace(answer, status="silent", citations=rest[:1])
    found = found_for(assistant, "What accuracy does Okapi reach?")
    assert not _verdict_stands(nearest, Written(citations=tuple(figure)), found)
    assert _verdict_stands(nearest, Written(citations=nearest.citations), found)
    assert _verdict_stands(
        nearest, Written(citations=tuple(figure)), found_for(assistant, "How many GPUs does Okapi need to train?")
    )


def test_answered_question_is_the_models(assistant: Assistant) -> None:
    assert not _verdict_stands(assistant.ask(ABOUT_OKAPI), Written(), found_for(assistant, ABOUT_OKAPI))


def test_unsupported_sentences_are_counted_where_quotes_answer(assistant: Assistant) -> None:
    answer = with_llm(assistant, ScriptedLLM(f"# Bananas\n{OFF_TOPIC} [1]"), unsupported="show").ask(ABOUT_OKAPI)
    assert answer.model == "quotes"
    assert "(1 sentence)" in answer.notices[-1]


def test_each_paper_that_a_comparison_names_is_quoted_and_shown_to_the_model(assistant: Assistant) -> None:
    question = read_question("How does the Okapi differ from a Zebra?")
    query = assistant.embedder.encode_query(question.searched)
    index = copy.copy(assistant.index)
    titles = {paper.id: name for paper, name in zip(index.papers, ("Zebra", "Okapi", "Heron"), strict=True)}
    index.papers = tuple(replace(paper, title=titles[paper.id]) for paper in index.papers)
    first, *others = candidates(question, query, index, assistant.coefficients, limit=10)
    ranked = [first, *(replace(one, share=1e-6) for one in others)]
    named = named_rows(question, ranked, index)
    assert sorted(index.papers[row].title for row in named) == ["Okapi", "Zebra"]
    evidence = choose(question, query, ranked, index, assistant.coefficients, max_quotes=2, max_papers=2)
    assert {one.row for one in evidence} == set(named)
    model = make_model(Settings(llm=ScriptedLLM("")))
    assert model is not None
    prompt = make_prompt("?", evidence[:1], ranked, index, model, max_papers=2, named=named)
    assert {one.row for one in prompt.shown} == set(named)
