"""The chat's server: who may enter, what programs can ask of it, what it sends, and how it ends."""

import asyncio
import json
import re
import signal
import socket
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from rag.__main__ import main
from rag.assistant import Assistant
from rag.errors import SettingsError
from rag.feedback import require_writable
from rag.settings import TOKEN_OF_MCP
from rag.web.access import Door, password_line, read_auth_file
from rag.web.options import PageOptions, ServerOptions
from rag.web.server import serve
from tests.scripted_model import ZEBRA_IS_FASTER
from tests.server_process import Served, served

HOW_MUCH_FASTER = "How much faster is Zebra than Okapi?"
SECRET = "correct horse battery"
_FETCHED = re.compile(
    r"""(?i)<(?:script|link|img|iframe|source|meta)\b[^>]*?\b(?:src|href|content)=["']?(?:https?:)?//[^>]*|url\(\s*["']?(?:https?:)?//[^)]*"""
)
TOKEN = "a-long-secret-for-programs"

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat with everything on, open to everybody on this machine."""
    with served(tmp_path_factory.mktemp("server"), mcp=True) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The chat behind passwords, its MCP server behind a token."""
    folder = tmp_path_factory.mktemp("guarded")
    users = folder / "users"
    users.write_text(password_line("ada", SECRET) + "\n", encoding="utf-8")
    users.chmod(0o604)
    with served(folder, environment={TOKEN_OF_MCP: TOKEN}, mcp=True, auth_file=str(users), allow_upload="off") as running:
        yield running


