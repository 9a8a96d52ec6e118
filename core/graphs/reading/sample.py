"""Lines of a text that are looked at. They are its comments, its first lines, and some from further on."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from core.graphs.reading.text import not_utf8

HEAD, BLOCKS, BLOCK = 200, 30, 10
"""Lines at the beginning; then blocks of lines, evenly over what was read so far."""
_NEAR = 1 << 16
_KEPT = 20
# ``*+`` never gives back what it took: a line of many spaces costs no more than its length.
_FIRST = re.compile(rb"(?m)^(?![#%](?:[ \t#%]|\r?$))[ \t]*+\r*+[^\s]")
_COMMENT = re.compile(rb"(?m)^[#%]([^\r\n]*)")
_RECORD = re.compile(rb"(?m)^[ \t]*+\r*+[^\s]")
_SPACES = re.compile(r"[ \t]+")
_WORD = re.compile(r'[ \t]*(?:"((?:[^"\\]|\\.|"")*)"|([^ \t"][^ \t]*))(?=[ \t]|$)')
_ESCAPED = re.compile(r'\\(.)|"(")')
DICTIONARY = re.compile(r"^(.*[^\s,;|])[ \t]*(?:[ \t]|[,;|][ \t]*)(\{.*\})[ \t]*$")
_KEY = re.compile(r"['\"]([^'\":,{}]+)['\"]\s*:")
_SAID = re.compile(rb"(?i)\"?sep=(.)\"?\r?\n")


@dataclass(frozen=True)
class Line:
    """One line that is not blank. It has its text, its number in the file, and where it begins and ends."""

    text: str
    number: int
    start: int
    end: int


@dataclass(frozen=True)
class Sample:
    """Lines of the head, in order; of the ``rest`` only the texts. ``comments`` are the first few before.

    ``unread``: the number of a line that is not UTF-8, and what is wrong with it. ``whole``: no line of the
    chunk is left out.
    """

    head: tuple[Line, ...]
    rest: tuple[str, ...]
    comments: tuple[str, ...]
    comment_lines: int
    marks: tuple[str, ...]
    delimiter: str | None
    unread: tuple[int, str] | None = None
    whole: bool = False


def sample_of(chunk: bytes, line: int) -> Sample:
    """Sample the first chunk with a record. ``line``: the number of its first line.

    The head ends before a line that is not UTF-8; of the rest such lines are left out.
    """
    said = _SAID.match(chunk)
    begin = said.end() if said else 0
    first = _FIRST.search(chunk, begin)
    start = len(chunk) if first is None else first.start()
    number = line + chunk.count(b"\n", 0, start)
    kept = [
        each[1].decode(errors="replace").strip()
        for each in islice(_COMMENT.finditer(chunk, begin, start), _KEPT)
    ]
    counted = {
        mark: chunk.count(b"\n" + mark.encode(), begin, start) + (chunk[begin : begin + 1] == mark.encode())
        for mark in "#%"
    }
    head: list[Line] = []
    position, unread = start, None
    while len(head) < HEAD and (record := _RECORD.search(chunk, position)):
        number += chunk.count(b"\n", position, record.start())
        position = record.start()
        end = chunk.find(b"\n", position) + 1 or len(chunk)
        text = _text(chunk[position:end])
        if text is None:
            unread = number, not_utf8(chunk[position:end]) or ""
            break
        head.append(Line(text, number, position, end))
        position, number = end, number + 1
    rest = _further(chunk, position)
    return Sample(
        tuple(head),
        tuple(rest),
        tuple(kept),
        sum(counted.values()),
        tuple(mark for mark, times in counted.items() if times),
        None if said is None else said[1].decode(errors="replace"),
        unread,
        len(rest) < BLOCKS * BLOCK and len(chunk) - position <= _NEAR,
    )


def _further(chunk: bytes, position: int) -> list[str]:
    """Take lines from all over what follows, in order."""
    left = len(chunk) - position
    if left <= 0:
        return []
    found = []
    for block in range(BLOCKS):
        at = position + left * block // BLOCKS if left > _NEAR else position
        if left > _NEAR and block:
            at = chunk.find(b"\n", at) + 1
        for _ in range(BLOCK):
            record = _RECORD.search(chunk, at)
            if record is None or (at == 0 and block):
                break
            at = record.start()
            end = chunk.find(b"\n", at) + 1 or len(chunk)
            if text := _text(chunk[at:end]):
                found.append(text)
            at = end
        if left <= _NEAR:
            position = at
    return found


def _text(raw: bytes) -> str | None:
    if not raw.strip(b" \t\r\n"):
        return None
    try:
        return raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return None


def fields_of(line: str, delimiter: str, keys: Sequence[str] = ()) -> list[str]:
    """Split one line into its fields; csv.Error where quotes do not match.

    ``keys``: the line ends with a dictionary, as NetworkX writes it, whose values are further fields.
    """
    if keys:
        found = DICTIONARY.match(line)
        held = found[2] if found else ""
        return [*fields_of(found[1] if found else line, delimiter), *(_value(held, key) for key in keys)]
    if delimiter == " ":
        return _words(line.strip(" \t"))
    if delimiter == "::":
        return line.split("::")
    if '"' not in line:
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter, strict=True))


def _words(line: str) -> list[str]:
    """Split at runs of spaces, but for those in quotes that match, as R writes tables."""
    if '"' in line:
        found = list(_WORD.finditer(line))
        if sum(len(each[0]) for each in found) == len(line):
            return [
                each[2] if each[1] is None else _ESCAPED.sub(lambda one: one[1] or one[2], each[1])
                for each in found
            ]
    return _SPACES.split(line)


def cells_of(line: str, delimiter: str, keys: Sequence[str] = ()) -> list[str] | None:
    """Split one line into its fields. They come without the spaces around them; None where quotes do not
    match."""
    try:
        return [each.strip() for each in fields_of(line, delimiter, keys)]
    except csv.Error:
        return None


def keys_of(lines: Sequence[str]) -> tuple[str, ...] | None:
    """List the keys of dictionaries at line ends. Every line has one; None where one has none.

    Without any key the empty one: the dictionary is no field then.
    """
    found = [DICTIONARY.match(line) for line in lines]
    if not lines or not all(found):
        return None
    return tuple(dict.fromkeys(key for each in found if each for key in _KEY.findall(each[2]))) or ("",)


def _value(held: str, key: str) -> str:
    found = (
        re.search(rf"['\"]{re.escape(key)}['\"]\s*:\s*('[^']*'|\"[^\"]*\"|[^,}}]+)", held) if key else None
    )
    return "" if found is None else found[1].strip().strip("'\"")
