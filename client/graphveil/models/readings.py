"""How an uploaded file was understood, and open questions.

The uploader has to answer these. Curators only.
"""

from __future__ import annotations

from pydantic import Field

from graphveil.models.base import Answer

MAPPING = "What says so: query parameters of the upload, or of another reading of the kept file."


class Dialect(Answer):
    """How the text is written."""

    encoding: str
    delimiter: str = Field(description="One space: any run of spaces and tabs.")
    line_end: str = Field(description="LF, CRLF or CR.")
    decimal: str = Field(description="The decimal mark.")
    header: bool = Field(description="Whether the first record names the columns.")
    comments: list[str] = Field(description="Marks of the comment lines before the first record.")
    titles: int = Field(description="Other lines before it.")


class ReadColumn(Answer):
    """What one column is read as, and why."""

    place: int = Field(description="Counted from 1.")
    name: str | None = Field(description="The header's; null without one.")
    role: str = Field(description="source, target, time, value, type, id, attribute or left alone.")
    called: str = Field(description="Its name in the graph; `-` where it is left alone.")
    why: list[str]
    probability: float = Field(description="That the role is right.")
    examples: list[str] = Field(description="Its first cells.")


class ReadCounts(Answer):
    """What became of the lines of the file."""

    records: int
    comments: int = Field(description="Comment lines, which are skipped.")
    loops: int = Field(description="Edges of a node to itself, which are dropped.")
    repeats: int = Field(description="Edges that were there before, which are merged.")
    left_out: dict[str, int] = Field(description="Lines that are no edge or node, by the reason why.")


class PossibleAnswer(Answer):
    """One answer to a question."""

    text: str
    mapping: dict[str, str] = Field(description=MAPPING)


class Question(Answer):
    """What cannot be told with certainty. The first of the answers is what is assumed."""

    about: str
    text: str
    probability: float = Field(description="That what is assumed is right.")
    must_be_answered: bool = Field(
        description="A wrong guess would make another graph: nothing is confirmed without an answer."
    )
    answers: list[PossibleAnswer]


class Reading(Answer):
    """How one file was understood."""

    part: str
    dialect: Dialect
    columns: list[ReadColumn]
    bipartite: bool = Field(description="Whether the two ends are two sorts of nodes.")
    counts: ReadCounts
    warnings: list[str]
    questions: list[Question]
    mapping: dict[str, str] = Field(description=MAPPING)
