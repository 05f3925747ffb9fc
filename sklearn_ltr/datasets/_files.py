"""Read text files once, from the first line to the last, so that pipes work, too.

Lines are bytes: ``bytes.split`` and ``float`` of bytes know the white space and digits
of ASCII only, as the formats do.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from typing import IO, cast

Path = str | os.PathLike[str]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DECOMPRESS = "decompress it, or compress it as .gz or .bz2"
ENCODE = "save it as UTF-8"
#: first bytes of files that are not lines of text, their kind, and what to do
SIGNATURES: dict[bytes, tuple[str, str | None]] = {
    b"PAR1": ("a Parquet file", None),
    b"ARROW1": ("an Arrow file", None),
    b"PK\x03\x04": ("a zip archive", DECOMPRESS),
    b"\xfd7zXZ\x00": ("compressed by xz", DECOMPRESS),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", DECOMPRESS),
    b"\xff\xfe\x00\x00": ("text in UTF-32", ENCODE),
    b"\xff\xfe": ("text in UTF-16", ENCODE),
    b"\xfe\xff": ("text in UTF-16", ENCODE),
}
LONGEST = 80  # bytes of a text in a message
JSON = re.compile(rb"[\[{][ \t]*([\"\[{\]}\r\n]|$)")


class TextLines:
    """The lines of a file, plain or compressed; `number` is that of the last one."""

    def __init__(
        self,
        path: Path,
        instead: str,
        name: str = "path",
        *,
        file: IO[bytes] | None = None,
        takes_json: bool = False,
    ) -> None:
        """Take the path, the name of its argument, and advice for files of other kinds.

        A file that is open already is read from its place on; `path` is its name.
        """
        self.path = read_path(path, name)
        self.name = name
        self.instead = instead
        self.file = file
        self.takes_json = takes_json
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line, which ends in LF, CRLF or CR as in Python's text files."""
        opened = open(self.path, "rb") if self.file is None else nullcontext(self.file)
        with opened as file:
            try:
                for line in self._open(file):
                    for part in line.splitlines() if b"\r" in line else (line,):
                        self.number += 1
                        if part.startswith(BYTE_ORDER_MARK):
                            raise self.fault(
                                "a byte-order mark inside the file, as where files "
                                "were joined: take it out"
                            )
                        if b"\0" in part:
                            raise self.fault("a NUL byte: take it out")
                        yield part
            except (EOFError, zlib.error, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # of the machine, with the path
                self.number += 1
                raise self.fault(
                    f"the compressed file is cut off or damaged ({error}): make or "
                    "copy it again"
                ) from error

    def _open(self, file: IO[bytes]) -> IO[bytes]:
        """Return the lines of an open file; raise a ValueError if they are not text."""
        head, stream = _begin(file)
        # by the content: names of pipes and of downloads have no suffix
        if head.startswith(b"\x1f\x8b"):
            head, stream = _begin(cast(IO[bytes], gzip.GzipFile(fileobj=stream)))
        elif head.startswith(b"BZh"):
            head, stream = _begin(bz2.BZ2File(stream))
        text = head.removeprefix(BYTE_ORDER_MARK)
        found = next((SIGNATURES[s] for s in SIGNATURES if head.startswith(s)), None)
        if found is None and not self.takes_json and JSON.match(text.lstrip()):
            found = ("JSON", None)
        elif found is None and b"\0" in head:
            way_out = f"{ENCODE} if it is text, else {self.instead}"
            found = ("binary data, or text in UTF-16", way_out)
        if found is not None:
            self.number = 1
            raise self.fault(f"this is {found[0]}: {found[1] or self.instead}")
        stream.read(len(head) - len(text))
        return stream

    def fault(self, what: str, number: int | None = None) -> ValueError:
        """Return an error that names a line, by default the last one."""
        line = self.number if number is None else number
        return ValueError(f"{self.name}: {self.path!r}, line {line}: {what}")

    def decode(self, text: bytes) -> str:
        """Return text, or raise a ValueError that names the line if it is not UTF-8."""
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise self.fault(
                f"{printable(text)} is not in UTF-8: convert the file, if it is in "
                "Latin-1 by iconv -f latin1 -t utf-8"
            ) from error


class _Begun(io.RawIOBase):
    """A stream of which the first bytes have been read."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self.head, self.stream = head, cast(io.BufferedIOBase, stream)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self.head:
            return self.stream.readinto(buffer)
        n_bytes = min(len(buffer), len(self.head))
        buffer[:n_bytes], self.head = self.head[:n_bytes], self.head[n_bytes:]
        return n_bytes


def _begin(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """Return the first bytes of a stream, and a stream that still has them."""
    head = stream.read(256)
    return head, io.BufferedReader(_Begun(head, stream), 1 << 16)


def read_path(path: Path, name: str = "path") -> str:
    """Return a path as text, or raise a TypeError if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a string or a path-like object, got {path!r}")
    return os.fspath(path)


def printable(text: bytes) -> str:
    """Return text in quotes for a message, without the middle of a long text."""
    text = text.strip()
    if len(text) > LONGEST:
        text = text[:50] + b" ... " + text[-25:]
    decoded = text.decode(errors="backslashreplace")
    seen = (
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in decoded
    )
    return f"'{''.join(seen)}'"


def read_float(text: bytes) -> float:
    """Return a number written in ASCII, or raise a ValueError if it is none."""
    if b"_" in text:  # "1_0" is 10 in Python only
        raise ValueError(f"not a number: {text!r}")
    return float(text)
