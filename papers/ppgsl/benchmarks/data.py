"""The graphs of PPGSL's experiments, and its protocol: which links are sensitive, which are asked about."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from core.evaluation.attacks.targets import LinkTargets, draw_targets
from core.evaluation.tasks.subjects import labels_of, public_features
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType, Protection
from core.graphs.views.sensitive import SensitiveLinks

if TYPE_CHECKING:
    from core.evaluation.learning.features import Features

FOLDERS = {"cora": "cora", "citeseer": "citeseer", "polblogs": "polblogs", "lastfm": "lastfm_asia"}
EDGES = {"lastfm": "lastfm_asia_edges.csv"}
LABELS = {"lastfm": "lastfm_asia_target.csv"}
TENTH = 0.1


def load(name: str, data: Path) -> Graph:
    """The graph as one undirected relation ``edge``; public ``class``, and ``words`` where it has them."""
    folder = data / FOLDERS[name]
    pairs = _numbers(folder / EDGES.get(name, "edges.csv"))
    nodes, classes = _numbers(folder / LABELS.get(name, "labels.csv")).T
    count = int(max(pairs.max(), nodes.max())) + 1
    label = np.full(count, None, dtype=object)
    label[nodes[classes >= 0]] = [str(each) for each in classes[classes >= 0]]
    attributes = [Attribute(name="class", protection=Protection.PUBLIC, label=True)]
    columns: dict[str, np.ndarray | pa.Array] = {"class": pa.array(label.tolist(), pa.string())}
    if (folder / "features.csv.gz").exists():
        with gzip.open(folder / "features.csv.gz", "rt") as file:
            ones = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)
        words = np.zeros((count, int(ones[:, 1].max()) + 1), dtype=np.float32)
        words[ones[:, 0], ones[:, 1]] = 1
        columns["words"] = words
        attributes.append(Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC))
    schema = GraphSchema(node_types=(NodeType(count=count, attributes=tuple(attributes)),))
    edges = {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])}
    return Graph.build(schema, {"node": NodeTable(count, None, columns)}, edges)


def random_graph(nodes: int, mean_degree: int, seed: int = 1) -> Graph:
    """An Erdos-Renyi graph without attributes."""
    ends = np.random.default_rng(seed).integers(0, nodes, (2, nodes * mean_degree // 2))
    schema = GraphSchema(node_types=(NodeType(count=nodes),))
    return Graph.build(schema, {}, {"edge": EdgeTable(*ends)})


@dataclass(frozen=True)
class Case:
    """One draw of the protocol: a tenth of the links is sensitive, another tenth is to be predicted.

    ``given``: what a method gets, sensitive links included and, unless they were ``left`` in, the tested ones
    taken out. ``sensitive``, ``tested``: places among the links of ``whole``.
    """

    graph: Graph
    whole: UndirectedView
    sensitive: np.ndarray
    tested: np.ndarray
    given: Graph
    seed: int

    @property
    def secret(self) -> SensitiveLinks:
        """The list that the method gets."""
        ends = self.whole.u[self.sensitive], self.whole.v[self.sensitive]
        return SensitiveLinks.of(self.given, {"edge": ends})

    @property
    def visible(self) -> UndirectedView:
        """The graph without the sensitive links: what would be published without a defence."""
        table = self.given.edges["edge"]
        n = self.whole.node_count
        keys = np.setdiff1d(table.source.astype(np.int64) * n + table.target, self._keys(self.sensitive))
        return UndirectedView.of_pairs(n, keys // n, keys % n)

    def _keys(self, places: np.ndarray) -> np.ndarray:
        return self.whole.u[places] * self.whole.node_count + self.whole.v[places]

    def targets(self, places: np.ndarray) -> LinkTargets:
        """The links at ``places`` and as many uniform pairs without one."""
        ends = self.whole.u[places], self.whole.v[places]
        return draw_targets(self.whole, 2 * len(places), self.seed, "uniform", ends)

    @cached_property
    def features(self) -> Features | None:
        """The public features, as attackers and tasks read them."""
        return public_features(self.graph, ("node",))

    @cached_property
    def classes(self) -> np.ndarray | None:
        """The class of every node, -1 for none; None without a label."""
        labels = labels_of(self.graph)
        return labels[0].classes if labels and labels[0].not_run is None else None


def case(graph: Graph, seed: int, left: bool) -> Case:
    """The draw of a seed: the same sensitive and tested links whether the latter are left in or not."""
    whole = UndirectedView.of(graph.cell("edge", None))
    order = np.random.default_rng(seed).permutation(whole.edge_count)
    tenth = int(TENTH * whole.edge_count)
    sensitive, tested = order[:tenth], order[tenth : 2 * tenth]
    kept = np.sort(order if left else np.delete(order, np.arange(tenth, 2 * tenth)))
    edges = {"edge": EdgeTable(whole.u[kept], whole.v[kept])}
    given = Graph.build(graph.schema, graph.nodes, edges)
    return Case(graph, whole, sensitive, tested, given, seed)


def again(view: UndirectedView, of: Case, seed: int) -> Case:
    """A case on a released graph: an attacker's, who runs the defence once more on what is public."""
    edges = {"edge": EdgeTable(view.u, view.v)}
    return case(Graph.build(of.graph.schema, of.graph.nodes, edges), seed, left=True)


def _numbers(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
