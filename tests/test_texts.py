"""The page's words: every one in both languages, with the same places to fill."""

import re
import string
from pathlib import Path

import pytest

from rag.web.papers_texts import PAPERS_TEXTS
from rag.web.texts import _OWN, _TEXTS, I18N, language_of, say
from rag.web.upload_texts import UPLOAD_TEXTS

HAN = re.compile("[\u4e00-\u9fff]")
SAME_IN_BOTH = {"markdown", "bibtex", "stop_mark"}  # the last without a Chinese letter
WEB = Path(__file__).parent.parent / "rag" / "web"


def places(text: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("key", sorted(_TEXTS))
def test_a_text_is_there_in_both_languages_with_the_same_places(key: str) -> None:
    english, chinese = _TEXTS[key]
    assert english.strip() == english != ""
    assert chinese.strip() == chinese != ""
    assert places(english) == places(chinese)
    assert not HAN.search(english)
    assert HAN.search(chinese) or key in SAME_IN_BOTH


def test_no_key_means_two_things() -> None:
    assert len(_TEXTS) == len(_OWN) + len(PAPERS_TEXTS) + len(UPLOAD_TEXTS)


def test_the_browser_gets_every_text_in_both_languages() -> None:
    translated = I18N.translations_dict
    assert set(translated["en"]) == set(translated["zh-CN"]) == {f"aa_{key}" for key in _TEXTS}


def test_every_text_is_used_somewhere() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in WEB.glob("*.py") if not path.stem.endswith("texts"))
    made = re.compile(
        "papers_(?:title|authors|venue|year|source)|upload_(?:intro|next)_|stage_|answered|not_found|silent|premise|invalid"
    )
    assert [key for key in sorted(_TEXTS) if f'"{key}"' not in code and f"'{key}'" not in code and not made.match(key)] == []


@pytest.mark.parametrize(
    ("tag", "language"),
    [("zh", "zh"), ("zh-CN", "zh"), ("ZH-tw", "zh"), ("en", "en"), ("de", "en"), ("", "en"), (None, "en"), (5, "en")],
)
def test_chinese_browsers_are_spoken_to_in_chinese_and_others_in_english(tag: object, language: str) -> None:
    assert language_of(tag) == language


def test_a_text_is_filled_in() -> None:
    assert say("welcome", papers=85).startswith("Ask 85 paper abstracts.")
    assert say("welcome", "zh", papers=85).startswith("向 85 篇")
