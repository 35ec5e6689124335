"""Passwords: read from a file that says what is wrong with it, checked in the same work for every name, and never shown."""

import asyncio
import os
import threading
from collections.abc import Mapping
from pathlib import Path

import argon2
import pytest

from rag.errors import SettingsError
from rag.web import access
from rag.web.access import Door, hash_password, password_line, read_auth_file, require_safe_binding

SECRET = "correct horse battery"
ADA = f"ada:{hash_password(SECRET)}"


class Clock:
    """Seconds that pass when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least work that a file may ask for; the real one takes half a second here."""
    monkeypatch.setattr(access, "_HASHER", argon2.PasswordHasher(memory_cost=18_000, time_cost=2, parallelism=1))


@pytest.fixture
def users() -> Mapping[str, str]:
    return {"ada": hash_password(SECRET)}


def auth_file(folder: Path, content: str | bytes, *, mode: int = 0o600) -> Path:
    path = folder / "users"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def test_a_line_made_for_a_name_lets_that_name_in(tmp_path: Path) -> None:
    lines = (
        f"\ufeff# the readers\r\n\r\n{password_line('ada', SECRET)}\r\n  {password_line('陈.bo@example.org', 'p:a:s:s word')}  \n"
    )
    users = read_auth_file(auth_file(tmp_path, lines))
    assert list(users) == ["ada", "陈.bo@example.org"]
    door = Door(users)
    assert door.is_allowed("ada", SECRET)
    assert door.is_allowed("陈.bo@example.org", "p:a:s:s word")
    assert not door.is_allowed("ada", "p:a:s:s word")
    assert SECRET not in lines


def test_a_password_is_the_same_however_a_keyboard_writes_it() -> None:
    users = dict([password_line("zoe\u0301", "cafe\u0301 １２３４").split(":", 1)])
    assert list(users) == ["zoé"]
    assert Door(users).is_allowed("zoe\u0301", "caf\u00e9 1234")


def test_new_hashes_follow_the_second_choice_of_rfc_9106() -> None:
    assert argon2.extract_parameters(ADA.split(":", 1)[1]) == argon2.profiles.RFC_9106_LOW_MEMORY


def test_two_hashes_of_one_password_differ() -> None:
    assert hash_password(SECRET) != hash_password(SECRET)


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (f"{ADA}\nada", 2, "not a name:hash line"),
        (f"{ADA}\n:{ADA}", 2, "not a name:hash line"),
        (f"{ADA}\nada lovelace{ADA[3:]}", 2, "not a name:hash line"),
        (f"{'a' * 65}{ADA[3:]}", 1, "not a name:hash line"),
        (f"# me\nada:{SECRET}", 2, "the password is not hashed"),
        ("ada:", 1, "the password is not hashed"),
        (f"{SECRET}:ada", 1, "not a name:hash line"),
        ("hunter2hunter2:ada", 1, "the password is not hashed"),
        (ADA[:-3], 1, "the hash is damaged"),
        (ADA[:-1] + "~", 1, "the hash is damaged"),
        (ADA[:-1] + "/", 1, "the hash is damaged"),
        ("ada:$2b$12$abcdefghijklmnopqrstuv", 1, "not of argon2id"),
        (ADA.replace("argon2id", "argon2i"), 1, "not of argon2id"),
        (ADA.replace("m=65536", "m=1024"), 1, "too weak"),
        (ADA.replace("m=65536", "m=99999999"), 1, "too much work"),
        (ADA.replace("t=3", "t=999999"), 1, "too much work"),
        (ADA.replace("p=4", "p=0"), 1, "too much work"),
        (f"{ADA}\n\n{ADA}", 3, "'ada' stands there already"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) and ADA[4:20] not in value and len(value) < 40 else ""
    ),  # a hash is another in every process
)
def test_a_bad_line_is_named_by_file_and_number_and_never_quoted(tmp_path: Path, lines: str, line: int, message: str) -> None:
    path = auth_file(tmp_path, lines)
    with pytest.raises(SettingsError, match=message) as caught:
        read_auth_file(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    for secret in (SECRET, "hunter2", ADA[4:], "argon2id$"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n \n# only a remark\n"])
def test_a_file_that_names_nobody_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(SettingsError, match=r"users names nobody. Add a line with: askabstracts password NAME >>"):
        read_auth_file(auth_file(tmp_path, content))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError, match=f"{path} cannot be read .{reason}"):
            read_auth_file(path)
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_auth_file(auth_file(tmp_path, b"\xff\xfe\x00"))
    with pytest.raises(SettingsError, match="larger than 1,000,000 bytes"):
        read_auth_file(auth_file(tmp_path, "#" * 1_000_001))


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems keep who may read in the mode")
@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602])
def test_a_file_open_to_everybody_is_read_with_a_warning(tmp_path: Path, mode: int) -> None:
    with pytest.warns(UserWarning, match="Everybody on this machine can read or change .*chmod 600"):
        assert "ada" in read_auth_file(auth_file(tmp_path, ADA, mode=mode))


