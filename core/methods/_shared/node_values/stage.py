"""The stage that draws protected node attributes together with edges.

The method spends what the share leaves of an edge's epsilon. The stage then pays for nodes by value and for
who meets whom, deals every node values, and hands the method's model the nodes' groups and what share of the
edges is to lie between each two of them. How edges are sampled by that is the method's own: see
:class:`core.methods.base.Mixing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from core.graphs.schema import GraphSchema, NodeType
from core.graphs.schema.node_bins import moved_by, node_bins, synthesised, vectors
from core.graphs.views.joined import EVERY, node_type_of
from core.methods._shared.frame.plan import divide
from core.methods._shared.frame.stages import Share, Stage
from core.methods._shared.node_values import share as value_share
from core.methods._shared.node_values.share import Granted
from core.methods.base import FittedModel, Method, Mixing, Progress, PublicFacts, Training
from core.privacy import entropy
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan, rows_of
from core.privacy.entropy import Generator as Rng

VECTORS = value_share.OF_A_VECTOR.partition("/")[2]

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.methods._shared.frame.model import StoredCells
    from core.methods._shared.node_values.ends import Ends
    from core.privacy.session.private_graph import PrivateGraph


class NodeValueStage(Stage):
    """Protected attributes of nodes, sampled with the edges.

    Labels, and who meets whom, are inside the method's own sampling. ``mixing()``: how the method's model
    takes groups; imports what it needs.
    """

    share: ClassVar[Share] = value_share
    folder = "node_values"
    subject = "protected node attributes are"

    def __init__(self, mixing: Callable[[], Mixing]) -> None:
        self.mixing = mixing

    def described(self, method: Method) -> Method:
        """Add synthetic node values to the method's releases.

        They come where a share is set aside for them.
        """
        return replace(
            method,
            carries_nodes=self.asked,
            carries_vectors=self.asked,
            node_values_plan=self.plan_of,
            mixing=self.mixing,
        )

    def spends(self, params: Any, public: PublicFacts) -> int:
        """Return a unit's spending on it, in nano-epsilon. That is 0 where edges pay for nothing of it."""
        return value_share.given_up(public, getattr(params, self.field))

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List the least that a row pays for its tables.

        They are the tables of its attributes, for each node type. Edges by their ends' values are left out:
        their noise follows from a cap that paid degrees set.
        """
        return _row_reads(plan, schema)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> LabelledModel:
        return _labelled(method, model, self.mixing(), graph, plan, params, progress)

    def restored(self, model: Any, stored: StoredCells) -> LabelledModel:
        return LabelledModel(model, stored)


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
        return with_values(self.structure.sample(rng, progress), bins, rng, laws)

    def training(self) -> Training:
        """Report how the structure was learned, if it was."""
        return self.structure.training()

    def save(self, folder: Path) -> None:
        """Write both, the nodes' bins below ``folder``."""
        self.structure.save(folder)
        self.values.save(folder / NodeValueStage.folder)


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
    from core.graphs.graph import Graph, NodeTable

    nodes = dict(graph.nodes)
    for kind in graph.schema.node_types:
        own, of_vectors = bins.get(kind.name, {}), laws.get(kind.name, {})
        columns = {
            each.name: _column(each, own[each.name], rng) for each in synthesised(kind) if each.name in own
        }
        if of_vectors:
            from core.methods._shared.node_values.vectors import drawn

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
    import pyarrow as pa

    if attribute.categories is not None:
        return pa.array(attribute.categories, type=pa.string()).take(pa.array(bins))
    return node_bins(attribute).values(bins.astype("int64"), rng.random(len(bins)))


def _row_reads(plan: PrivacyPlan, schema: GraphSchema) -> list[PlannedRead]:
    """List what a row of each node type pays for the tables of its attributes, at least."""
    from core.methods._shared.node_values.fit import TABLES, TABLES_OF_SEVERAL

    rows, _ = value_share.granted(plan, schema)
    reads: list[PlannedRead] = []
    if schema.collection is not None and rows:  # which are read together
        rows = {EVERY: min(rows.values(), key=lambda each: each.nano_epsilon)}
    for name, own in rows.items():
        kind = node_type_of(schema, name)
        reads += vector_reads(kind, own)
        count = len(synthesised(kind))
        if not count:
            continue
        tables = TABLES if count == 1 else TABLES_OF_SEVERAL
        costs = divide(own.nano_epsilon, *[tables / count] * count)[:-1]
        reads.append(PlannedRead(rows_of(name), "node_values", (min(costs),)))
    return reads


def vector_reads(kind: NodeType, own: Granted) -> Iterator[PlannedRead]:
    """List the reads of a type's vectors, each with what it costs or with its noise."""
    for vector, noise in zip(vectors(kind), own.vectors, strict=True):
        moved = moved_by(vector)
        if isinstance(noise, Pure):
            yield PlannedRead(rows_of(kind.name), VECTORS, (noise.nano_epsilon,), moved=moved)
        else:
            spread = float(noise) * math.sqrt(moved)
            yield PlannedRead(rows_of(kind.name), VECTORS, (), deviation=spread)


def _labelled(
    method: str,
    model: Any,
    mixing: Mixing,
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: Any,
    progress: Progress,
) -> LabelledModel:
    from core.methods._shared.frame.model import StoredCells, same_columns
    from core.methods._shared.node_values.fit import Meeting, Rows, labelled
    from core.methods._shared.node_values.vectors import paid_vectors

    rows, edges = value_share.granted(plan, graph.schema)
    rng, known = entropy.noise_generator(), mixing.ends(model)
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    values: dict[tuple[str, int | None], Any] = {}
    if graph.schema.collection is not None:
        values, groups, shares = _of_graphs(known, graph, rows, edges, rng)
        stored = StoredCells(method, graph.schema, counts, params, same_columns(values))
        return LabelledModel(mixing.mixed(model, groups, shares) if groups else model, stored)
    kinds, meetings = {}, {}
    for relation in value_share.mixed_along(graph.schema, tuple(edges)):
        between = None if relation.homogeneous else graph.mixing_between(relation.name)
        asked = known[relation.name], edges[relation.name], between
        meetings[relation.name] = Meeting(relation.source, relation.target, *asked)
    for name, granted in rows.items():
        kind = graph.schema.node_type(name)
        if not synthesised(kind):
            continue
        inside = [each for each, met in meetings.items() if met.source == met.target == name]
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
    from core.methods._shared.node_values.blocks import shares_of_part
    from core.methods._shared.node_values.ends import Ends
    from core.methods._shared.node_values.fit import Meeting, Rows, labelled
    from core.methods._shared.node_values.vectors import paid_vectors

    graphs = tuple(each.name for each in graph.schema.edge_types if each.name in rows)
    reads, granted = graph.node_values_together(graphs), next(iter(rows.values()))
    kind, counts = node_type_of(graph.schema, EVERY), [graph.node_count(each) for each in graphs]
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
