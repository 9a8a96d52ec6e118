"""What the experiments of all papers share: arguments, data of one's own, and files that runs go on from."""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results_file import Line
from core.graphs.graph import Graph
from core.graphs.ingest.assembled_objects import store
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import read_graph
from papers._shared.benchmarks.fetch import Fetch

CURVE = 60
"""Points of a curve that are kept, each the mean of its steps."""


def parser_of(paper: str, description: str | None, *, runs: str, quick: str) -> argparse.ArgumentParser:
    """Make the parser of ``graphveil reproduce PAPER``. ``runs``, ``quick``: the help of these two."""
    made = argparse.ArgumentParser(
        prog=f"graphveil reproduce {paper}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--out",
        type=Path,
        default=Path(paper),
        metavar="FOLDER",
        help=f"{paper} by default; runs that it holds stay",
    )
    made.add_argument("--data", type=Path, help="a file of edges that the service takes")
    made.add_argument("--schema", type=Path, help="the schema of --data, JSON")
    made.add_argument("--nodes", type=Path, help="the list of nodes of --data")
    made.add_argument("--runs", type=int, choices=range(1, 101), metavar="1..100", help=runs)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument(
        "--fetch",
        action=Fetch,
        paper=paper,
        metavar="FOLDER",
        help="download the paper's public data into FOLDER, check them, and end",
    )
    return made


def own_schema(asked: argparse.Namespace, instead: str) -> GraphSchema:
    """Read the schema of ``--data``. ValueError where a file is missing; ``instead``: the other option."""
    if asked.data is None or asked.schema is None:
        raise ValueError(f"give --data FILE with its --schema, or {instead}")
    for path in filter(None, (asked.data, asked.schema, asked.nodes)):
        if not path.is_file():
            raise ValueError(f"there is no file {path}")
    return GraphSchema.model_validate_json(asked.schema.read_text(encoding="utf-8"))


def own_graph(asked: argparse.Namespace, schema: GraphSchema) -> Graph:
    """Read ``--data`` as the service does."""
    with tempfile.TemporaryDirectory() as folder:
        store(asked.data, Path(folder), schema=schema, nodes=asked.nodes, public=True)
        return read_graph(Path(folder))


def name_of(asked: argparse.Namespace, graph: Graph, *chosen: str) -> str:
    """Name ``--data`` by its file, and by what was read and ``chosen``, so that a resume mixes no graphs."""
    digest = hashlib.sha256(repr((graph.schema, chosen)).encode())
    for name, nodes in graph.nodes.items():
        digest.update(f"{name} {nodes.count}".encode())
        for key, column in nodes.attributes.items():
            told = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
            digest.update(repr((key, told)).encode())
    for name, edges in graph.edges.items():
        digest.update(f"{name} {edges.count}".encode())
        for ends in (edges.source, edges.target, edges.step):
            digest.update(b"" if ends is None else np.ascontiguousarray(ends).tobytes())
    return f"{asked.data.stem}-{digest.hexdigest()[:12]}"


def keep(kept: Path, line: Line) -> None:
    """Add a run to the file."""
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def by_cell(lines: Iterable[Line], data: str, quick: bool) -> dict[float, dict[str, list[Line]]]:
    """Group the runs of a graph by epsilon, ascending, and by system."""
    found: dict[float, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if (line["data"], line["quick"]) == (data, quick):
            found[line["epsilon"]][line["system"]].append(line)
    return dict(sorted(found.items()))


def thinned(curve: Any) -> list[tuple[int, float]]:
    """Keep at most CURVE points."""
    parts = np.array_split(np.asarray(curve, dtype=np.float64), min(CURVE, max(len(curve), 1)))
    ends = np.cumsum([len(part) for part in parts])
    return [(int(end), float(part.mean())) for end, part in zip(ends, parts, strict=True) if len(part)]


def write(out: Path, paper: str, text: Iterator[str], picture: str | None) -> None:
    """Write the tables, and the picture where there is one."""
    (out / f"{paper}.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    if picture is not None:
        (out / f"{paper}.svg").write_text(picture, encoding="utf-8")
