"""The encoding of a file, and its text as a stream of UTF-8. What is neither UTF-8 nor marked otherwise is guessed, and the
guess is reported; where no guess is sure, the file is refused. Knows no format but the encoding that XML declares.
"""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from rag.errors import SourceUnreadableError

UTF8 = "utf-8-sig"
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"\s*<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")
_KNOWN = re.compile(
    r"(?:iso-?8859-\d+|windows-125\d|cp125\d|latin-?1|koi8-[ru]|gb2312|gbk|gb18030|big5|shift[_-]jis|euc-(?:jp|kr))", re.I
)
_CHUNK_BYTES = 1 << 18
_MOST_SAMPLED_BYTES = 60_000
_LEAST_COHERENCE = 0.2  # how much the guess looks like a language; below, every encoding looks alike
_NEVER_GUESSED = [
    "utf_7",
    "utf_16",
    "utf_16_le",
    "utf_16_be",
    "utf_32",
    "utf_32_le",
    "utf_32_be",
]  # without their marks, no text is told from noise
_USUAL = "cp1252"  # what most programs wrote before UTF-8, where a guess cannot tell it from its neighbours


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file become text. `line` is the first that is not UTF-8, `example` a word of it, when it was guessed."""

    codec: str
    is_guessed: bool = False
    line: int = 0
    example: str = ""


def marked_encoding(stream: BinaryIO, *, name: str) -> Encoding | None:
    """The encoding that a file's own mark or declaration tells, else UTF-8; None when all of it was read and it is not that.

    Raises `SourceUnreadableError` for a marked file that breaks its promise, and for zero bytes, which no text has.
    """
    head = stream.read(_CHUNK_BYTES)
    declared = _DECLARED.match(head)
    codec = next((codec for mark, codec in _MARKS if head.startswith(mark)), UTF8)
    if codec == UTF8 and declared and _KNOWN.fullmatch(declared[1].decode("ascii")):
        codec = _codec_of(declared[1].decode("ascii"), name)
    decoder = codecs.getincrementaldecoder(codec)()
    line = 1
    try:
        for chunk in _chunks(head, stream):
            text = decoder.decode(chunk)
            if "\0" in text:
                line += text.count("\n", 0, text.index("\0"))
                raise SourceUnreadableError(
                    f"{name}, line {line}: not a text file (it holds zero bytes). Give plain text in UTF-8."
                )
            line += text.count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if codec != UTF8:
            line += error.object.count(b"\n", 0, error.start)
            raise SourceUnreadableError(
                f"{name}, line {line}: not {codec}, though the file says so. Save it as UTF-8 and try again."
            ) from error
        return None
    return Encoding(codec)


def guessed_encoding(stream: BinaryIO, *, name: str) -> Encoding:
    """The encoding of a file that is not UTF-8. Raises `SourceUnreadableError`, naming the first line that is not, when unsure."""
    line, foreign = 0, b""
    for number, raw in enumerate(stream, start=1):
        if not _is_utf8(raw) and not line:
            line = number
        if line and not raw.isascii() and len(foreign) < _MOST_SAMPLED_BYTES:
            foreign += raw[:_MOST_SAMPLED_BYTES]
    codec = _guess(foreign)
    bad = next((byte for byte in foreign if byte > 0x7F), 0)
    if not codec:
        raise SourceUnreadableError(
            f"{name}, line {line}: not UTF-8 (byte 0x{bad:02x}). Save the file as UTF-8, "
            f"for example with: iconv -f WINDOWS-1252 -t UTF-8 {name!r}"
        )
    words = foreign.decode(codec, "replace").split()
    return Encoding(codec, is_guessed=True, line=line, example=next((word for word in words if not word.isascii()), "")[:40])


def as_utf8(stream: BinaryIO, encoding: Encoding) -> BinaryIO:
    """The text of `stream` as UTF-8 without a mark."""
    return cast(BinaryIO, io.BufferedReader(_Transcoded(stream, encoding.codec), _CHUNK_BYTES))


class _Transcoded(io.RawIOBase):
    """A stream of bytes in one encoding, read as UTF-8."""

    def __init__(self, source: BinaryIO, codec: str) -> None:
        # A guess rests on a sample, so a byte beyond it may be none of its characters: it is shown as such.
        self._source, self._decoder = source, codecs.getincrementaldecoder(codec)("strict" if codec == UTF8 else "replace")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name for it is not public
        while not self._left:
            chunk = self._source.read(_CHUNK_BYTES)
            self._left = self._decoder.decode(chunk, final=not chunk).encode("utf-8")
            if not chunk:
                break
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _codec_of(declared: str, name: str) -> str:
    try:
        return codecs.lookup(declared.lower().replace("windows-", "cp")).name
    except LookupError as error:
        raise SourceUnreadableError(f"{name}, line 1: there is no encoding {declared!r}. Save it as UTF-8.") from error


def _chunks(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    chunk = head
    while chunk:
        yield chunk
        chunk = stream.read(_CHUNK_BYTES)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _guess(foreign: bytes) -> str:
    """The name of the codec that reads `foreign`, "" when several do so equally well with different texts."""
    from charset_normalizer import from_bytes  # here: it is slow to load, and few files need it

    matches = list(from_bytes(foreign, cp_exclusion=_NEVER_GUESSED))
    if not matches:
        return ""
    best = matches[0]
    equals = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    is_one_text = len({str(match) for match in equals}) == 1
    if not is_one_text and best.coherence < _LEAST_COHERENCE:
        return ""
    return _USUAL if any(match.encoding == _USUAL or _USUAL in match.could_be_from_charset for match in equals) else best.encoding
