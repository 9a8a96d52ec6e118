"""Bytes to UTF-8 with lines that end with LF, whatever the file has."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.graphs.uploads.findings import shown

_SHOWN_BYTES = 60
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


@dataclass(frozen=True)
class Text:
    """How a text is encoded. Known are its encoding, how lines end, and how many bytes of a byte order mark
    come first."""

    encoding: str = "utf-8"
    line_end: str = "LF"
    mark: int = 0


def text_of(head: bytes, said: str | None) -> Text:
    """Tell encoding and line ends of a text. The first bytes show them; ``said``: the encoding that a person
    names.

    Lines end with CR where there is no LF at all.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", "utf-8"))
    if said is not None and not (said == "utf-16" and mark):
        encoding = "utf-16-le" if said == "utf-16" else said
        mark = mark if mark and dict(_MARKS)[mark] == encoding else b""
    start = len(mark)
    if encoding != "utf-8":
        head = codecs.getincrementaldecoder(encoding)("replace").decode(head[start:]).encode()
        start = 0
    # The first line alone tells: a chunk is long, and is looked at once by each of these.
    first = head.find(b"\n", start)
    if first >= 0:
        return Text(encoding, "CRLF" if head[start:first].endswith(b"\r") else "LF", len(mark))
    return Text(encoding, "CR" if b"\r" in head else "LF", len(mark))


def not_utf8(raw: bytes) -> str | None:
    """Say that a line is not UTF-8. It is said how it reads as Latin-1; None where it is."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        text = shown(raw[:_SHOWN_BYTES].decode("latin-1").strip())
        return (
            "the line is not UTF-8; save the file as UTF-8, or set the option encoding: as latin-1 it reads "
            f"{text}"
        )
    return None


def looks_utf_16(head: bytes) -> bool:
    """Tell whether text looks like UTF-16. Every other byte is zero, as in UTF-16 without a byte order
    mark."""
    return len(head) > 3 and (not any(head[1:64:2]) or not any(head[:64:2]))


def in_utf8(blocks: Iterable[bytes], text: Text) -> Iterator[bytes]:
    """Yield the blocks as UTF-8 with LF. They are as they are where they need nothing. UnicodeDecodeError."""
    decoder = None if text.encoding == "utf-8" else codecs.getincrementaldecoder(text.encoding)("strict")
    start = text.mark
    for block in blocks:
        if start:
            block, start = block[start:], 0
        if decoder is not None:
            block = decoder.decode(block).encode()
        yield block.replace(b"\r", b"\n") if text.line_end == "CR" else block
    if decoder is not None:
        decoder.decode(b"", final=True)
