"""Questions in other languages are noticed, English ones never, and names in them can be searched."""

import json
from pathlib import Path

import pytest

from rag.languages import ENGLISH, language_notice, language_of, nameable
from tests.conftest import lexical_of
from vectorstore.lexical import terms

LEXICAL = lexical_of([terms("KIVI quantizes the cache of a model"), terms("LeanEuclid is a benchmark"), terms("Zebra")])
QUESTIONS = Path(__file__).parent.parent / "eval" / "questions.jsonl"
ROWS = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Aus welchen Quellen stammen die Aufgaben im Benchmark LeanEuclid?", "German"),
        ("Wie backe ich einen Kuchen?", "German"),
        ("quelle est la capitale de la France ?", "French"),
        ("¿Cómo se limpian demostraciones imperfectas?", "Spanish"),
        ("Quanto acelera reconstruir apenas o primeiro plano das imagens?", "Portuguese"),
        ("KIVI 是什么？", "Chinese"),
        ("FORGrad는 무엇을 걸러내나요?", "Korean"),
        ("AVTrackはどう対処していますか？", "Japanese"),
        ("Что такое KIVI?", "Russian"),
    ],
)
def test_other_language_is_named(text: str, language: str) -> None:
    assert language_of(text, LEXICAL) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "KIVI",
        "LeanEuclid Momentor",
        "Newton-Schulz",
        "KIVI vs CaM",
        "wht iz kivi",
        "O(ε^-4) and α → β",
        "$\\mathcal{O}(n)$",
        "😀😀",
        "\ud800",
        "résumé screening with LLMs",
        "x" * 10_000,
    ],
)
def test_english_and_names_alone_are_english(text: str) -> None:
    assert language_of(text, LEXICAL) == ENGLISH


def test_no_english_question_of_the_development_set_is_taken_for_another_language() -> None:
    empty = lexical_of([])
    english = [row["question"] for row in ROWS if row["type"] != "language"]
    assert [text for text in english if language_of(text, empty) != ENGLISH] == []


def test_every_question_of_another_language_in_the_development_set_is_noticed() -> None:
    foreign = [row["question"] for row in ROWS if row["type"] == "language"]
    assert [text for text in foreign if language_of(text, LEXICAL) == ENGLISH] == []


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("Wie schnell ist KIVI?", "KIVI"),
        ("KIVI 是什么？", "KIVI"),
        ("Aus welchen Quellen stammen die Aufgaben im Benchmark LeanEuclid?", "Benchmark LeanEuclid"),
        ("Спасает ли KIVI 2.6x памяти?", "KIVI 2.6x"),
        ("Wie backe ich einen Kuchen?", ""),
        ("¿Quién ganó el Mundial de 2014?", ""),
        ("¿Cómo funciona AlphaFold?", ""),
        ("", ""),
        ("😀\ud800", ""),
    ],
)
def test_names_and_known_words_are_kept_where_the_collection_holds_one(text: str, searched: str) -> None:
    assert nameable(text, LEXICAL) == searched


def test_notice_says_what_was_searched_and_what_would_help() -> None:
    assert "seems to be in German" in language_notice("German", is_searched=True)
    assert "only its names and numbers were searched" in language_notice("German", is_searched=True)
    assert "no name or number" in language_notice("German", is_searched=False)
    assert "paraphrase-multilingual-MiniLM-L12-v2" in language_notice("German", is_searched=False)