def client_of(server: Served, **given: Any) -> Client:
    """Gradio's own client."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Client(server.url, verbose=False, analytics_enabled=False, **given)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"host": "0.0.0.0"}, "--auth-file"),
        ({"host": ""}, "all addresses"),
        ({"host": "::"}, "--public"),
        ({"host": "papers.example.org"}, "papers.example.org"),
        ({"port": 65536}, "port is 65536"),
        ({"port": True}, "port is True"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"max_concurrency": 41}, "from 1 to 40"),
        ({"root_path": "papers"}, "/papers"),
        ({"root_path": "//elsewhere.example"}, "root_path"),
        ({"root_path": "/a?b"}, "root_path"),
        ({"allow_upload": "all"}, "session, shared, off"),
    ],
    ids=str,
)
def test_options_that_cannot_be_served_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ServerOptions(**changes)
    assert told in str(caught.value)


@pytest.mark.parametrize("changes", [{"public": True}, {"auth_file": Path("users")}], ids=str)
def test_beyond_this_machine_needs_a_password_or_a_word(changes: dict[str, Any]) -> None:
    assert ServerOptions(host="0.0.0.0", **changes).host == "0.0.0.0"


def test_the_page_is_told_its_part_of_the_options() -> None:
    options = ServerOptions(allow_upload="off", feedback=Path("said.jsonl"), max_concurrency=3, root_path="/papers/")
    assert options.page == PageOptions(allow_upload="off", feedback=Path("said.jsonl"), max_concurrency=3)
    assert options.root_path == "/papers"


def test_a_taken_port_is_told_before_anything_is_served(small_assistant: Assistant) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"127.0.0.1:{port} .*--port {port + 1}"):
            serve(small_assistant, ServerOptions(port=port))


@pytest.mark.parametrize(
    ("host", "port", "told"),
    [
        ("no-such-host.invalid", 7860, "--host 127.0.0.1"),
        ("192.0.2.1", 7860, "--host 127.0.0.1"),
        ("127.0.0.1", "taken", "Choose another with --port"),
    ],
)
def test_where_it_cannot_listen_the_option_to_change_is_named(
    small_assistant: Assistant, host: str, port: int | str, told: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        options = ServerOptions(host=host, port=taken if port == "taken" else int(port), public=True)
        with pytest.raises(SettingsError, match="cannot listen on") as caught:
            serve(small_assistant, options)
    assert told in str(caught.value)
    assert ("--port" in str(caught.value)) != ("--host" in str(caught.value))


@pytest.mark.parametrize("place", ["missing/feedback.jsonl", "."])
def test_feedback_that_could_not_be_written_is_told_before_anything_is_served(
    small_assistant: Assistant, tmp_path: Path, place: str
) -> None:
    with pytest.raises(SettingsError, match="Feedback cannot be written to"):
        serve(small_assistant, ServerOptions(port=0, feedback=tmp_path / place))
    require_writable(tmp_path / "feedback.jsonl")
    assert (tmp_path / "feedback.jsonl").read_bytes() == b""


def test_an_auth_file_that_is_missing_is_told(small_assistant: Assistant, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        serve(small_assistant, ServerOptions(port=0, auth_file=tmp_path / "missing"))


@pytest.mark.parametrize(("token", "told"), [("", "needs a token of its own"), ("short", "16 or more")])
def test_mcp_behind_passwords_needs_a_token(
    small_assistant: Assistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, told: str
) -> None:
    users = tmp_path / "users"
    users.write_text(password_line("ada", SECRET), encoding="utf-8")
    users.chmod(0o600)
    monkeypatch.setenv(TOKEN_OF_MCP, token)
    with pytest.raises(SettingsError, match=told):
        serve(small_assistant, ServerOptions(port=0, auth_file=users, mcp=True))


def typing(monkeypatch: pytest.MonkeyPatch, *typed: str) -> None:
    """Has these passwords typed, one after the other."""
    answers = iter(typed)
    monkeypatch.setattr("getpass.getpass", lambda _: next(answers))


def test_the_password_command_prints_a_line_that_lets_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    typing(monkeypatch, SECRET, SECRET)
    assert main(["password", "ada"]) == 0
    users = tmp_path / "users"
    users.write_text(capsys.readouterr().out, encoding="utf-8")
    users.chmod(0o600)
    door = Door(read_auth_file(users))
    assert door.is_allowed("ada", SECRET)
    assert not door.is_allowed("ada", "something else")


@pytest.mark.parametrize(
    ("name", "typed", "told"),
    [("ada", (SECRET, "another one"), "differ"), ("ada", ("short", "short"), "8 to 1024"), ("a:b", (SECRET, SECRET), "'a:b'")],
)
def test_a_password_that_cannot_be_used_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, typed: tuple[str, str], told: str
) -> None:
    typing(monkeypatch, *typed)
    assert main(["password", name]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err
    assert not set(typed) & set(printed.err.split())


def test_the_options_of_the_chat_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[ServerOptions] = []
    monkeypatch.setattr("rag.commands._opened", lambda _: None)
    monkeypatch.setattr("rag.web.server.serve", lambda _, options: given.append(options))
    monkeypatch.setenv(TOKEN_OF_MCP, TOKEN)
    everything = (
        "chat --host 0.0.0.0 --port 8000 --auth-file users --root-path /papers --max-concurrency 4 --mcp --allow-upload off"
    )
    assert main([*everything.split(), "--feedback", "said.jsonl"]) == 0
    assert main(["chat", "--public"]) == 0
    assert main(["chat", "--port", "0"]) == 0
    assert given == [
        ServerOptions("0.0.0.0", 8000, Path("users"), False, "/papers", 4, True, "off", Path("said.jsonl")),
        ServerOptions(public=True),
        ServerOptions(port=0),
    ]


def test_an_unsafe_address_is_refused_before_the_index_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rag.commands._opened", lambda _: pytest.fail("opened"))
    assert main(["chat", "--host", "0.0.0.0"]) == 1
    assert "--auth-file" in capsys.readouterr().err


@slow
def test_its_health_says_how_many_papers_it_holds(server: Served) -> None:
    status, _, body = server.get("/healthz")
    assert status == 200
    health = json.loads(body)
    assert (health["status"], health["papers"]) == ("ok", 3)
    assert health["version"]


@slow
def test_one_line_says_where_the_chat_is(server: Served) -> None:
    assert server.printed().splitlines()[0] == f"The chat is on {server.url}  (Ctrl-C stops it)"
    assert "INFO" not in server.printed()


@slow
@pytest.mark.parametrize("path", ["/", "/healthz", "/config", "/no-such-page", "/theme.css"])
def test_every_page_is_kept_to_this_host(server: Served, path: str) -> None:
    _, headers, _ = server.get(path)
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == "'none'"
    assert not any("http" in sources or "*" in sources for sources in policy.values())
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@slow
def test_the_page_fetches_nothing_from_another_host(server: Served) -> None:
    _, headers, page = server.get("/")
    assert headers["content-type"].startswith("text/html")
    assert _FETCHED.search('<link rel="x" href="https://a.example">') is not None
    assert _FETCHED.search('<meta name="twitter:image" content="//a.example/x.png">') is not None
    assert _FETCHED.search("@import url( 'https://a.example/x.css')") is not None
    assert [match.group() for match in _FETCHED.finditer(page)] == []
    assert 'property="og:' not in page
    assert page.index("aa-theme") < page.index("<meta")


@slow
def test_the_page_is_the_same_when_it_is_compressed(server: Served) -> None:
    plain = httpx.get(server.url, headers={"accept-encoding": "identity"})
    packed = httpx.get(server.url, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.text) == len(plain.text)
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


@slow
@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/monitoring"])
def test_what_nobody_needs_is_not_served(server: Served, path: str) -> None:
    status, _, body = server.get(path)
    assert status in (403, 404), body[:200]


@slow
def test_a_program_asks_searches_and_lists(server: Served) -> None:
    client = client_of(server)
    answer = client.predict(question=HOW_MUCH_FASTER, api_name="/ask")
    assert (answer["status"], answer["citations"][0]["quote"]) == ("answered", ZEBRA_IS_FASTER)
    hits = client.predict(query="patience of herons", k=2, api_name="/search")
    assert len(hits) == 2
    assert hits[0]["title"].startswith("Patience of herons")
    listed = client.predict(api_name="/papers")
    assert (listed["total"], len(listed["papers"])) == (3, 3)
    assert "abstract" not in listed["papers"][0]
    second = client.predict(start=1, count=1, abstracts=True, api_name="/papers")["papers"]
    assert [paper["id"] for paper in second] == [listed["papers"][1]["id"]]
    assert second[0]["abstract"].startswith("Okapi is a neural ranker")


@slow
def test_a_program_narrows_a_question_and_follows_up(server: Served) -> None:
    client = client_of(server)
    heron = client.predict(query="herons", k=1, api_name="/search")[0]["paper"]
    narrowed = client.predict(question=HOW_MUCH_FASTER, papers=[heron], api_name="/ask")
    assert (narrowed["standalone_question"], narrowed["citations"]) == (HOW_MUCH_FASTER, [])
    assert [hit["paper"] for hit in narrowed["hits"]] == [heron]
    assert client.predict(question=HOW_MUCH_FASTER, first_year=2022, api_name="/ask")["hits"] == []
    assert client.predict(question=HOW_MUCH_FASTER, where=["year>=2022"], api_name="/ask")["hits"] == []
    assert client.predict(where=["title~okapi"], collection="default", api_name="/papers")["total"] == 1
    history = [{"question": "What is Okapi?", "answer": "Okapi is a neural ranker."}]
    followed = client.predict(question="Which accuracy does it reach?", history=history, api_name="/ask")
    assert "Okapi" in followed["standalone_question"]


@slow
@pytest.mark.parametrize(
    ("endpoint", "given", "told"),
    [
        ("/ask", {"question": 5}, "question must be text"),
        ("/ask", {"question": "x" * 4001}, "4001 characters"),
        ("/ask", {"question": "herons?", "history": [["a", "b"]]}, "Each turn"),
        ("/ask", {"question": "herons?", "history": "before"}, "history must be a list"),
        ("/ask", {"question": "herons?", "papers": ["0" * 16]}, "No paper has the id"),
        ("/ask", {"question": "herons?", "first_year": "2020"}, "first_year must be a whole number"),
        ("/ask", {"question": "herons?", "answerer": "openai:gpt-9"}, "none of the answerers"),
        ("/search", {"query": "herons", "k": 0}, "k must be a whole number from 1 to 100"),
        ("/search", {"query": "herons", "k": 1.5}, "k must be a whole number"),
        ("/search", {"query": "herons", "where": ["venu=x"]}, "there is no field 'venu'"),
        ("/search", {"query": "herons", "collection": "moss"}, "no collection 'moss'. There are: default"),
        ("/papers", {"count": 1001}, "count must be"),
        ("/papers", {"start": -1}, "start must be"),
    ],
    ids=lambda value: None if isinstance(value, str) and value.startswith("/") else str(value)[:40],
)
def test_a_wrong_argument_is_explained(server: Served, endpoint: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(AppError, match=told):
        client_of(server).predict(**given, api_name=endpoint)


@slow
def test_the_endpoints_are_named_and_documented(server: Served) -> None:
    described = client_of(server).view_api(return_format="dict")["named_endpoints"]
    assert set(described) == {"/ask", "/search", "/papers"}
    parameters = {name: [one["parameter_name"] for one in told["parameters"]] for name, told in described.items()}
    assert parameters["/search"] == ["query", "k", "where", "collection"]
    assert parameters["/ask"][:2] == ["question", "history"]
    assert described["/ask"]["description"].startswith("Answers a question from the paper abstracts")


@slow
def test_twenty_programs_at_once_all_get_their_own_answer(server: Served) -> None:
    questions = [HOW_MUCH_FASTER + "?" * number for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        clients = list(pool.map(lambda _: client_of(server), questions))
        answers = list(pool.map(lambda one: one[0].predict(question=one[1], api_name="/ask"), zip(clients, questions, strict=True)))
    assert [answer["question"] for answer in answers] == questions
    assert all(answer["citations"][0]["quote"] == ZEBRA_IS_FASTER for answer in answers)


@slow
def test_behind_passwords_nothing_is_told_without_one(guarded: Served) -> None:
    assert guarded.get("/healthz")[0] == 200
    assert "Zebra" not in guarded.get("/")[2]
    for path in ("/config", "/gradio_api/info", "/gradio_api/openapi.json"):
        assert guarded.get(path)[0] == 401
    joined = httpx.post(
        f"{guarded.url}/gradio_api/queue/join", json={"data": [HOW_MUCH_FASTER], "fn_index": 0, "session_hash": "x"}
    )
    assert joined.status_code == 401


@slow
@pytest.mark.parametrize("given", [("ada", "wrong password"), ("bob", SECRET)], ids=["wrong password", "unknown name"])
def test_a_wrong_password_is_refused(guarded: Served, given: tuple[str, str]) -> None:
    with pytest.raises(Exception, match=r"(?i)could not login|credentials"):
        client_of(guarded, auth=given)


@slow
def test_the_right_password_lets_in(guarded: Served) -> None:
    answer = client_of(guarded, auth=("ada", SECRET)).predict(question=HOW_MUCH_FASTER, api_name="/ask")
    assert answer["status"] == "answered"


@slow
def test_an_auth_file_open_to_all_is_told_at_the_start(guarded: Served) -> None:
    assert "chmod 600" in guarded.printed()
    assert SECRET not in guarded.printed()


@slow
def test_files_are_taken_only_where_visitors_may_add_some(guarded: Served, server: Served) -> None:
    files = {"files": ("a.txt", b"An abstract.")}
    assert httpx.post(f"{guarded.url}/gradio_api/upload", files=files).status_code == 403
    assert httpx.post(f"{server.url}/gradio_api/upload", files=files).status_code == 200


def mcp_call(server: Served, tool: str = "", *, token: str = "", path: str = "/mcp", **given: Any) -> Any:
    """What MCP's own client gets from a tool, or the list of tools."""

    async def call() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx.AsyncClient(headers=headers) as http,
            streamable_http_client(server.url + path, http_client=http) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return await session.call_tool(tool, given) if tool else (await session.list_tools()).tools

    return asyncio.run(call())


