"""The port of few calls behind which edges are counted. One machine's parts code answers it, or a cluster.

An engine makes edges canonical, and counts them exactly. Noise never runs there: tasks of a cluster are
repeated and run twice, and what is drawn anew for one charge is no longer private. Tasks that draw from a
law are a function of the law alone, and may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from core.graphs.columns.tables import NodeTable
from core.graphs.counted.reference import Reference
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import Part

Sides = tuple[NodeTable, NodeTable]
Task = Callable[[int], Mapping[str, Any]]
BLOCK_NODES = 1 << 26


@dataclass(frozen=True)
class Found:
    """What became of the rows. ``strangers``: rows with an end outside the universe; ``stranger``: one such
    end, and ``side``: of sources (0) or targets. Nothing else is told where there are any."""

    rows: int
    loops: int
    strangers: int = 0
    stranger: str | None = None
    side: int = 0


class CanonicalCell(Protocol):
    """The canonical edges of one relation or snapshot. Loops inside a type are dropped, repeats merged."""

    @property
    def parts(self) -> Sequence[Part]:
        """What is known of each part, in the order of their sources. No two have a pair in common."""
        ...

    def degrees(self, side: str = "both") -> Iterator[np.ndarray]:
        """Count the edges of every node, at both ends or one ``side``: "source", "target". Nodes come in
        order, BLOCK_NODES at a time; int64."""
        ...

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Count the edges between labels inside one type, i <= j row by row; int64
        (groups (groups + 1) / 2,)."""
        ...


class Canonical(Protocol):
    """The canonical edges of a graph."""

    @property
    def cells(self) -> Sequence[CanonicalCell]:
        """Those of each relation and snapshot, in the order of :func:`cells_of`."""
        ...

    def fingerprint(self, key: bytes) -> str:
        """Fingerprint the content, as :func:`core.graphs.stored.fingerprint.fingerprint` does."""
        ...


class Engine(Protocol):
    """What counts: one machine, or a cluster."""

    def pinned(self, source: Reference) -> str:
        """Say what the source holds now: a digest of its files, or the table's snapshot."""
        ...

    def found(self, source: Reference, sides: Sides) -> Found:
        """Look at every row once. ``sides``: the nodes that sources and targets are of."""
        ...

    def canonical(
        self,
        schema: GraphSchema,
        nodes: Mapping[str, NodeTable],
        sources: Sequence[Reference],
        rows: Sequence[int],
    ) -> Canonical:
        """Make the edges canonical. ``sources`` and ``rows``: where those of each cell lie, and how many, of
        which none has a stranger."""
        ...

    def each(self, task: Task, count: int) -> list[Mapping[str, Any]]:
        """Do the task for every number below ``count``, once or several times each; what each told."""
        ...
