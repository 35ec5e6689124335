"""What the README shows is run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=[f"block {number}" for number, _ in enumerate(PYTHON_BLOCKS, start=1)])
def test_every_python_example_runs(block: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "ASKABSTRACTS_STORE": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_every_named_file_exists() -> None:
    tree = README.split("## Where things are")[1].split("## How to change")[0]
    names = re.findall(r"^ {6}((?:[a-z_]+(?:\.py|/)(?:, )?)+)", tree, re.MULTILINE)
    listed = [name for line in names for name in line.split(", ")]
    assert len(listed) > 10
    assert [name for name in listed if not (ROOT / "rag" / name).exists()] == []


def test_pictures_and_commands_exist() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    targets = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