@slow
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_the_tools_are_listed_with_what_they_take(server: Served, path: str) -> None:
    tools = {tool.name: tool for tool in mcp_call(server, path=path)}
    assert set(tools) == {"ask", "search", "papers"}
    assert tools["ask"].inputSchema["required"] == ["question"]
    assert set(tools["search"].inputSchema["properties"]) == {"query", "k", "where", "collection"}
    assert "exact quote" in tools["ask"].description


@slow
def test_each_tool_answers(server: Served) -> None:
    answer = mcp_call(server, "ask", question=HOW_MUCH_FASTER)
    assert answer.structuredContent["citations"][0]["quote"] == ZEBRA_IS_FASTER
    assert json.loads(answer.content[0].text)["status"] == "answered"
    assert mcp_call(server, "papers", where=["year<2021"], collection="default").structuredContent["total"] == 0
    hits = mcp_call(server, "search", query="patience of herons", k=1).structuredContent["result"]
    assert [hit["title"] for hit in hits] == ["Patience of herons with a Bayesian model of waiting time"]
    assert mcp_call(server, "papers", count=1).structuredContent["total"] == 3


@slow
def test_a_tool_explains_a_wrong_argument(server: Served) -> None:
    result = mcp_call(server, "search", query="herons", k=1000)
    assert result.isError
    assert "from 1 to 100" in result.content[0].text


