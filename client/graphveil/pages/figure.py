"""A figure of a page. A picture, its description, and its data as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

Row = tuple[str | float | None, ...]

_SHAPES = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Figure:
    """A picture with its words and numbers. ``keys`` are the series that its legend explains."""

    title: str
    description: str
    svg: Markup
    keys: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    thinned: int | None = None
    percent: bool = False
    note: str = ""
    sorted_rows: bool = False  # of thinned rows those with the largest numbers are kept


def type_style(index: int) -> tuple[str, str]:
    """Choose colour and shape of the series at ``index``.

    There are sixteen pairs, then again from the first.
    """
    count = len(_SHAPES)
    return f"type-{index % count}", _SHAPES[(index + index // count) % count]
