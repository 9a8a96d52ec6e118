"""Documents made at random are read as NetworkX and SciPy read them, or the upload says why not."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from core.graphs.ingest.uploaded import canonicalise
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import UploadedFile
from core.graphs.views.convert import to_networkx

FEW, MANY = 25, 500
NAMES = ("id", "type", "source", "target", "key", "node_id", "label", "full name", "Größe", "1st", "x", "y")
_WRITTEN = {"type", "id", "source", "target", "key"}  # what the writers name ends and edges by
UNWRITABLE = {
    "graphml": {"type"},
    "gml": {*_WRITTEN, "label", "full name", "Größe", "1st", "node_id"},
    "node_link": _WRITTEN,
}
IDS: tuple[Callable[[int], Any], ...] = (
    lambda n: n,
    lambda n: f"n{n}",
    lambda n: f"Ann {n}",
    lambda n: f"#{n}",
    lambda n: f"ä{n}.0",
)


def document(draw: random.Random, form: str) -> nx.Graph:
    """A graph of up to nine nodes, whose attributes have names that structure has too."""
    kind = draw.choice((nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph))
    made, name = kind(), draw.choice(IDS)
    nodes = [name(each) for each in range(draw.randint(1, 9))]
    usable = [each for each in NAMES if each not in UNWRITABLE[form]]
    of_nodes, of_edges = (draw.sample(usable, draw.randint(0, min(3, len(usable)))) for _ in range(2))
    values: tuple[Callable[[], Any], ...] = (
        lambda: draw.randint(-5, 5),
        lambda: draw.choice("pqr"),
        lambda: draw.random(),
    )
    held = {each: draw.choice(values) for each in NAMES}
    for node in nodes:
        made.add_node(node, **{each: held[each]() for each in of_nodes})
    for _ in range(draw.randint(0, 12)):
        made.add_edge(draw.choice(nodes), draw.choice(nodes), **{each: held[each]() for each in of_edges})
    return made


def written(made: nx.Graph, form: str) -> bytes:
    held = io.BytesIO()
    if form == "graphml":
        nx.write_graphml_xml(made, held)
    elif form == "gml":
        nx.write_gml(made, held)
    else:
        held.write(json.dumps(nx.node_link_data(made, edges="links")).encode())
    return held.getvalue()


def as_read(data: bytes, form: str) -> nx.Graph:
    if form == "graphml":
        return nx.read_graphml(io.BytesIO(data), force_multigraph=True)
    if form == "gml":
        return nx.parse_gml(data.decode())
    return nx.node_link_graph(json.loads(data), edges="links")


def ingested(data: bytes, form: str) -> nx.Graph:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "document"
        path.write_bytes(data)
        canonicalise({"edges": UploadedFile(path, form)}, None, Path(folder) / "out")
        return to_networkx(read_graph(Path(folder) / "out"))


def ends(made: nx.Graph) -> set[tuple[str, str]]:
    """The edges that are no loops, each once, by the texts of their ends."""
    pairs = {(str(one), str(two)) for one, two in made.edges() if one != two}
    return pairs if made.is_directed() else {(min(pair), max(pair)) for pair in pairs}


def numbers(made: nx.Graph) -> Iterator[tuple[str, tuple[float, ...]]]:
    for node, data in made.nodes(data=True):
        held = [v for v in data.values() if isinstance(v, int | float) and not isinstance(v, bool)]
        yield str(node), tuple(sorted(map(float, held)))


def agree(form: str, number: int) -> None:
    made = document(random.Random(f"{form} {number}"), form)
    data = written(made, form)
    expected, found = as_read(data, form), ingested(data, form)
    assert set(found) == {str(each) for each in expected}, number
    assert ends(found) == ends(expected), number
    assert dict(numbers(found)) == dict(numbers(expected)), number


def matrices_agree(number: int) -> None:
    draw = random.Random(number)
    rows = draw.randint(1, 6)
    columns = rows if draw.random() < 0.5 else draw.randint(1, 6)
    drawn = np.random.default_rng(number)
    dense = drawn.integers(0, 3, (rows, columns)) * (drawn.random((rows, columns)) < 0.6)
    if rows == columns and draw.random() < 0.3:
        dense = dense + dense.T
    if not dense.any():
        dense[0, 0] = 1
    held = io.BytesIO()
    field = draw.choice(("real", "integer", "pattern"))
    scipy.io.mmwrite(held, sp.coo_array(dense), field=field)
    read = scipy.io.mmread(io.BytesIO(held.getvalue())).tocoo()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix"
        path.write_bytes(held.getvalue())
        report = canonicalise({"edges": UploadedFile(path, "matrix_market")}, None, Path(folder) / "out")
        graph = read_graph(Path(folder) / "out")
    (edge,) = graph.schema.edge_types
    names = [graph.nodes[each].id_array().to_pylist() for each in (edge.source, edge.target)]
    table = graph.edges["edge"]
    found = {(int(names[0][a]), int(names[1][b])) for a, b in zip(table.source, table.target, strict=True)}
    expected = set(zip(read.coords[0].tolist(), read.coords[1].tolist(), strict=True))
    if rows == columns:
        expected = {pair for pair in expected if pair[0] != pair[1]}
        if not edge.directed:
            expected = {(min(pair), max(pair)) for pair in expected}
            found = {(min(pair), max(pair)) for pair in found}
    assert found == expected, (number, report.warnings)
    if edge.attributes and not (rows == columns and not edge.directed):
        assert table.values is not None
        values = dict(zip(zip(*read.coords, strict=True), read.data.tolist(), strict=True))
        stored = zip(table.source, table.target, table.values.columns["weight"], strict=True)
        assert all(values[int(names[0][a]), int(names[1][b])] == value for a, b, value in stored), number


@pytest.mark.parametrize("form", ["graphml", "gml", "node_link"])
def test_documents_agree_with_networkx(form: str) -> None:
    for number in range(FEW):
        agree(form, number)


def test_matrices_agree_with_scipy() -> None:
    for number in range(FEW):
        matrices_agree(number)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["graphml", "gml", "node_link"])
def test_very_many_documents_agree_with_networkx(form: str) -> None:
    for number in range(FEW, FEW + MANY):
        agree(form, number)


@pytest.mark.slow
def test_very_many_matrices_agree_with_scipy() -> None:
    for number in range(FEW, FEW + MANY):
        matrices_agree(number)
