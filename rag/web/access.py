"""Who may open the page: a file of names with hashed passwords, and the rule that a page open to others needs one.

Passwords are never logged, shown or kept. Knows no Gradio.
"""

import asyncio
import base64
import binascii
import ipaddress
import os
import re
import secrets
import stat
import threading
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError

from rag.errors import SettingsError

SHORTEST_PASSWORD, LONGEST_PASSWORD = 8, 1024  # characters
_LARGEST_FILE = 1_000_000  # bytes; a line takes about 120
_LONGEST_NAME = 64
_NAME = re.compile(r"[^\W_](?:[\w.@+-]*\w)?")  # no colon, no space
_HASH = re.compile(r"\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,8}),p=(\d{1,8})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})")
_MOST_MEMORY, _MOST_LANES = 2_097_152, 16  # KiB; the first choice of RFC 9106
_WORK = (7168 * 5, 2_097_152 * 2)  # KiB times passes: below, a stolen file is soon guessed; above, a login takes many seconds
_HASHER = PasswordHasher()  # 64 MiB, 3 passes, 4 lanes: the second choice of RFC 9106
_FAILURES, _WINDOW_SECONDS = 10, 60.0
_NAMES_WATCHED = 10_000
_CHECKS_AT_ONCE = 2  # each takes 64 MiB and a tenth of a second of the processor
_MAKE_LINE = "Make one with: askabstracts password NAME"


