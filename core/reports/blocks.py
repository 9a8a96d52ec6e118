"""Sections of blocks, of which a page is made. :mod:`core.reports.markdown` and the HTML write them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from core.reports.scores import Score
from graphveil.pages.figure import Figure


class Text(NamedTuple):
    """A text with small print. ``metric``: the name under which the glossary has it; ``code``: as typed."""

    text: str
    small: str = ""
    metric: str = ""
    code: bool = False


class Share(NamedTuple):
    """A share, in percent."""

    value: float | None


class Near(NamedTuple):
    """A value with the standard error of its measurement."""

    value: float | None
    error: float | None


class Span(NamedTuple):
    """A value with its interval; in percent where it is a share."""

    value: float
    low: float
    high: float
    percent: bool = False


class Relative(NamedTuple):
    """A relative error."""

    value: float | None


class Size(NamedTuple):
    """A number of bytes."""

    size_bytes: int


Cell = str | int | float | bool | None | Text | Share | Near | Span | Relative | Size


@dataclass(frozen=True)
class Paragraph:
    """Words, after a ``lead`` that stands out. Styles: small, alert, quote, heading, big and a level.

    ``code``: the words are the service's own, and what stands between backticks in them is code.
    """

    text: str
    lead: str = ""
    style: str = ""
    code: bool = False


@dataclass(frozen=True)
class Items:
    """A list of texts. It comes after words that say what it is; nothing where it is empty."""

    texts: Sequence[str]
    lead: str = ""


@dataclass(frozen=True)
class Terms:
    """Words and what they mean."""

    rows: Sequence[tuple[Text, str]]


@dataclass(frozen=True)
class Facts:
    """A few figures with their names, each with small print."""

    rows: Sequence[tuple[str, Text]]


@dataclass(frozen=True)
class Table:
    """Rows of cells. They are folded where they are more than ``most``; nothing where there are none."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    most: int = 24
    what: str = "rows"


@dataclass(frozen=True)
class Listing:
    """A command, to be copied, over a few lines."""

    command: str


@dataclass(frozen=True)
class Pictures:
    """Figures side by side. They are drawn once a form has pictures; their numbers stand in tables or in the
    JSON."""

    draw: Callable[[], Sequence[Figure]]
    title: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Drawn:
    """A picture without a table, and what its colours mean."""

    svg: Markup
    keys: Sequence[tuple[str, str]] = ()
    style: str = "gauge"


@dataclass(frozen=True)
class Rating:
    """A score with its parts. It is coloured by a level; ``unbounded``: never as good."""

    name: str
    basis: str
    score: Score | None
    dial: Markup | None
    unbounded: bool = False


@dataclass(frozen=True)
class Group:
    """Blocks that belong together. They are a card with a title, or cards side by side (columns, scores)."""

    blocks: Sequence[Block]
    style: str = "card"
    title: str = ""
    id: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks behind a title. They are shown from the beginning or once they are requested."""

    title: Text
    blocks: Sequence[Block]
    open: bool = False


Block = Paragraph | Items | Terms | Facts | Table | Listing | Pictures | Drawn | Rating | Group | Fold


@dataclass(frozen=True)
class Section:
    """A part of a page. It comes with the name that links lead to; ``curators``: of the private graph."""

    id: str
    title: str
    blocks: Sequence[Block]
    curators: bool = False

    @property
    def heading(self) -> str:
        """The title, which says whom it is for."""
        return f"{self.title} (curators only)" if self.curators else self.title


def cut(shown: int, every: int, what: str) -> list[Block]:
    """Say that only some are shown; nothing where all are."""
    text = f"{shown} of {every} {what}; the report's JSON holds all."
    return [Paragraph(text, style="small")] if every > shown else []
