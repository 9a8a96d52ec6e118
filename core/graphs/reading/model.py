"""How one file of an upload was understood. A reading has its grounds, and what is in question.

A reading is private: like a proposal it looks at the data, and its examples are from it. Curators alone see
it.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from core.graphs.reading.mapping import Mapping

CERTAIN = 0.9
"""A guess below this probability is asked."""
CERTAIN_ENDS = 0.95
"""The same of the ends, whose guess would make another graph."""


class Role(StrEnum):
    """What a column is read as."""

    SOURCE = "source"
    TARGET = "target"
    TIME = "time"
    VALUE = "value"
    TYPE = "type"
    ID = "id"
    ATTRIBUTE = "attribute"
    LEFT = "left alone"


class About(StrEnum):
    """What a question is about."""

    ENDS = "ends"
    HEADER = "header"
    BIPARTITE = "bipartite"
    PART = "part"
    ROLE = "role"
    DELIMITER = "delimiter"
    PREAMBLE = "preamble"
    ENCODING = "encoding"
    DECIMAL = "decimal"
    DATES = "dates"


DESTROYING = frozenset({About.ENDS, About.HEADER, About.BIPARTITE, About.PART, About.ENCODING})
"""Where a wrong guess would make another graph without a word: refused until it is answered."""


@dataclass(frozen=True)
class Dialect:
    """How the text is written. A ``delimiter`` of one space is any run of spaces and tabs.

    ``comments`` are the marks of the comment lines before the first record; ``titles`` other lines there.
    ``dates``: as in a mapping, where dates are not ISO 8601.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    line_end: str = "LF"
    decimal: str = "."
    header: bool = False
    comments: tuple[str, ...] = ()
    titles: int = 0
    dates: str | None = None


@dataclass(frozen=True)
class Column:
    """What one column is read as, and why.

    ``place`` counts from 1; ``name`` is the header's (None without one), ``called`` what it is called in the
    graph ("-" where it is left alone). ``probability`` is that of the role. ``examples`` are its first cells.
    """

    place: int
    name: str | None
    role: Role
    called: str
    why: tuple[str, ...] = ()
    probability: float = 1.0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """Counts of records and of other lines. They say what became of the latter, and of records that make no
    edge.

    Complete once every row was read. ``left_out`` counts others by the reason why they are not read.
    """

    records: int = 0
    comments: int = 0
    loops: int = 0
    repeats: int = 0
    left_out: Map[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """One answer to a question, and the mapping that gives it."""

    text: str
    mapping: Mapping


@dataclass(frozen=True)
class Question:
    """What cannot be decided with certainty. The first of the ``answers`` is what is assumed."""

    about: About
    text: str
    probability: float
    answers: tuple[Answer, ...]

    @property
    def destroys(self) -> bool:
        """Tell whether a wrong guess makes another graph. If so, an upload without an answer is refused."""
        return self.about in DESTROYING


@dataclass(frozen=True)
class Reading:
    """How one file was understood. ``mapping`` is what reads it so again, without a guess.

    ``bipartite``: the two ends are two sorts of nodes, whose ids may be the same. ``bipartite_why`` is empty
    where nothing says so or otherwise.
    """

    part: str
    dialect: Dialect
    columns: tuple[Column, ...]
    bipartite: bool = False
    bipartite_why: tuple[str, ...] = ()
    counts: Counts = Counts()
    warnings: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()

    def column(self, role: Role) -> Column | None:
        """Return the column of that role, where one has it."""
        return next((column for column in self.columns if column.role is role), None)

    @property
    def mapping(self) -> Mapping:
        """Say the whole reading as a mapping."""
        return Mapping(
            columns=tuple((column.called, column.place) for column in self.columns),
            delimiter=self.dialect.delimiter,
            header=self.dialect.header,
            decimal=self.dialect.decimal,
            encoding=self.dialect.encoding,
            bipartite=self.bipartite,
            dates=self.dialect.dates,
        )

    def as_json(self) -> dict[str, Any]:
        """Write the reading as plain JSON values, its ``mapping`` with it."""
        made = {**asdict(self), "mapping": self.mapping.as_json()}
        made["questions"] = [
            {
                "about": str(question.about),
                "text": question.text,
                "probability": question.probability,
                "destroys": question.destroys,
                "answers": [
                    {"text": answer.text, "mapping": answer.mapping.as_json()} for answer in question.answers
                ],
            }
            for question in self.questions
        ]
        for written, column in zip(made["columns"], self.columns, strict=True):
            written["role"] = str(column.role)
        return made

    @classmethod
    def from_json(cls, made: Map[str, Any]) -> Reading:
        """Read what :meth:`as_json` wrote."""
        dialect = {**made["dialect"], "comments": tuple(made["dialect"]["comments"])}
        return cls(
            part=made["part"],
            dialect=Dialect(**dialect),
            columns=tuple(
                Column(
                    **{
                        **entry,
                        "role": Role(entry["role"]),
                        "why": tuple(entry["why"]),
                        "examples": tuple(entry["examples"]),
                    }
                )
                for entry in made["columns"]
            ),
            bipartite=made["bipartite"],
            bipartite_why=tuple(made["bipartite_why"]),
            counts=Counts(**made["counts"]),
            warnings=tuple(made["warnings"]),
            questions=tuple(
                Question(
                    About(entry["about"]),
                    entry["text"],
                    entry["probability"],
                    tuple(
                        Answer(answer["text"], Mapping.from_json(answer["mapping"]))
                        for answer in entry["answers"]
                    ),
                )
                for entry in made["questions"]
            ),
        )
