"""Another embedder is swapped in when it is good enough, and not when it misses a gate."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.swap import SwapRefusedError, swap
from rag import Assistant, Settings
from rag.place import published_passport

pytestmark = pytest.mark.slow
NO_GATE = "gate = []\n"
HARD_GATE = '[[gate]]\ngroup = "lookups"\nmetric = "R@1"\nleast = 1.01\n'


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Three of the development questions."""
    path = tmp_path / "questions.jsonl"
    lines = (Path(__file__).parent.parent / "eval" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([line for line in lines if '"fact"' in line][:3]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("gates", "window"), [pytest.param(NO_GATE, 64, id="good enough"), pytest.param(HARD_GATE, 512, id="a gate is missed")]
)
def test_another_embedder_is_swapped_in_only_when_no_gate_is_missed(
    tmp_path: Path, questions: Path, capsys: pytest.CaptureFixture[str], gates: str, window: int
) -> None:
    settings = Settings(store=str(tmp_path / "store"))
    serving = Assistant.open(settings)
    (tmp_path / "gates.toml").write_text(gates, encoding="utf-8")
    another = replace(settings, embedder="all-MiniLM-L6-v2", window_tokens=64)  # other vectors, so another passport
    if gates == HARD_GATE:
        with pytest.raises(SwapRefusedError, match="not published"):
            swap(another, questions, tmp_path / "gates.toml", tmp_path / "reports")
    else:
        swap(another, questions, tmp_path / "gates.toml", tmp_path / "reports")
    passport = published_passport(settings)
    assert passport is not None
    assert passport.embedder["window"] == window
    assert "3 questions in both" in capsys.readouterr().out
    assert serving.ask("What is Lookahead decoding?").status == "answered"
