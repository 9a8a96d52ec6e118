"""Tables with their mapping: planned, released here, or uploaded."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.tables import back, graph, writing
from graphveil.tables.layout import layout_of, promise
from graphveil.tables.mapping import NAME, Mapped, mapping_of
from graphveil.tables.reading import Source, is_url, read_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from graphveil.local.release import Release
    from graphveil.local.synthesis import Plan
    from graphveil.sdk.client import Graphveil


def read(source: Source, mapping: Mapped | None = None) -> Tables:
    """Read tables whose mapping is answered.

    ``source``: frames by name, a folder of CSV or Parquet files, or a database's URL. ``mapping``: a mapping,
    or the path of its YAML; ``tables.yaml`` in the folder unless said. Every key and value is checked here,
    before anything is charged. Raises InvalidInput, which says how to mend it.
    """
    if mapping is None:
        if isinstance(source, Mapping) or is_url(source):
            raise InvalidInput("say what the tables are: mapping='tables.yaml'", field="mapping")
        mapping = Path(fspath(source)) / NAME
    return Tables(source, mapping)


class Tables:
    """Tables with their mapping, checked."""

    def __init__(self, source: Source, mapping: Mapped) -> None:
        self.mapping = mapping_of(mapping)
        self._layout = layout_of(self.mapping)
        self._private = tempfile.TemporaryDirectory(prefix="graphveil-tables-")  # deleted with the object
        self._folder = Path(self._private.name)
        self.schema = graph.write_graph(self._layout, read_tables(source, self.mapping), self._folder)

    @property
    def unit(self) -> str:
        """The unit of a dataset that these tables are uploaded to."""
        return self._layout.unit

    @property
    def promise(self) -> str:
        """What one release hides, in words of tables."""
        return promise(self._layout)

    def plan(self, epsilon: str | float, **asked: Any) -> Plan:
        """Plan a release: its reads and cost, as :func:`graphveil.plan`, and what it hides; nothing is
        charged."""
        from graphveil.local.synthesis import plan

        edges, nodes = self._folder / "edges.parquet", self._folder / "nodes.parquet"
        made = plan(edges, epsilon, nodes=nodes, schema=self.schema, unit=self.unit, **asked)
        return replace(made, protects=self.promise)

    def synthesize(self, epsilon: str | float, **asked: Any) -> SyntheticTables:
        """Release synthetic tables here. ``asked``: ``budget`` and whatever else :func:`graphveil.synthesize`
        takes.
        """
        from graphveil.local.synthesis import synthesize

        edges, nodes = self._folder / "edges.parquet", self._folder / "nodes.parquet"
        release = synthesize(edges, epsilon, nodes=nodes, schema=self.schema, unit=self.unit, **asked)
        return SyntheticTables(release, self.mapping)

    def upload(self, service: Graphveil, dataset_id: str) -> None:
        """Upload the graph to a dataset that has its schema and unit: see :meth:`register`."""
        for part in ("nodes", "edges"):
            path = self._folder / f"{part}.parquet"  # whose column of types a single type does not have
            service.upload(dataset_id, path, part=part, options={"extra_columns": "ignore"})

    def register(self, service: Graphveil, name: str, epsilon: str, **declared: Any) -> str:
        """Declare a dataset of these tables, with its budget. Return its id."""
        made = service.register_dataset(
            name, unit=self.unit, epsilon=epsilon, graph_schema=self.schema, **declared
        )
        return made.id


class SyntheticTables:
    """Synthetic tables of a release, with its promise and price. Nothing of the original is in them."""

    def __init__(self, release: Release, mapping: Mapped) -> None:
        self.release, self.mapping = release, mapping_of(mapping)
        self._layout = layout_of(self.mapping)
        self.tables: dict[str, pa.Table] = back.tables_of(self._layout, release.folder)

    def __getitem__(self, name: str) -> pa.Table:
        return self.tables[name]

    @property
    def guarantee(self) -> str:
        """The promise, in words of tables and then of the graph."""
        return f"{promise(self._layout)} {self.release.guarantee}"

    def to_pandas(self) -> dict[str, Any]:
        """Return the tables as pandas frames."""
        return {name: table.to_pandas() for name, table in self.tables.items()}

    def write(self, to: str | PathLike[str], format: str = "csv") -> None:
        """Write the tables to a folder, with DDL, or into an empty database by its URL."""
        if is_url(to):
            writing.write_database(self.mapping, self.tables, str(to))
        else:
            writing.write_files(self.mapping, self.tables, Path(fspath(to)), format)


def back_to_tables(release: str | PathLike[str], mapping: Mapped) -> SyntheticTables:
    """Read the folder of a release as tables; a service's release too."""
    from graphveil.local.release import read as read_release

    return SyntheticTables(read_release(release), mapping)