@slow
def test_a_page_elsewhere_cannot_reach_the_tools_by_a_name_of_its_own(server: Served) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    assert httpx.post(f"{server.url}/mcp", json=request, headers=headers).status_code == 200
    assert httpx.post(f"{server.url}/mcp", json=request, headers=headers | {"host": "evil.example"}).status_code == 421
    assert httpx.post(f"{server.url}/mcp", json=request, headers=headers | {"origin": "https://evil.example"}).status_code == 403


@slow
def test_the_tools_behind_passwords_want_the_token(guarded: Served) -> None:
    assert mcp_call(guarded, "papers", token=TOKEN).structuredContent["total"] == 3
    for path in ("/mcp", "/mcp/"):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
            refused = httpx.post(guarded.url + path, json={}, headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@slow
def test_without_mcp_there_are_no_tools_and_under_a_path_the_page_names_it(tmp_path: Path) -> None:
    with served(tmp_path / "under", root_path="/papers") as running:
        assert running.get("/mcp")[0] in (404, 405)
        assert json.loads(running.get("/config")[2])["root"] == f"{running.url}/papers"
        behind = json.loads(running.get("/config", **{"x-forwarded-host": "example.org", "x-forwarded-proto": "https"})[2])
        assert behind["root"] == "https://example.org/papers"


@slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_in_the_middle_of_an_answer_lets_it_finish(tmp_path: Path, number: signal.Signals) -> None:
    with served(tmp_path / "ending", model_seconds=3.0, grace_seconds=60.0, mcp=True) as running:
        client = client_of(running)
        job = client.submit(question=HOW_MUCH_FASTER, api_name="/ask")
        time.sleep(1.0)
        asked = time.monotonic()
        running.process.send_signal(number)
        time.sleep(0.5)
        for path in ("/gradio_api/queue/join", "/gradio_api/call/ask", "/gradio_api/call/v2/ask", "/mcp"):
            assert httpx.post(running.url + path, json={"data": ["Late?"]}).status_code == 503
        assert running.get("/healthz")[0] == 503
        answer = job.result(timeout=20)
        assert (answer["model"], answer["status"]) != ("quotes", "answered"), "the model's answer was cut short"
        assert answer["citations"][0]["quote"] == ZEBRA_IS_FASTER
        assert running.process.wait(timeout=30) == 0
        assert time.monotonic() - asked < 45, "it waited although nothing ran"
        assert "Traceback" not in running.printed()


@slow
def test_the_end_comes_also_when_an_answer_takes_too_long(tmp_path: Path) -> None:
    with served(tmp_path / "endless", model_seconds=60.0, grace_seconds=3.0) as running:
        job = client_of(running).submit(question=HOW_MUCH_FASTER, api_name="/ask")
        time.sleep(1.0)
        asked = time.monotonic()
        running.process.terminate()
        answer = job.result(timeout=30)
        assert (answer["model"], answer["status"]) == ("quotes", "answered")
        assert running.process.wait(timeout=30) == 0
        assert 3 < time.monotonic() - asked < 40, "it waited for the model"


@slow
def test_nothing_of_a_visit_is_kept_when_it_has_ended(tmp_path: Path) -> None:
    with served(tmp_path / "forgetting") as running:
        client = client_of(running)
        answer = client.predict(question="How much faster is Zebra than the quagga?", api_name="/ask")
        assert "quagga" in answer["question"]
        client.close()
        client_of(running).predict(
            question=HOW_MUCH_FASTER, api_name="/ask"
        )  # the frames of the last call hold on to it until the next
        deadline = time.monotonic() + 40  # Gradio notices within 15 seconds that a client has gone
        while time.monotonic() < deadline and kept_of(running, "quagga") != {"sessions": 1, "texts": 0}:
            time.sleep(0.5)
        assert kept_of(running, "quagga") == {"sessions": 1, "texts": 0}


def kept_of(server: Served, word: str) -> Any:
    """How many visits a server knows, and how many texts with that word are in its memory."""
    asked = server.output.with_name("asked.txt")
    told = server.output.with_name("kept.json")
    told.unlink(missing_ok=True)
    asked.write_text(word, encoding="utf-8")
    server.process.send_signal(signal.SIGUSR1)
    while not told.exists():
        time.sleep(0.05)
    return json.loads(told.read_text(encoding="utf-8"))


@slow
def test_no_file_of_the_machine_is_taken_for_an_upload(tmp_path: Path) -> None:
    secret, temporary = tmp_path / "secret.txt", tmp_path / "temporary"
    secret.write_text(SECRET, encoding="utf-8")
    temporary.mkdir()
    forged = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    with served(tmp_path / "served", environment={"TMPDIR": str(temporary)}) as server:
        events = [event for event in json.loads(server.get("/config")[2])["dependencies"] if event["inputs"]]
        for event in events:
            visit = {"fn_index": event["id"], "session_hash": f"forged{event['id']}"}
            given = visit | {"data": [forged] * len(event["inputs"]), "event_data": None, "trigger_id": None}
            assert httpx.post(f"{server.url}/gradio_api/queue/join", json=given, timeout=20).status_code == 200
            with httpx.stream("GET", f"{server.url}/gradio_api/queue/data", params=visit, timeout=20) as told:
                answered = "".join(_until_done(told.iter_lines()))
            assert "/gradio_api/file=" not in answered
        assert events
        assert not [file for file in temporary.rglob("*") if file.is_file() and SECRET in file.read_text(errors="replace")]


def _until_done(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if "process_completed" in line or "unexpected_error" in line:
            return
