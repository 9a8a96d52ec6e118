"""Which parts of a public schema and universe were read off the data: marks that every release carries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from core.datasets import repository
from core.datasets.models import Dataset, DatasetPart
from core.graphs.schema import Derived, GraphSchema, TimeGrid


def derived_parts(schema: GraphSchema, nodes: DatasetPart | None) -> list[str]:
    """Which parts of a proposal were read off the data: the node list where it is kept, the time grid."""
    read_off = {Derived.NODE_LIST: nodes is not None, Derived.TIME_GRID: schema.time is not None}
    return [str(part) for part, was in read_off.items() if was]


def still_derived(marks: Sequence[str], seen: GraphSchema, confirmed: GraphSchema) -> list[str]:
    """Work out the marks that hold once a curator replaced the schema that was ``seen`` by ``confirmed``.

    A declared count takes the place of the list. A grid is the curator's own only if both its ends are.
    """
    own = set()
    if all(node_type.count is not None for node_type in confirmed.node_types):
        own.add(Derived.NODE_LIST)
    if not _ends(seen.time) & _ends(confirmed.time):
        own.add(Derived.TIME_GRID)
    return [mark for mark in marks if mark not in own]


def inherited(session: Session, dataset: Dataset) -> list[str]:
    """Mark a new version: a schema in use keeps its time grid; nodes come with their upload."""
    earlier = repository.versions(session, [dataset.id]) if dataset.graph_schema is not None else []
    seen = any(Derived.TIME_GRID in version.derived for version in earlier)
    return [str(Derived.TIME_GRID)] if seen else []


def _ends(grid: TimeGrid | None) -> set[tuple[str, int]]:
    if grid is None:
        return set()
    return {("start", grid.start), ("end", grid.start + grid.width * grid.count)}
