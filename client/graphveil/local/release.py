"""A release: its graph, report and numbers. The graph is for the tools that people use."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from graphveil.local import engine, picture
from graphveil.problems import InvalidInput

REPORT = "public.json"


def read(folder: str | PathLike[str]) -> Release:
    """Read a release that was saved or downloaded.

    It was downloaded from a service. Raises InvalidInput of the engine where the folder holds none.
    """
    made = Release(Path(fspath(folder)))
    if not (made.folder / "schema.json").is_file():
        raise InvalidInput("the folder holds no release", field="folder")
    return made


class Release:
    """A synthetic graph, with its promise and price.

    ``folder`` holds its files; of a release that was made here it is deleted with the object:
    :meth:`save` keeps it.
    """

    def __init__(self, folder: Path, *, temporary: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.folder = folder
        self._temporary = temporary  # deleted with the object

    @cached_property
    def graph(self) -> ReleasedGraph:
        """The synthetic graph."""
        return ReleasedGraph(self)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Return the public edition of the report.

        All of it may be shown to anybody. Keys ``guarantee``, ``transcript``, ``parameters``, ``precision``,
        ``statistics``, ``totals``, ``provenance``, ``caveats`` and more, as ``docs/report.schema.json``
        describes ``public``.
        """
        path = self.folder / REPORT
        if not path.is_file():
            path = self.folder / "report.json"  # as a service's release is downloaded
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        public: dict[str, Any] = content.get("public", content)
        return public

    @property
    def guarantee(self) -> str:
        """The guarantee in plain words."""
        return str(self.report["guarantee"]["statement"])

    @cached_property
    def measurements(self) -> dict[str, Any]:
        """The noisy numbers that were paid for.

        ``totals``: numbers of edges, each of all answers that tell of it, as in the report; ``measurements``:
        what was counted, with the law of the noise; ``values``: a list of rows with ``measurement`` (its
        place in that list), ``id``, ``key``, ``other_key``, ``value``, ``low`` and ``high``. Empty where a
        method names none.
        """
        listed = self.folder / "measurements.json"
        if not listed.is_file():
            return {"totals": [], "measurements": [], "values": []}
        content: dict[str, Any] = json.loads(listed.read_text(encoding="utf-8"))
        rows = engine.part("publishing.reading").table(self.folder / "measurements.parquet")
        return {**content, "values": rows.to_pylist()}

    def save(self, folder: str | PathLike[str]) -> Path:
        """Copy the files of the release to ``folder``.

        It is made or empty. Nothing of the original is among them.
        """
        target = Path(fspath(folder))
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(f"{target} is there, and not empty")
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def __repr__(self) -> str:
        guarantee, provenance = self.report["guarantee"], self.report["provenance"]
        cost = f"epsilon {guarantee['epsilon']}" if guarantee["epsilon"] else "no guarantee"
        delta = f", delta {guarantee['delta']}" if guarantee["delta"] not in (None, "0") else ""
        return f"Release({provenance['method']}, {cost}{delta}, unit {guarantee['unit']})"

    def _repr_html_(self) -> str:
        return picture.of_release(self.report, self.graph.columns)


class ReleasedGraph:
    """The synthetic graph of a release, for other tools. Conversions need the tool, and nothing else does."""

    def __init__(self, release: Release) -> None:
        self._release = release  # whose files last as long as the graph does
        self._folder = release.folder

    @cached_property
    def columns(self) -> Any:
        """Return the engine's own graph. It has columns of every node type and relation."""
        return engine.part("publishing.reading").read_release(self._folder)

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the release."""
        found: dict[str, Any] = json.loads((self._folder / "schema.json").read_text(encoding="utf-8"))
        return found

    def to_networkx(self) -> Any:
        """Convert to a NetworkX graph.

        Nodes have their ids (``type/id`` where there are several node types), edges ``time``, ``type`` and
        what they carry; it is directed, and a multigraph, where need be.
        """
        return engine.part("graphs.views.convert").to_networkx(self.columns)

    def to_scipy(self, relation: str | None = None, step: int | None = None) -> Any:
        """Build the adjacency of one relation.

        It is of one step or of all: ``scipy.sparse.csr_array`` of shape (n, n), or (n, m) between two node
        types. Row i is the i-th node of its type in :meth:`to_polars`.
        """
        return engine.part("graphs.views.tensors").to_scipy(self.columns, relation, step)

    def to_pyg(self) -> Any:
        """Convert to PyTorch Geometric.

        It is ``Data``, ``TemporalData``, ``HeteroData``, or of a collection a list of ``Data``.
        ``edge_index`` is (2, 2m) int64 where edges have no direction; categories are codes that
        ``categories`` explains.
        """
        return engine.part("graphs.views.tensors").to_pyg(self.columns)

    def to_polars(self) -> tuple[Any, Any]:
        """Read the nodes and the edges as Polars frames.

        Nodes have ``id``, ``type``, attributes; edges ``source``, ``target``, ``type``, ``step``, what they
        carry.
        """
        reading = engine.part("publishing.reading")
        return reading.frame(self._folder / "nodes.parquet"), reading.frame(self._folder / "edges.parquet")

    def to_pandas(self) -> tuple[Any, Any]:
        """Read nodes and edges as pandas frames. They are as those of :meth:`to_polars`."""
        reading = engine.part("publishing.reading")
        nodes, edges = (reading.table(self._folder / f"{each}.parquet") for each in ("nodes", "edges"))
        return nodes.to_pandas(), edges.to_pandas()

    def to_igraph(self) -> Any:
        """Convert to an igraph graph, where igraph is installed.

        Names and attributes are as in :meth:`to_networkx`.
        """
        return engine.part("graphs.views.tensors").to_igraph(self.columns)

    def write(self, path: str | PathLike[str], format: str) -> Path:
        """Write the graph in one of a release's formats.

        They are ``gexf``, ``neo4j``, ``graphml``, ``dgl``, ... Raises UnknownFormat and NotAccepted of the
        engine.
        """
        target = Path(fspath(path))
        engine.part("graphs.formats").get(format).write(self.columns, target)
        return target

    def __repr__(self) -> str:
        counts = {name: table.count for name, table in self.columns.nodes.items()}
        edges = {name: table.count for name, table in self.columns.edges.items()}
        return f"ReleasedGraph({sum(counts.values())} nodes, {sum(edges.values())} edges)"