def read_auth_file(path: str | Path) -> Mapping[str, str]:
    """The hashes in a file of `name:hash` lines, by name; empty lines and those that begin with `#` are skipped.

    Raises `SettingsError`, with the file and the line, for what cannot be used. Never quotes such a line: it may hold a password.
    Warns when everybody on this machine can read or change the file.
    """
    path = Path(path)
    users: dict[str, str] = {}
    for number, line in enumerate(_text(path).split("\n"), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, hashed = _name_and_hash(line, place=f"{path}, line {number}")
        if name in users:
            raise SettingsError(f"{path}, line {number}: the name {name!r} stands there already. Keep one line for each name.")
        users[name] = hashed
    if not users:
        raise SettingsError(f"{path} names nobody. Add a line with: askabstracts password NAME >> {path}")
    return MappingProxyType(users)


def hash_password(password: str) -> str:
    """The argon2id hash of a password. Raises `SettingsError` for one that is too short, too long or not text."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise SettingsError(f"A password needs {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters.")
    try:
        return _HASHER.hash(_normal(password))
    except UnicodeEncodeError:
        raise SettingsError("The password holds bytes that are not text. Type it again.") from None


def password_line(name: str, password: str) -> str:
    """This person's line for the auth file, without a line break. Raises `SettingsError` for a name or password that cannot be used."""
    if not _is_name(_normal(name)):
        raise SettingsError(
            f"{name!r} cannot be a name. Use 1 to {_LONGEST_NAME} letters, digits and . _ @ + - between them, without spaces."
        )
    return f"{_normal(name)}:{hash_password(password)}"


class Door:
    """Checks passwords against the hashes of `users`. After ten failures of a name within a minute, its further tries are refused
    until the first of them is a minute old; so any visitor can keep a name out for a while, but nobody can guess on.

    A try takes the same work whether or not the name is known. Safe for threads. `clock` counts seconds.
    """

    def __init__(self, users: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._users = dict(users)
        self._nobodys_hash = _hash_like(self._users.values())
        self._clock = clock
        self._failures: dict[str, list[float]] = {}
        self._lock = threading.Lock()
        self._turns = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def admits(self, name: str, password: str) -> bool:
        """`is_allowed` in a thread, few at once: for a server, whose other requests go on meanwhile."""
        async with self._turns:
            return await asyncio.to_thread(self.is_allowed, name, password)

    def is_allowed(self, name: str, password: str) -> bool:
        """Whether this name may enter with this password. False also while the name must wait, right password or not."""
        name = _normal(name[: _LONGEST_NAME + 1])
        # Booked as a failure before it is checked: tries made at the same moment get no more guesses than tries in turn.
        if not self._is_booked(name):
            return False
        is_right = _is_right(self._users.get(name, self._nobodys_hash), password) and name in self._users
        if is_right:
            with self._lock:
                self._failures.pop(name, None)
        return is_right

    def _is_booked(self, name: str) -> bool:
        now = self._clock()
        with self._lock:
            recent = [at for at in self._failures.pop(name, []) if now - at < _WINDOW_SECONDS]
            is_free = len(recent) < _FAILURES
            self._failures[name] = [*recent, now] if is_free else recent
            if len(self._failures) > _NAMES_WATCHED:
                del self._failures[next(iter(self._failures))]  # the one that was tried longest ago
        return is_free


def require_safe_binding(host: str, *, has_auth: bool, is_public: bool) -> None:
    """Raises `SettingsError` when others could open the page without a password and nobody said that they may."""
    if has_auth or is_public or is_loopback(host):
        return
    raise SettingsError(
        f"Others can reach the page on {host or 'all addresses'}. Give --auth-file FILE (askabstracts password NAME makes its lines), "
        "or --public if everybody may ask, or listen on 127.0.0.1 only."
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise SettingsError(f"The auth file {path} cannot be read ({error.strerror}). Check --auth-file.") from error
    if len(content) > _LARGEST_FILE:
        raise SettingsError(f"The auth file {path} is larger than {_LARGEST_FILE:,} bytes. Check --auth-file.")
    if os.name == "posix" and stat.S_ISREG(mode) and mode & (stat.S_IROTH | stat.S_IWOTH):
        warnings.warn(f"Everybody on this machine can read or change {path}. Close it with: chmod 600 {path}", stacklevel=3)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"The auth file {path} is not UTF-8 text. Check --auth-file.") from None


def _name_and_hash(line: str, *, place: str) -> tuple[str, str]:
    name, colon, hashed = line.partition(":")
    name, hashed = _normal(name.strip()), hashed.strip()
    if not colon or not _is_name(name):
        raise SettingsError(f"{place}: not a name:hash line. {_MAKE_LINE}")
    if not hashed.startswith("$"):
        raise SettingsError(f"{place}: the password is not hashed. Choose a new one, since this file showed it. {_MAKE_LINE}")
    match = _HASH.fullmatch(hashed)
    if not match or not _is_base64(match[4]) or not _is_base64(match[5]):
        raise SettingsError(f"{place}: the hash is damaged, or not of argon2id with 32 bytes. {_MAKE_LINE}")
    memory, passes, lanes = (int(match[part]) for part in (1, 2, 3))
    if memory * passes < _WORK[0]:
        raise SettingsError(f"{place}: the hash is too weak. {_MAKE_LINE}")
    if memory > _MOST_MEMORY or memory * passes > _WORK[1] or not 1 <= lanes <= _MOST_LANES:
        raise SettingsError(f"{place}: the hash asks for too much work at each login. {_MAKE_LINE}")
    return name, hashed


def _is_right(hashed: str, password: str) -> bool:
    try:
        is_match = _HASHER.verify(hashed, _normal(password[:LONGEST_PASSWORD]))
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False
    return is_match and len(password) <= LONGEST_PASSWORD


def _hash_like(hashes: Collection[str]) -> str:
    """The hash of a password that nobody knows, as dear to check as most of these."""
    like = {one.rsplit("$", 2)[0]: one for one in hashes}  # what stands before salt and hash says how dear it is
    common = Counter(one.rsplit("$", 2)[0] for one in hashes).most_common(1)
    hasher = PasswordHasher.from_parameters(extract_parameters(like[common[0][0]])) if common else _HASHER
    return hasher.hash(secrets.token_urlsafe(32))


def _is_base64(text: str) -> bool:
    """Whether these letters are the only spelling of the bytes they stand for; argon2 refuses others."""
    try:
        return base64.b64encode(base64.b64decode(text + "=" * (-len(text) % 4), validate=True)).decode().rstrip("=") == text
    except binascii.Error:
        return False


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def _normal(text: str) -> str:
    """One form for what keyboards write in several."""
    return unicodedata.normalize("NFKC", text)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on `host`."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # another name, or nothing: it may mean any address
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
