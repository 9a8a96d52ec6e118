"""Batches to rows that keep the rules: fast where a file is well formed, slowly where it is not.

The slow reading decides: a batch that cannot be read as columns, or breaks a rule, is read again line by
line, and either every line passes or the findings say which do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from core.graphs.columns import codes_of
from core.graphs.findings import Findings, shown
from core.graphs.formats._base import Batch, Careful

T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """Rows that break one rule, the column that shows it, and the message for a value of that column."""

    rows: np.ndarray
    column: str
    explain: Callable[[object], str]


@dataclass(frozen=True)
class Resolved(Generic[T]):
    """A batch in terms of the schema; ``content`` is to be used only when there are no faults."""

    content: T
    rows: int
    faults: list[Fault] = field(default_factory=list)


def drain(
    batches: Iterable[Batch],
    resolve: Callable[[pa.Table], Resolved[T]],
    keep: Callable[[T], None],
    findings: Findings,
    advance: Callable[[int, int], None],
) -> None:
    """Every row is resolved and kept, or IngestRejected is raised with the findings.

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
    """The findings of one carefully read part are added, in the order of its lines."""
    found: list[tuple[int, int | None, str]] = list(part.problems)
    for fault in faults:
        number = part.fields.get(fault.column)
        for row in fault.rows[: findings.limit]:
            value = part.table[fault.column][int(row)].as_py() if number is not None else None
            found.append((int(part.lines[row]), number, fault.explain(value)))
    for line, column, message in sorted(found, key=lambda item: (item[0], item[1] or 0)):
        findings.add(line, column, message)


def type_codes(table: pa.Table, names: pa.Array, thing: str, faults: list[Fault]) -> np.ndarray:
    """The position in ``names`` of each row's type; int64, -1 with a fault where it is none of them.

    Without a type column every row is of the only type there is. ``thing``: "node" or "edge", for messages.
    """
    if "type" not in table.column_names:
        codes = np.zeros(table.num_rows, dtype=np.int64)
        if len(names) > 1 and table.num_rows:
            codes -= 1
            every = np.arange(len(codes))
            faults.append(Fault(every, "type", lambda _: f"the {thing} has no type; give it one"))
        return codes
    codes = codes_of(table["type"], names)
    rows = np.flatnonzero(codes < 0)
    if len(rows):
        known = ", ".join(names.to_pylist())
        faults.append(
            Fault(rows, "type", lambda v: f"the {thing} type {shown(v)} is not declared; use {known}")
        )
    return codes
