"""Markdown pieces that stay what they are. Whatever names and texts may be put into them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence

# Everything that could start an emphasis, a link, code, a table cell, HTML or a formula.
_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~$!^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_BLOCK_START = re.compile(r"^([-+=]|\d+[.)](?=\s|$))")
_AUTOLINK = re.compile(r"://|www\.", re.IGNORECASE)


def plain(text: object) -> str:
    """Put the text on one line. Control characters, line breaks and half surrogates are spaces."""
    shown = str(text)
    # Nearly all are: only the others are looked at letter by letter.
    if not shown.isprintable():
        shown = "".join(" " if _breaks(c) else c for c in shown)
    return " ".join(shown.split())


def _breaks(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def escape(text: object) -> str:
    """Escape the text as Markdown. It shows exactly it, in a table cell, a list item or a paragraph."""
    escaped = _SPECIAL.sub(r"\\\1", plain(text).replace("&", "&amp;"))
    # A backslash is not enough: HTML and cells of tables are split off before it is read.
    escaped = escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\|", "&#124;")
    # GitHub makes links of bare addresses, but not where colon and dot are entities.
    escaped = _AUTOLINK.sub(lambda match: match[0].replace(":", "&#58;").replace(".", "&#46;"), escaped)
    return _BLOCK_START.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], escaped)


def number(value: float | int | None) -> str:
    """Write four significant digits. There are more before the point; whole numbers whole; a dash if
    undefined."""
    if value is None:
        return "–"
    # Up to here a double holds every whole number exactly.
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value)}"
    return f"{value:.0f}" if 1_000 <= abs(value) < 1e15 else f"{value:.4g}"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Write lines of a Markdown table and an empty line. There is nothing at all when there are no rows.

    Floats and None are shown by :func:`number`; texts are escaped.
    """
    body = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    if not body:
        return []
    head = "| " + " | ".join(escape(column) for column in columns) + " |"
    return [head, "|" + " --- |" * len(columns), *body, ""]


def _cell(value: object) -> str:
    # Before all numbers, of which True is one.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value)
    return escape(value)


def items(texts: Iterable[object]) -> list[str]:
    """Write lines of a list and an empty line. There is nothing when there are no items."""
    lines = [f"- {escape(text)}" for text in texts]
    return [*lines, ""] if lines else []


def fenced(code: str, language: str = "") -> list[str]:
    """Write lines of a code block. No run of backticks inside can end it."""
    runs = [len(run) for run in re.findall(r"`+", code)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return [f"{fence}{language}", *code.splitlines(), fence, ""]


def quoted(text: object) -> str:
    """Write the text as a double-quoted YAML scalar. It is the JSON string of its one line."""
    return json.dumps(plain(text), ensure_ascii=False)
