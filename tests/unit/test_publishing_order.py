"""No order of a file or an object is in a release: it may be that in which edges first name their nodes.

Neighbours, with and without one edge, are read from every kind of input, listed as a library lists the nodes
of a graph that it made of its edges: as edges name them. Published with the same noise, all that does not
come from noise is the same, byte for byte.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array

from core.graphs import formats
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.assembled_objects import graph_of
from core.graphs.ingest.objects import tables_of
from core.graphs.ingest.parted import canonicalise_parts
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, NodeType, Protection
from core.graphs.stored.parted import read_parted
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.graphs.views.pseudonyms import sorted_by_id
from core.privacy.units import Unit
from tests.support.publishing import Fixed, publish

Pairs = Sequence[tuple[str, str]]

NAMES = ("ann", "bob", "cid", "dot", "eve", "flo")
BOTH: Pairs = (("dot", "bob"), ("bob", "ann"), ("cid", "eve"), ("eve", "flo"), ("flo", "ann"))
NEIGHBOURS: tuple[Pairs, Pairs] = ((("eve", "dot"), *BOTH), BOTH)
"""The first edge of the one is missing in the other: eve comes first there, and late here."""
ATTRIBUTE = Attribute(name="town", protection=Protection.PUBLIC)
SAMPLE = ((0, 5), (1, 4), (2, 3), (0, 1))


def seen(pairs: Pairs) -> list[str]:
    """The nodes as edges name them first."""
    return list(dict.fromkeys(name for pair in pairs for name in pair))


def declared(*, counted: bool = False, attributes: bool = True) -> GraphSchema:
    kind = NodeType(count=len(NAMES)) if counted else NodeType(attributes=(ATTRIBUTE,) if attributes else ())
    return GraphSchema(node_types=(kind,), edge_types=(EdgeType(),), node_ids=NodeIds.PUBLIC)


def made(pairs: Pairs) -> nx.Graph:
    graph = nx.Graph(pairs)
    for name in graph:
        graph.nodes[name]["town"] = f"town of {name}"
    return graph


def numbered(pairs: Pairs) -> np.ndarray:
    return np.array([[NAMES.index(name) for name in pair] for pair in pairs])


def frame(pairs: Pairs) -> dict[str, list[str]]:
    return {"source": [source for source, _ in pairs], "target": [target for _, target in pairs]}


def nodes_of(pairs: Pairs) -> dict[str, list[str]]:
    return {"id": seen(pairs), "town": [f"town of {name}" for name in seen(pairs)]}


def matrix(pairs: Pairs) -> Any:
    ends = numbered(pairs)
    both = np.concatenate([ends, ends[:, ::-1]])
    return coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(6, 6))


def pyg(pairs: Pairs) -> Any:
    import torch
    from torch_geometric.data import Data

    ends = numbered(pairs)
    both = np.concatenate([ends, ends[:, ::-1]])
    return Data(edge_index=torch.tensor(both.T.copy()), num_nodes=len(NAMES))


OBJECTS: dict[str, Callable[[Pairs], tuple[object, object, GraphSchema]]] = {
    "networkx": lambda pairs: (made(pairs), None, declared()),
    "pandas": lambda pairs: (pd.DataFrame(frame(pairs)), pd.DataFrame(nodes_of(pairs)), declared()),
    "polars": lambda pairs: (pl.DataFrame(frame(pairs)), pl.DataFrame(nodes_of(pairs)), declared()),
    "arrow": lambda pairs: (pa.table(frame(pairs)), seen(pairs), declared(attributes=False)),
    "scipy": lambda pairs: (matrix(pairs), None, declared(counted=True)),
    "torch_geometric": lambda pairs: (pyg(pairs), None, declared(counted=True)),
}


@pytest.mark.parametrize(
    "kind", [*[*OBJECTS][:-1], pytest.param("torch_geometric", marks=pytest.mark.extras)]
)
def test_neighbours_as_objects(kind: str, tmp_path: Path):
    def read(pairs: Pairs) -> Graph:
        graph, nodes, schema = OBJECTS[kind](pairs)
        return graph_of(tables_of(graph, nodes), schema).graph

    require_alike([read(pairs) for pairs in NEIGHBOURS], tmp_path)


def delimited(mark: str) -> Callable[[Pairs, Path], dict[str, Path]]:
    def write(pairs: Pairs, folder: Path) -> dict[str, Path]:
        edges, nodes = folder / "edges.txt", folder / "nodes.txt"
        edges.write_text("\n".join(mark.join(row) for row in [("source", "target"), *pairs]) + "\n")
        listed = zip(*nodes_of(pairs).values(), strict=True)
        nodes.write_text("\n".join(mark.join(row) for row in [("id", "town"), *listed]) + "\n")
        return {"edges": edges, "nodes": nodes}

    return write


def parquet(pairs: Pairs, folder: Path) -> dict[str, Path]:
    pq.write_table(pa.table(frame(pairs)), folder / "edges.parquet")
    pq.write_table(pa.table(nodes_of(pairs)), folder / "nodes.parquet")
    return {"edges": folder / "edges.parquet", "nodes": folder / "nodes.parquet"}


def graphml(pairs: Pairs, folder: Path) -> dict[str, Path]:
    nx.write_graphml(made(pairs), folder / "graph.graphml")
    return {"edges": folder / "graph.graphml"}


def gml(pairs: Pairs, folder: Path) -> dict[str, Path]:
    nx.write_gml(made(pairs), folder / "graph.gml")
    return {"edges": folder / "graph.gml"}


def node_link(pairs: Pairs, folder: Path) -> dict[str, Path]:
    (folder / "graph.json").write_text(json.dumps(nx.node_link_data(made(pairs), edges="links")))
    return {"edges": folder / "graph.json"}


def pajek(pairs: Pairs, folder: Path) -> dict[str, Path]:
    graph = made(pairs)
    number = {each: place for place, each in enumerate(graph, start=1)}
    lines = [f"*Vertices {len(number)}", *(f'{place} "{each}"' for each, place in number.items()), "*Edges"]
    lines += [f"{number[one]} {number[two]}" for one, two in graph.edges()]
    (folder / "graph.net").write_text("\n".join(lines) + "\n")
    return {"edges": folder / "graph.net"}


def matrix_market(pairs: Pairs, folder: Path) -> dict[str, Path]:
    rows = [f"{high + 1} {low + 1}" for low, high in np.sort(numbered(pairs))]
    head = ["%%MatrixMarket matrix coordinate pattern symmetric", f"6 6 {len(rows)}"]
    (folder / "graph.mtx").write_text("\n".join([*head, *rows]) + "\n")
    return {"edges": folder / "graph.mtx"}


def npz(pairs: Pairs, folder: Path) -> dict[str, Path]:
    from scipy.sparse import save_npz

    save_npz(folder / "graph.npz", matrix(pairs).tocsr())
    return {"edges": folder / "graph.npz"}


def metis(pairs: Pairs, folder: Path) -> dict[str, Path]:
    others: dict[int, list[int]] = {number: [] for number in range(1, len(NAMES) + 1)}
    for one, two in numbered(pairs).tolist():
        others[one + 1].append(two + 1)
        others[two + 1].append(one + 1)
    lines = [f"{len(NAMES)} {len(pairs)}", *(" ".join(map(str, each)) for each in others.values())]
    (folder / "graph.metis").write_text("\n".join(lines) + "\n")
    return {"edges": folder / "graph.metis"}


FILES: dict[str, tuple[Callable[[Pairs, Path], dict[str, Path]], GraphSchema]] = {
    "csv": (delimited(","), declared()),
    "tsv": (delimited("\t"), declared()),
    "parquet": (parquet, declared()),
    "graphml": (graphml, declared()),
    "gml": (gml, declared()),
    "node_link": (node_link, declared()),
    "pajek": (pajek, declared(attributes=False)),
    "matrix_market": (matrix_market, declared(counted=True)),
    "metis": (metis, declared(counted=True)),
    "npz": (npz, declared(counted=True)),
}


def by_itself(form: str) -> Callable[[Pairs, Path], dict[str, Path]]:
    """As the format itself writes it, nodes in the order that edges name them."""

    def write(pairs: Pairs, folder: Path) -> dict[str, Path]:
        names = seen(pairs)
        towns = pa.array([f"town of {name}" for name in names])
        ends = np.array([[names.index(name) for name in pair] for pair in pairs])
        nodes = {"node": NodeTable(len(names), pa.array(names), {"town": towns})}
        edges = {"edge": EdgeTable(ends[:, 0].copy(), ends[:, 1].copy())}
        formats.get(form).write(Graph.build(declared(), nodes, edges), folder / "edges")
        if formats.reader(form).carries_nodes:
            return {"edges": folder / "edges"}
        return parquet(pairs, folder) | {"edges": folder / "edges"}

    return write


@pytest.mark.parametrize("form", formats.read_names())
def test_neighbours_as_uploads(form: str, tmp_path: Path):
    write, schema = FILES.get(form) or (by_itself(form), declared())
    graphs = []
    for number, pairs in enumerate(NEIGHBOURS):
        (folder := tmp_path / f"upload-{number}").mkdir()
        files = {
            part: UploadedFile(path, "parquet" if path.suffix == ".parquet" else form)
            for part, path in write(pairs, folder).items()
        }
        canonicalise(files, schema, folder / "graph")
        graphs.append(read_graph(folder / "graph"))
    require_alike(graphs, tmp_path)


def test_neighbours_in_parts(tmp_path: Path):
    listed = []
    for number, pairs in enumerate(NEIGHBOURS):
        (folder := tmp_path / f"upload-{number}").mkdir()
        files = {part: UploadedFile(path, "csv") for part, path in delimited(",")(pairs, folder).items()}
        out = folder / "graph"
        limits, schema = IngestLimits(), declared()
        canonicalise_parts(files, schema, out, limits, lambda *_: None, fingerprint_key=bytes(32))
        table = read_parted(out).nodes["node"]
        listed.append((table.id_array().to_pylist(), table.attributes["town"].to_pylist()))
    assert listed[0] == listed[1]
    assert listed[0][0] == sorted(NAMES)


def test_a_universe_that_was_stored_in_another_order_is_released_in_that_of_its_ids(tmp_path: Path):
    """As graphs were stored once: in the order of their list."""
    graph = graph_of(tables_of(made(BOTH)), declared()).graph
    order = np.array([3, 1, 5, 0, 4, 2])
    back, edges = np.argsort(order), graph.edges["edge"]
    before = Graph.build(
        graph.schema,
        {"node": graph.nodes["node"].taken(order)},
        {"edge": EdgeTable(back[edges.source], back[edges.target])},
    )
    again, orders = sorted_by_id(before)
    assert again.nodes["node"].id_array().to_pylist() == sorted(NAMES)
    assert orders["node"].tolist() == back.tolist()
    for one, other in zip(pairs_of(again), pairs_of(graph), strict=True):
        assert one == other
    # The fit sees that order too: what its sample says of the first node, it says of the first id.
    released = [published(stored, tmp_path / str(place)) for place, stored in enumerate((before, graph))]
    assert released[0] == released[1]


def test_ids_that_are_numbers_are_sorted_as_numbers():
    table = pa.table({"id": ["10", "9", "-2", "100"]})
    schema = GraphSchema(node_types=(NodeType(),), edge_types=(EdgeType(),))
    built = graph_of(tables_of(pa.table({"source": ["10"], "target": ["9"]}), table), schema).graph
    assert built.nodes["node"].id_array().to_pylist() == ["-2", "9", "10", "100"]


def pairs_of(graph: Graph) -> list[tuple[str, str]]:
    names, table = graph.nodes["node"].id_array().to_pylist(), graph.edges["edge"]
    return sorted((names[a], names[b]) for a, b in zip(table.source, table.target, strict=True))


def published(graph: Graph, out: Path) -> dict[str, bytes]:
    """What a release holds beside its report, by file, where the noise says always the same."""
    ends = np.array(SAMPLE)
    sample = Graph.build(graph.schema, graph.nodes, {"edge": EdgeTable(ends[:, 0].copy(), ends[:, 1].copy())})
    publish(
        Fixed(sample), graph, out, unit=Unit.EDGE, edge_types=("edge",), formats=("csv", "graphml", "gml")
    )
    released = out / "job" / "release"
    return {
        path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted(released.iterdir())
        if path.name.startswith(("nodes", "edges", "graph"))
    }


def require_alike(graphs: Sequence[Graph], folder: Path) -> None:
    assert pairs_of(graphs[0]) != pairs_of(graphs[1])
    one, other = (published(graph, folder / f"out-{number}") for number, graph in enumerate(graphs))
    assert one.keys() == other.keys()
    assert {"nodes.parquet", "edges.parquet"} <= one.keys()
    assert one == other
