"""Batches to rows that keep the rules. It is fast where a file is well formed, slowly where it is not.

The slow reading decides: a batch that cannot be read as columns, or breaks a rule, is read again line by
line, and either every line passes or the findings say which do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from core.graphs.columns.arrays import codes_of
from core.graphs.schema import GRAPH_ID, GraphSchema
from core.graphs.uploads.batches import Batch, Careful
from core.graphs.uploads.files import THE_OPERATORS
from core.graphs.uploads.findings import Findings, reject, shown

T = TypeVar("T")
_UNNAMED = pa.array(["node"], type=pa.string())


@dataclass(frozen=True)
class Fault:
    """Rows that break one rule. It has the column that shows it, and the message for a value of that column.

    ``unlisted``: the node type that lacks the value, where that is what is wrong.
    """

    rows: np.ndarray
    column: str
    explain: Callable[[object], str]
    unlisted: str = ""


@dataclass(frozen=True)
class Resolved(Generic[T]):
    """A batch in terms of the schema. ``content`` is to be used only when there are no faults."""

    content: T
    rows: int
    faults: list[Fault] = field(default_factory=list)


def at_most(
    most: int,
    file: str,
    what: str,
    items: str,
    advance: Callable[[int], None] = lambda bytes_done: None,
    mend: str = THE_OPERATORS,
) -> Callable[[int, int], None]:
    """Limit how many rows :func:`drain` reads. This ``advance`` refuses a file of more than ``most`` rows in
    all.

    ``mend`` says what can be done about it.
    """
    counted = 0

    def counting(rows: int, bytes_done: int) -> None:
        nonlocal counted
        counted += rows
        if counted > most:
            reject(file, f"{what} has more than {most} {items}; {mend}")
        advance(bytes_done)

    return counting


def drain(
    batches: Iterable[Batch],
    resolve: Callable[[pa.Table], Resolved[T]],
    keep: Callable[[T], None],
    findings: Findings,
    advance: Callable[[int, int], None],
) -> None:
    """Resolve and keep every row, or raise IngestRejected with the findings.

    ``advance(rows, bytes_done)`` is called after each batch; it may refuse by raising.
    """
    for batch in batches:
        _drain_one(batch, resolve, keep, findings, advance)
        if findings.full:
            break
    findings.raise_if_any()


def _drain_one(
    batch: Batch,
    resolve: Callable[[pa.Table], Resolved[T]],
    keep: Callable[[T], None],
    findings: Findings,
    advance: Callable[[int, int], None],
) -> None:
    if batch.table is not None:
        resolved = resolve(batch.table)
        if not resolved.faults:
            # Once a line is wrong nothing is kept; the rest is read for its findings alone.
            if not findings.items:
                keep(resolved.content)
            advance(resolved.rows, batch.bytes_done)
            return
    if batch.parts is not None:
        for smaller in batch.parts():
            _drain_one(smaller, resolve, keep, findings, advance)
            if findings.full:
                return
        return
    for part in batch.carefully():
        resolved = resolve(part.table)
        note(part, resolved.faults, findings)
        if findings.full:
            return
        if not findings.items:
            keep(resolved.content)
        advance(resolved.rows, batch.bytes_done)


def note(part: Careful, faults: list[Fault], findings: Findings) -> None:
    """Add the findings of a carefully read part. They are in the order of its lines."""
    problems: list[tuple[int, int | None, str]] = list(part.problems)
    for fault in faults:
        number = part.fields.get(fault.column)
        for row in fault.rows[: findings.limit]:
            value = part.table[fault.column][int(row)].as_py() if number is not None else None
            problems.append((int(part.lines[row]), number, fault.explain(value)))
    for line, column, message in sorted(problems, key=lambda item: (item[0], item[1] or 0)):
        findings.add(line, column, message)


@dataclass(frozen=True)
class Kinds:
    """How a row's type is read. It has the ``column``, and its ``values`` in the order of the schema's types.

    ``thing``: "node", or "edge" or "link", for messages.
    """

    thing: str
    column: str
    values: pa.Array

    @classmethod
    def of(cls, schema: GraphSchema, thing: str) -> Kinds:
        """Tell types apart by name. In a collection the id of the graph tells them."""
        if schema.collection is not None:
            return cls(thing, GRAPH_ID, pa.array([g.id for g in schema.collection.graphs], type=pa.string()))
        types = schema.node_types if thing == "node" else schema.edge_types
        return cls(thing, "type", pa.array([each.in_files for each in types], type=pa.string()))

    def unknown(self, value: object) -> str:
        """Explain a value that is no type. It is said how to mend it, too."""
        if self.column == GRAPH_ID:
            if value is None or value == "":
                return "the graph_id is empty; name one of the collection's graphs or remove the line"
            return f"the graph {shown(value)} is not declared; add it to the collection's graphs or mend it"
        known = ", ".join(self.values.to_pylist())
        problem = f"the {self.thing} type {shown(value)} is not declared; use {known}"
        if str(value).isdigit():
            problem += ", or say by the option columns which field is the type, as this looks like a number"
        return problem


def type_codes(table: pa.Table, kinds: Kinds, faults: list[Fault]) -> np.ndarray:
    """Find the position of each row's type. It is that in the schema; int64, -1 with a fault where it is
    undeclared.

    Without a column for it every row is of the only type there is; so is every node where that type has no
    name of its own.
    """
    unnamed = kinds.thing == "node" and kinds.values.equals(_UNNAMED)
    if kinds.column not in table.column_names or unnamed:
        codes = np.zeros(table.num_rows, dtype=np.int64)
        if len(kinds.values) > 1 and table.num_rows:
            codes -= 1
            every = np.arange(len(codes))
            message = f"the {kinds.thing} has no {kinds.column}; give it one"
            faults.append(Fault(every, kinds.column, lambda _: message))
        return codes
    codes = codes_of(table[kinds.column], kinds.values)
    rows = np.flatnonzero(codes < 0)
    if len(rows):
        faults.append(Fault(rows, kinds.column, kinds.unknown))
    return codes
