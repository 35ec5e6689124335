"""compose.yaml: its form, and that what it sets is what the program takes. No container is started."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.__main__ import _parser
from rag.settings import Settings

COMPOSE = Path(__file__).parent.parent / "compose.yaml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"])


def test_every_name_that_is_used_is_defined(services: dict[str, Any]) -> None:
    whole = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    mounted = {mount.split(":")[0] for service in services.values() for mount in service.get("volumes", ())}
    assert {name for name in mounted if not name.startswith(".")} == set(whole["volumes"])
    assert set(services["chat"]["secrets"]) == set(whole["secrets"])
    assert set(services["chat"]["depends_on"]) == set(services) - {"chat"}


def test_its_settings_are_settings_of_the_program(services: dict[str, Any]) -> None:
    settings = Settings.from_env(services["chat"]["environment"])
    assert settings.store == "http://chroma:8000"
    assert settings.llm == "qwen3:4b@http://models:11434/v1"


def test_the_server_is_the_version_that_the_client_is_pinned_to(services: dict[str, Any]) -> None:
    pinned = (COMPOSE.parent / "requirements.lock").read_text(encoding="utf-8")
    assert f"chromadb=={services['chroma']['image'].rpartition(':')[2]}\n" in pinned


def test_the_chats_command_is_one_that_the_program_takes(services: dict[str, Any]) -> None:
    python, file, *arguments = shlex.split(services["chat"]["command"])
    assert (python, file) == ("python", "app.py")
    assert _parser().parse_args(["chat", *arguments]).host == "0.0.0.0"
