"""Times the evaluation suite on an edge list and prints its statistics.

    python benchmarks/evaluation.py Facebook.txt                a shuffled graph against a random one
    python benchmarks/evaluation.py --random 1000000 20000000   scale: random graphs of n nodes, m edges
    python benchmarks/evaluation.py --typed ml-100k.txt.gz      degree-signature attack on a typed, timed list

Reference figures (SNAP ego-Facebook): 4 039 nodes, 88 234 edges, 1 612 010 triangles, transitivity .519,
mean local clustering .606, assortativity .064, modularity .835, one component. Degree-signature attack on
MovieLens 100k by stored direction, the static layer in every step: 4.192 % (published with THEPUFF).
CPU seconds exclude imports. Prints one JSON line a measurement.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import networkit  # noqa: F401  (imported here so that no measurement contains it)
import numpy as np

from core.evaluation import suite
from core.evaluation.attacks.degree_signature import degree_signature
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def static_graph(n: int, pairs: np.ndarray) -> Graph:
    """The undirected graph on 0..n-1 of an (m, 2) array of pairs."""
    schema = GraphSchema(node_types=(NodeType(count=n),))
    edges = EdgeTable(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))
    return Graph.build(schema, {"node": NodeTable(n)}, {"edge": edges})


def random_graph(n: int, m: int, rng: np.random.Generator) -> Graph:
    """About m edges with power-law ends: P(node i) ~ (i + 10)^-0.5."""
    weights = (np.arange(n) + 10.0) ** -0.5
    ends = np.cumsum(weights) / weights.sum()
    return static_graph(n, np.searchsorted(ends, rng.random((m, 2))).clip(0, n - 1))


def typed_graph(path: Path) -> Graph:
    """A typed temporal graph of gzipped rows ``source target source_type target_type time``; 0: untimed."""
    with gzip.open(path, "rt") as lines:
        rows = np.array([line.split() for line in lines])
    times = rows[:, 4].astype(int)
    types = {}
    for name in np.unique(rows[:, 2:4]):
        ends = [rows[rows[:, 2 + side] == name, side] for side in (0, 1)]
        types[str(name)] = np.unique(np.concatenate(ends))
    edge_types, tables = [], {}
    kinds = np.stack([rows[:, 2], rows[:, 3], np.where(times > 0, "t", "")], axis=1)
    for kind in np.unique(kinds, axis=0):
        source, target, timed = (str(part) for part in kind)
        chosen = (kinds == kind).all(axis=1)
        name = f"{source}-{target}-{timed or 'static'}"
        edge_types.append(
            EdgeType(name=name, source=source, target=target, directed=True, temporal=bool(timed))
        )
        tables[name] = EdgeTable(
            np.searchsorted(types[source], rows[chosen, 0]),
            np.searchsorted(types[target], rows[chosen, 1]),
            times[chosen] - 1 if timed else None,
        )
    node_types = tuple(NodeType(name=t, count=len(ids)) for t, ids in types.items())
    schema = GraphSchema(
        node_types=node_types, edge_types=tuple(edge_types), time=TimeGrid(start=1, count=int(times.max()))
    )
    return Graph.build(schema, {t: NodeTable(len(ids)) for t, ids in types.items()}, tables)


def measured(what: str, call: Callable[[], dict]) -> dict:
    """The call's result, after its CPU and wall seconds are printed."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = call()
    spent = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    print(json.dumps({"measured": what} | {name: round(value, 3) for name, value in spent.items()}))
    return found


def evaluate(graph: Graph, other: Graph) -> None:
    """Prints the statistics of ``graph`` and its comparison with ``other``."""
    found = measured("public_statistics", lambda: suite.public_statistics(graph))
    print(json.dumps(found["edge_types"][0]["means"]))
    compared = measured("compare", lambda: suite.compare(graph, other, lambda *_: None))
    print(json.dumps(compared["overall"]["distances"]))
    print(json.dumps({k: v["relative_error"] for k, v in compared["overall"]["scalars"].items()}))
    print(json.dumps(measured("attacks", lambda: suite.attacks(graph, other))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--random", nargs=2, type=int, metavar=("N", "M"))
    parser.add_argument("--typed", type=Path)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    if asked.typed:
        graph = typed_graph(asked.typed)
        steps = range(graph.schema.steps)
        print(json.dumps(measured("attack", lambda: degree_signature(graph, graph, steps, "out"))))
    elif asked.random:
        n, m = asked.random
        evaluate(random_graph(n, m, rng), random_graph(n, m, rng))
    elif asked.path:
        pairs = np.loadtxt(asked.path, dtype=np.int64)
        n = int(pairs.max()) + 1
        # Ids in the file follow its communities; shuffled, so that no metric can lean on the order.
        graph = static_graph(n, rng.permutation(n)[pairs])
        evaluate(graph, random_graph(n, len(pairs), rng))
    else:
        parser.error("give an edge list, --random or --typed")


if __name__ == "__main__":
    main()
