"""The public schema of an upload, and which public facts were read off the data.

They are parts of a schema and universe; every release carries their marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy.orm import Session

from core.datasets import repository
from core.datasets.models import EDGES, NODES, Dataset, DatasetPart, DatasetVersion
from core.graphs import formats
from core.graphs.counted import reference
from core.graphs.ingest.read_off import marks_of, still_read_off
from core.graphs.schema import Derived, GraphSchema


def declared_schema(session: Session, version: DatasetVersion) -> GraphSchema:
    """Return the public schema of a version. It is what was declared with it, or else its dataset's."""
    declared = version.graph_schema or repository.existing(session, version.dataset_id).graph_schema
    return GraphSchema.model_validate(declared)


def derived_parts(schema: GraphSchema, *, nodes: bool) -> list[str]:
    """Mark a proposal. ``nodes``: its node list was read off the edges, or is a document's own."""
    return [str(mark) for mark in marks_of(schema, nodes=nodes)]


def still_derived(marks: Sequence[str], seen: GraphSchema, confirmed: GraphSchema) -> list[str]:
    """Keep the marks that still hold. A curator replaced the schema that was ``seen`` by ``confirmed``."""
    return [str(mark) for mark in still_read_off([Derived(mark) for mark in marks], seen, confirmed)]


def marked_universe(
    marks: Sequence[str], schema: GraphSchema, edges: DatasetPart, nodes: DatasetPart | None = None
) -> list[str]:
    """Add the mark of an undeclared node list. It is that of a document which lists its nodes itself.

    It may have been made of its edges. A declared count takes its place, and so does a list: ``nodes``.
    """
    elsewhere = edges.format == reference.FORMAT
    listed = nodes is not None or elsewhere or not formats.reader(edges.format).carries_nodes
    if Derived.NODE_LIST in marks or schema.counted or listed:
        return list(marks)
    return [str(Derived.NODE_LIST), *marks]


def marks_on(version: DatasetVersion, parts: Callable[[], Iterable[DatasetPart]]) -> tuple[Derived, ...]:
    """List the marks of a version. That of a document's own node list is looked for in its ``parts``.

    A version may have been accepted before such lists were marked: its report says no reading then.
    """
    marks: Sequence[str] = version.derived
    if "readings" in (version.ingest_report or {}):
        return tuple(map(Derived, marks))
    own = {part.part: part for part in parts() if part.version_id == version.id}
    if version.graph_schema is not None and EDGES in own:
        schema = GraphSchema.model_validate(version.graph_schema)
        marks = marked_universe(marks, schema, own[EDGES], own.get(NODES))
    return tuple(map(Derived, marks))


def stored_marks(session: Session, version: DatasetVersion) -> tuple[Derived, ...]:
    """List the marks of a version for a release of it."""
    return marks_on(version, lambda: repository.parts(session, [version.id]))


def inherited(session: Session, dataset: Dataset) -> list[str]:
    """Mark a new version. A schema in use keeps its marks; nodes come with their upload."""
    earlier = repository.versions(session, [dataset.id]) if dataset.graph_schema is not None else []
    seen = {mark for version in earlier for mark in version.derived} - {Derived.NODE_LIST}
    return [str(mark) for mark in Derived if mark in seen]
