"""Nothing leaves the machine: neither a look at a model hub nor telemetry."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = """
import json, sys

tried = []

def refuse(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        host = arguments[1][0] if isinstance(arguments[1], tuple) else "local"
    else:
        return
    if host not in (None, "", "localhost", "127.0.0.1", "::1", "local"):
        tried.append([event, str(host)])
        raise OSError(f"no network: {event} {host}")

sys.addaudithook(refuse)
from rag import Assistant, Settings

assistant = Assistant.open(Settings(store=sys.argv[1]))
answer = assistant.ask("How can the key-value cache of a language model be quantized?")
json.dump({"tried": tried, "papers": len(assistant.papers), "status": answer.status, "citations": len(answer.citations)}, sys.stdout)
"""


@pytest.mark.slow
def test_indexing_and_answering_by_default_use_no_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path / "store")],
        cwd=Path(__file__).parent.parent,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["tried"] == []
    assert (told["papers"], told["status"]) == (85, "answered")
    assert told["citations"] > 0
