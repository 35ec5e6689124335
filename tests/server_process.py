"""The chat's server in a process of its own, over the small collection, with a model that takes its time.

`python -m tests.server_process FOLDER SECONDS OPTIONS`: the folder holds the collection; the model takes so many seconds for an
answer; OPTIONS are those of `ServerOptions`, as JSON. The process behaves as `askabstracts chat` does when signals arrive.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag.errors import AskAbstractsError
from tests.scripted_model import ANIMALS, ZEBRA_IS_FASTER, Part, ScriptedLLM, assistant_over, with_llm

ROOT = Path(__file__).resolve().parent.parent
_START_SECONDS = 60
_PIECES = 20


class UnhurriedLLM(ScriptedLLM):
    """Writes its answer over a number of seconds."""

    def __init__(self, text: str, *, seconds: float) -> None:
        super().__init__(text, step=max(1, len(text) // _PIECES))
        self.seconds = seconds

    def stream_chat(self, messages: Sequence[Any]) -> Iterator[Part]:
        """The answer, piece by piece."""
        for part in super().stream_chat(messages):
            time.sleep(self.seconds / _PIECES)
            yield part


@dataclass(frozen=True)
class Served:
    """A running server: where it is, its process, and the file with what it printed."""

    url: str
    process: "subprocess.Popen[bytes]"
    output: Path

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers (lower case) and text of a page."""
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return response.status, {name.lower(): value for name, value in response.headers.items()}, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read().decode()

    def printed(self) -> str:
        """What the server printed, on both streams."""
        return self.output.read_text(encoding="utf-8", errors="replace")


@contextmanager
def served(
    folder: Path, *, model_seconds: float = 0.0, environment: dict[str, str] | None = None, **options: Any
) -> Iterator[Served]:
    """A server over the small collection, on a free port, ended afterwards."""
    folder.mkdir(exist_ok=True)
    command = ["-m", "tests.server_process", str(folder), str(model_seconds), json.dumps({"port": 0} | options)]
    with running(command, folder / "output.txt", environment=environment) as server:
        yield server


@contextmanager
def running(command: Sequence[str], output: Path, *, environment: dict[str, str] | None = None) -> Iterator[Served]:
    """What `python COMMAND` serves, ended afterwards; what it prints goes into the file `output`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASKABSTRACTS_")}
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=inherited | (environment or {}), stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield Served(_address(process, output), process, output)
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[bytes]", output: Path) -> str:
    """Where the server is, once it answers."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        _, is_there, rest = output.read_text(encoding="utf-8", errors="replace").partition("The chat is on ")
        if is_there and "\n" in rest:
            url = rest.split()[0]
            try:
                with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                    return url
            except (urllib.error.URLError, OSError):
                pass
        time.sleep(0.05)
    pytest.fail(f"the chat was not served:\n{output.read_text(encoding='utf-8', errors='replace')[-3000:]}")


def _tell_what_is_kept(folder: Path) -> None:
    """Writes to kept.json how many visits the page knows and how many texts in memory hold the word in asked.txt."""
    word = (folder / "asked.txt").read_text(encoding="utf-8")
    gc.collect()
    sessions, texts = 0, 0
    for held in gc.get_objects():
        if type(held).__name__ == "StateHolder":
            sessions = max(sessions, len(held.session_data))
        values = held.values() if type(held) is dict else held if type(held) in (list, tuple, set) else ()
        texts += sum(isinstance(value, str) and word in value and value != word for value in list(values))
    partial = folder / "kept.part"
    partial.write_text(json.dumps({"sessions": sessions, "texts": texts}), encoding="utf-8")
    partial.rename(folder / "kept.json")


def _main() -> int:
    from rag.web import server
    from rag.web.options import ServerOptions

    folder, seconds, given = Path(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
    for name in ("auth_file", "feedback"):
        if given.get(name):
            given[name] = Path(given[name])
    server.GRACE_SECONDS = given.pop("grace_seconds", server.GRACE_SECONDS)
    signal.signal(signal.SIGUSR1, lambda *_: _tell_what_is_kept(folder))
    assistant = assistant_over(ANIMALS, folder)
    if seconds:
        assistant = with_llm(assistant, UnhurriedLLM(f"{ZEBRA_IS_FASTER} [1]", seconds=seconds))
    try:
        server.serve(assistant, ServerOptions(**given))
    except AskAbstractsError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