def test_names_and_passwords_that_cannot_be_used_are_refused_without_showing_them() -> None:
    for name in ("", "ada lovelace", "a:b", "#ada", "a" * 65, "ada\n", "-"):
        with pytest.raises(SettingsError, match="cannot be a name"):
            password_line(name, SECRET)
    for password in ("", "hunter2", "h" * 1025):
        with pytest.raises(SettingsError, match="8 to 1024 characters") as caught:
            hash_password(password)
        assert not password or password not in str(caught.value)
    with pytest.raises(SettingsError, match="not text") as caught:
        hash_password("\udcff" * 8)
    assert caught.value.__cause__ is None


def test_the_longest_password_works_and_a_longer_one_with_the_same_beginning_does_not() -> None:
    longest = "é" * 1024
    door = Door({"ada": hash_password(longest)})
    assert door.is_allowed("ada", longest)
    assert not door.is_allowed("ada", longest + "é")
    assert not door.is_allowed("ada", "é" * 1_000_000)
    assert not door.is_allowed("ada", "\udcff" * 8)


def test_an_unknown_name_costs_the_same_work_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cheaper = argon2.PasswordHasher(memory_cost=20_000, time_cost=2)
    door = Door({"ada": cheaper.hash(SECRET), "bob": cheaper.hash(SECRET), "eve": ADA.split(":", 1)[1]})
    checked: list[str] = []
    verify = argon2.PasswordHasher.verify

    def noted(self: argon2.PasswordHasher, hash: str | bytes, password: str | bytes) -> bool:
        checked.append(str(hash))
        return verify(self, hash, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", noted)
    for name in ("ada", "nobody", "", "n" * 100_000):
        assert not door.is_allowed(name, "a wrong password")
    assert len({argon2.extract_parameters(one).memory_cost for one in checked}) == 1
    assert len(checked) == 4


def test_ten_failures_of_a_name_make_it_wait_a_minute(monkeypatch: pytest.MonkeyPatch, users: Mapping[str, str]) -> None:
    checks: list[str] = []

    def noted(hashed: str, password: str) -> bool:
        checks.append(hashed)
        return password == SECRET

    monkeypatch.setattr(access, "_is_right", noted)
    clock = Clock()
    door = Door(users, clock=clock)
    for name in ("ada", "nobody"):
        for _ in range(10):
            assert not door.is_allowed(name, "wrong")
            clock.now += 1
    assert len(checks) == 20
    assert not door.is_allowed("ada", SECRET)
    assert not door.is_allowed("nobody", SECRET)
    assert len(checks) == 20, "a name that waits is not checked"
    clock.now += 40  # the first failure of ada is a minute old
    assert door.is_allowed("ada", SECRET)
    assert not door.is_allowed("nobody", SECRET)


def test_entering_forgets_the_failures(monkeypatch: pytest.MonkeyPatch, users: Mapping[str, str]) -> None:
    monkeypatch.setattr(access, "_is_right", lambda hashed, password: password == SECRET)
    door = Door(users, clock=Clock())
    for _ in range(5):
        for _ in range(9):
            assert not door.is_allowed("ada", "wrong")
        assert door.is_allowed("ada", SECRET)


def test_tries_at_the_same_moment_get_no_more_guesses(monkeypatch: pytest.MonkeyPatch, users: Mapping[str, str]) -> None:
    checks: list[str] = []
    all_there = threading.Barrier(30)

    def noted(hashed: str, password: str) -> bool:
        checks.append(hashed)
        return False

    monkeypatch.setattr(access, "_is_right", noted)
    door = Door(users)

    def guess(number: int) -> None:
        all_there.wait(timeout=10)
        door.is_allowed("ada", f"guess {number}")

    threads = [threading.Thread(target=guess, args=[number]) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(checks) == 10


def test_only_so_many_names_are_watched(monkeypatch: pytest.MonkeyPatch, users: Mapping[str, str]) -> None:
    monkeypatch.setattr(access, "_is_right", lambda hashed, password: False)
    monkeypatch.setattr(access, "_NAMES_WATCHED", 50)
    door = Door(users)
    for number in range(500):
        door.is_allowed(f"name{number}" * 1000, "wrong")
    assert len(door._failures) == 50
    assert max(map(len, door._failures)) <= 65


def test_a_server_goes_on_while_few_passwords_are_checked(monkeypatch: pytest.MonkeyPatch, users: Mapping[str, str]) -> None:
    running, most, go_on = 0, 0, threading.Event()
    lock = threading.Lock()

    def slow(hashed: str, password: str) -> bool:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert go_on.wait(timeout=10)
        with lock:
            running -= 1
        return password == SECRET

    async def visit() -> list[bool]:
        door = Door(users)
        tries = [asyncio.create_task(door.admits("ada", SECRET)) for _ in range(6)]
        await asyncio.sleep(0.2)  # reached only if the loop is not held up
        go_on.set()
        return await asyncio.gather(*tries)

    monkeypatch.setattr(access, "_is_right", slow)
    assert asyncio.run(visit()) == [True] * 6
    assert most == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"])
def test_loopback_needs_no_password(host: str) -> None:
    require_safe_binding(host, has_auth=False, is_public=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "192.168.1.5", "::ffff:10.0.0.1", "example.org", "localhost.example.org", "127.1"]
)
def test_beyond_loopback_needs_passwords_or_the_word_public(host: str) -> None:
    with pytest.raises(SettingsError, match=r"--auth-file FILE .*--public"):
        require_safe_binding(host, has_auth=False, is_public=False)
    require_safe_binding(host, has_auth=True, is_public=False)
    require_safe_binding(host, has_auth=False, is_public=True)
