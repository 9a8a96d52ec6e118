"""Models of nodes' values: how they are paid for, kept and sampled with the edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import NotAccepted
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import EVERY, GraphSchema
from core.graphs.schema.node_bins import node_bins, synthesised, vectors
from core.methods._shared.frame.model import StoredCells, same_columns
from core.methods._shared.node_values import share as value_share
from core.methods._shared.node_values.blocks import shares_of_part
from core.methods._shared.node_values.ends import Ends
from core.methods._shared.node_values.fit import Meeting, Rows, labelled
from core.methods._shared.node_values.share import Granted
from core.methods._shared.node_values.stage import FOLDER
from core.methods._shared.node_values.vectors import drawn, paid_vectors
from core.methods.base import FittedModel, Mixing, Progress, Training
from core.privacy import entropy
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.session.counted import CountedSession
from core.privacy.session.private_graph import PrivateGraph


@dataclass(frozen=True)
class LabelledModel(FittedModel):
    """A model that samples edges by groups of nodes.

    It is a fitted one, with the bin of every node's value: a cell for each attribute, (node type, its place
    among those that are synthesised). A vector's comes after them: the group of every node, and the shares of
    each group's numbers.
    """

    structure: FittedModel
    values: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample a graph whose nodes carry values. Those of numbers are sampled inside their bins."""
        return self.valued(self.structure.sample(rng, progress), rng)

    def valued(self, graph: Graph, rng: Rng) -> Graph:
        """Give a graph's nodes their values."""
        bins: dict[str, dict[str, Any]] = {}
        laws: dict[str, dict[str, Any]] = {}
        for kind in self.values.schema.node_types:
            plain = synthesised(kind)
            for place, attribute in enumerate((*plain, *vectors(kind))):
                found = self.values.cells.get((kind.name, place))
                if found is not None and place < len(plain):
                    bins.setdefault(kind.name, {})[attribute.name] = found["bins"]
                elif found is not None:
                    laws.setdefault(kind.name, {})[attribute.name] = found
        return with_values(graph, bins, rng, laws)

    def training(self) -> Training:
        """Report how the structure was learned, if it was."""
        return self.structure.training()

    def save(self, folder: Path) -> None:
        """Write both, the nodes' bins below ``folder``."""
        self.structure.save(folder)
        self.values.save(folder / FOLDER)


def with_values(
    graph: Graph,
    bins: Mapping[str, Mapping[str, Any]],
    rng: Rng,
    laws: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType({}),
) -> Graph:
    """Give nodes values by their bins.

    By node type and attribute; those of numbers are sampled inside them.

    ``laws``: of vectors, as :func:`core.methods._shared.node_values.vectors.paid_vectors` gives them.
    """
    nodes = dict(graph.nodes)
    for kind in graph.schema.node_types:
        own, of_vectors = bins.get(kind.name, {}), laws.get(kind.name, {})
        columns = {
            each.name: _column(each, own[each.name], rng) for each in synthesised(kind) if each.name in own
        }
        if of_vectors:
            columns |= {
                each.name: drawn(each, of_vectors[each.name], rng)
                for each in vectors(kind)
                if each.name in of_vectors
            }
        if columns:
            table = nodes[kind.name]
            nodes[kind.name] = NodeTable(table.count, table.ids, {**table.attributes, **columns})
    return Graph.build(graph.schema, nodes, graph.edges)


def _column(attribute: Any, bins: Any, rng: Rng) -> Any:
    if attribute.categories is not None:
        return pa.array(attribute.categories, type=pa.string()).take(pa.array(bins))
    return node_bins(attribute).values(bins.astype("int64"), rng.random(len(bins)))


