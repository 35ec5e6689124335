"""The lines of a stream of UTF-8 text with their numbers, for readers that go line by line and for parsers that are fed so."""

import io
from collections.abc import Iterator
from typing import BinaryIO

from rag.errors import SourceUnreadableError

_LONGEST_LINE = 64_000_000  # characters; a line is held in memory whole
_PIECE_BYTES = 1 << 16


def numbered_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Every line with its number from 1, ended by at most one "\\n". Lines end as they do on any system."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline=None)
    number = 0
    while line := text.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise SourceUnreadableError(
                f"{name}, line {number}: longer than {_LONGEST_LINE // 1_000_000} million characters. Break it into lines, a paper each."
            )
        yield number, line


class LineByLine:
    """A stream that hands out no more than one line at a time, so that whoever parses it can tell on which line it is."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_line_over = True
        self.line = 0

    def read(self, size: int = -1) -> bytes:
        """At most a line, or a piece of a very long one."""
        if size == 0:
            return b""
        piece = self._stream.readline(_PIECE_BYTES)
        self.line += self._is_line_over and bool(piece)
        self._is_line_over = piece.endswith(b"\n")
        return piece
