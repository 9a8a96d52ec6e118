"""Typed temporal graphs for benchmarks: generated ones in the shapes of public data, and declared facts.

The shapes are those that THEPUFF's paper prints (Table 7); their data are not used. Degrees on both sides are
heavy-tailed, sources prefer one of 16 groups of targets, and every source is active in few steps.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.load import load_typed
from benchmarks.typed_metrics import Reading
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

GROUPS = 16
MOST_DENSITY = 0.01
INSIDE = 0.6  # share of a source's edges that go to its own group


@dataclass(frozen=True)
class Sizes:
    """The public sizes of a generated graph: sources meet targets over time, every target has one class."""

    names: tuple[str, str, str]
    sources: int
    targets: int
    classes: int
    edges: int
    steps: int
    once: bool

    def scaled(self, share: float) -> Sizes:
        """About ``share`` of the sources, targets and edges; classes and steps stay.

        More of the nodes where their pairs would else be linked for more than ``MOST_DENSITY``: a small graph
        that is nearly full is another problem than a large sparse one.
        """
        density = self.edges / (self.sources * self.targets)
        nodes = max(share, min(1.0, math.sqrt(share * density / MOST_DENSITY)))
        sources, targets = (max(8, round(nodes * count)) for count in (self.sources, self.targets))
        edges = max(8, round(share * self.edges))
        return replace(self, sources=sources, targets=targets, edges=edges)


# Edges are those of the timed relation; every target adds one untimed edge.
SHAPES = {
    "taobao": Sizes(("user", "item", "category"), 310_000, 690_000, 9_800, 2_240_000, 10, once=False),
    "ml-20m": Sizes(("user", "movie", "genre"), 138_500, 27_270, 20, 20_000_000, 21, once=True),
}


def shaped(sizes: Sizes, seed: int = 1) -> Graph:
    """A graph of these sizes: relations ``SOURCE-TARGET`` (timed) and ``TARGET-CLASS`` (untimed, functional).

    About 2 % fewer edges than asked for may remain, as repeats are dropped. The same seed gives the same
    graph. O(edges log edges).
    """
    rng = np.random.default_rng(seed)
    source, target, klass = sizes.names
    keys, step = _timed(sizes, rng)
    timed, fixed = f"{source}-{target}", f"{target}-{klass}"
    counts = dict(zip(sizes.names, (sizes.sources, sizes.targets, sizes.classes), strict=True))
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=count) for name, count in counts.items()),
        edge_types=(
            EdgeType(name=timed, source=source, target=target, temporal=True, once=sizes.once),
            EdgeType(name=fixed, source=target, target=klass, functional=True),
        ),
        time=TimeGrid(count=sizes.steps),
    )
    popular = 1 / (1 + np.arange(sizes.classes))  # shares of classes by Zipf's law
    own = rng.choice(sizes.classes, size=sizes.targets, p=popular / popular.sum())
    tables = {
        timed: EdgeTable(keys // sizes.targets, keys % sizes.targets, step),
        fixed: EdgeTable(np.arange(sizes.targets), own),
    }
    return Graph.build(schema, {name: NodeTable(count) for name, count in counts.items()}, tables)


def _timed(sizes: Sizes, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Keys ``source * targets + target`` and their steps, distinct pairs or distinct (pair, step)."""
    group = np.sort(rng.integers(0, GROUPS, sizes.targets))  # targets stand group by group
    bound = np.searchsorted(group, np.arange(GROUPS + 1))
    # Caps keep a node's weight below the number of partners that it could have.
    weight = np.cumsum(_tail(sizes.targets, 2.0, sizes.targets**0.5, rng))
    weight = np.concatenate([[0.0], weight])
    active = np.cumsum(_tail(sizes.sources, 2.3, sizes.sources**0.4, rng))
    preferred = rng.integers(0, GROUPS, sizes.sources)
    begins = rng.integers(0, sizes.steps, sizes.sources)
    lasts = rng.geometric(0.5, sizes.sources)

    def stepped(source: np.ndarray) -> np.ndarray:
        return (begins[source] + rng.integers(0, lasts[source])) % sizes.steps

    found = np.empty(0, dtype=np.int64)
    for _ in range(40):
        missing = sizes.edges - len(found)
        if missing <= 0.02 * sizes.edges:
            break
        source = np.searchsorted(active, rng.random(int(1.3 * missing) + 10) * active[-1], side="right")
        own = preferred[source]
        near = rng.random(len(source)) < INSIDE
        low = np.where(near, weight[bound[own]], 0.0)
        high = np.where(near, weight[bound[own + 1]], weight[-1])
        target = np.searchsorted(weight, low + rng.random(len(source)) * (high - low), side="right") - 1
        drawn = source * sizes.targets + np.clip(target, 0, sizes.targets - 1)
        if not sizes.once:
            drawn = drawn * sizes.steps + stepped(source)
        found = _distinct(np.concatenate([found, drawn]))
    found = rng.permutation(found)[: sizes.edges]
    pairs, step = (found, stepped(found // sizes.targets)) if sizes.once else np.divmod(found, sizes.steps)
    # Numbers must not give the groups away.
    number = rng.permutation(sizes.targets)
    return pairs // sizes.targets * sizes.targets + number[pairs % sizes.targets], step.astype(np.int32)


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Sorted, each once; several times faster than ``np.unique`` on tens of millions of keys."""
    keys.sort()
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


def _tail(count: int, exponent: float, most: float, rng: np.random.Generator) -> np.ndarray:
    """Weights with a power-law tail, at most ``most``."""
    return np.minimum((1 - rng.random(count)) ** (-1 / (exponent - 1)), most)


def declared(graph: Graph, once: Collection[str] = (), functional: Collection[str] = ()) -> Graph:
    """The same graph with these relations declared ``once`` over time, and ``functional``.

    Raises ValueError where the data break a declaration: facts are declared, never repaired.
    """
    relations = []
    for kind in graph.schema.edge_types:
        table = graph.edges[kind.name]
        columns = graph.nodes[kind.target].count
        pairs = table.source.astype(np.int64) * columns + table.target
        if kind.name in functional:
            _require_distinct(np.unique(pairs) // columns, f"{kind.name} functional")
        if kind.name in once:
            _require_distinct(pairs, f"{kind.name} once")
        facts = {"once": kind.name in once, "functional": kind.name in functional}
        relations.append(kind.model_copy(update=facts))
    schema = GraphSchema.model_validate(
        graph.schema.model_copy(update={"edge_types": tuple(relations)}).model_dump()
    )
    return Graph(schema, graph.nodes, graph.edges)


def _require_distinct(keys: np.ndarray, what: str) -> None:
    if len(np.unique(keys)) < len(keys):
        raise ValueError(f"the data are not {what}")


@dataclass(frozen=True)
class Dataset:
    """A public data set of the tables: where it stands, what it declares, and what is looked at closely."""

    path: str
    once: tuple[str, ...]
    functional: tuple[str, ...]
    reading: Reading


DATASETS = {
    "ml-100k": Dataset(
        "ml-100k/ml-100k.txt.gz",
        ("u-m-timed",),
        ("u-o-static",),
        Reading("u-m-timed", ("~u-o-static", "u-m-timed", "m-g-static")),
    ),
    # Papers stand under two names, so that no chain joins authors and fields.
    "dblp": Dataset(
        "dblp_kdd/dblp_kdd.txt.gz",
        ("a-p-timed", "p-f-timed", "p-p-timed"),
        (),
        Reading("p-f-timed", ("~a-o-static", "a-p-timed")),
    ),
}


def load_dataset(name: str, folder: Path) -> Graph:
    """One of ``DATASETS`` from the folder that holds them, with its facts declared."""
    dataset = DATASETS[name]
    (graph,) = load_typed(folder / dataset.path)
    return declared(graph, dataset.once, dataset.functional)