def paid_model(
    method: str,
    model: Any,
    mixing: Mixing,
    graph: CountedSession,
    plan: PrivacyPlan,
    params: Any,
    progress: Progress,
) -> LabelledModel:
    """Pay for the values of the model's nodes, and give the model their groups."""
    rows, edges = value_share.granted(plan, graph.schema)
    rng, known = entropy.noise_generator(), mixing.ends(model)
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    values: dict[tuple[str, int | None], Any] = {}
    if graph.schema.collection is not None:
        values, groups, shares = _of_graphs(known, _whole(graph), rows, edges, rng)
        stored = StoredCells(method, graph.schema, counts, params, same_columns(values))
        return LabelledModel(mixing.mixed(model, groups, shares) if groups else model, stored)
    kinds, meetings = {}, {}
    for relation in value_share.mixed_along(graph.schema, tuple(edges)):
        between = None if relation.homogeneous else _whole(graph).mixing_between(relation.name)
        asked = known[relation.name], edges[relation.name], between
        meetings[relation.name] = Meeting(relation.source, relation.target, *asked)
    for name, granted in rows.items():
        kind = graph.schema.node_type(name)
        if not synthesised(kind):
            continue
        inside = [each for each, met in meetings.items() if met.source == met.target == name]
        # Of several relations inside the type each has its own communities: none stands for all.
        alone = mixing.communities(model, inside[0]) if len(inside) == 1 else None
        kinds[name] = Rows(
            graph.node_values(name),
            tuple(each.name for each in synthesised(kind)),
            degrees_of(graph.schema, known, name, counts[name]),
            np.zeros(counts[name], np.int64) if alone is None else alone,
            granted.nano_epsilon,
        )
    progress("node attributes", 0, len(rows))
    found = labelled(kinds, meetings, rng)
    for name, rows_of_kind in kinds.items():
        for place, each in enumerate(rows_of_kind.names):
            values[name, place] = {"bins": found.values[name][each].astype(np.int32)}
    for name, granted in rows.items():
        first = None
        if name in kinds:
            attribute = kinds[name].names[0]
            first = attribute, found.of_bin[name], found.values[name][attribute]
        own = vectors(graph.schema.node_type(name))
        laws = paid_vectors(graph.node_values(name), own, granted.vectors, first, counts[name])
        place = len(synthesised(graph.schema.node_type(name)))
        values |= {(name, place + k): law for k, law in enumerate(laws)}
    progress("node attributes", len(rows), len(rows))
    stored = StoredCells(method, graph.schema, counts, params, same_columns(values))
    return LabelledModel(mixing.mixed(model, found.groups, found.blocks) if kinds else model, stored)


def _whole(graph: CountedSession) -> PrivateGraph:
    """Return the session for reads that need edges together. NotAccepted where they are in parts."""
    if not isinstance(graph, PrivateGraph):
        raise NotAccepted(
            "edges in parts are mixed inside one node type alone; leave node_attribute_share out",
            field="node_attribute_share",
        )
    return graph


def _of_graphs(
    known: Mapping[str, Ends],
    graph: PrivateGraph,
    rows: Mapping[str, Granted],
    edges: Mapping[str, int],
    rng: Rng,
) -> tuple[dict[tuple[str, int | None], Any], dict[str, Any], dict[str, Any]]:
    """Pay for the nodes of a collection's graphs together: bins, groups and shares of each graph.

    What pairs of groups gain over chance is the same in all graphs; how many ends a group has is each one's.
    """
    graphs = tuple(each.name for each in graph.schema.edge_types if each.name in rows)
    reads, granted = graph.node_values_together(graphs), next(iter(rows.values()))
    kind, counts = graph.schema.node_type_or_every(EVERY), [graph.node_count(each) for each in graphs]
    cuts, names = np.cumsum(counts)[:-1], tuple(each.name for each in synthesised(kind))
    values: dict[tuple[str, int | None], Any] = {}
    groups: dict[str, Any] = {}
    shares: dict[str, Any] = {}
    first = None
    if names:
        directed = all(known[each].target is not None for each in graphs)
        source = np.concatenate([known[each].source for each in graphs])
        target = np.concatenate([known[each].target for each in graphs]) if directed else None
        ends = Ends(source, target)
        nobody = np.zeros(len(source), np.int64)
        of_rows = Rows(reads, names, ends.both, nobody, granted.nano_epsilon)
        met = Meeting(EVERY, EVERY, ends, min(edges.values()))
        found = labelled({EVERY: of_rows}, {EVERY: met}, rng)
        all_groups = found.groups[EVERY]
        groups = dict(zip(graphs, np.split(all_groups, cuts), strict=True))
        shares = {
            each: shares_of_part(found.blocks[EVERY], all_groups, ends, groups[each], known[each])
            for each in graphs
        }
        first = names[0], found.of_bin[EVERY], found.values[EVERY][names[0]]
        for place, attribute in enumerate(names):
            for each, bins in zip(graphs, np.split(found.values[EVERY][attribute], cuts), strict=True):
                values[each, place] = {"bins": bins.astype(np.int32)}
    laws = paid_vectors(reads, vectors(kind), granted.vectors, first, sum(counts))
    for place, law in enumerate(laws, start=len(names)):
        for each, bins in zip(graphs, np.split(law["bins"], cuts), strict=True):
            values[each, place] = {"bins": bins, "shares": law["shares"]}
    return values, groups, shares


def degrees_of(schema: GraphSchema, ends: Mapping[str, Ends], kind: str, count: int) -> np.ndarray:
    """Sum a type's paid degrees over all its relations. They are those at whose ends it is; float64 (n,)."""
    found = np.zeros(count)
    for name, own in ends.items():
        relation = schema.edge_type(name)
        if relation.source == kind:
            found += own.source
        if relation.target == kind and own.target is not None:
            found += own.target
    return found
