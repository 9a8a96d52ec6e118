"""What DPGGAN's benchmarks release: the rows of their tables, and one synthetic graph of a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import networkx as nx
import numpy as np

from benchmarks.graphs import static_graph
from benchmarks.small_graphs import keys
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, GraphSchema
from core.methods.base import FittedModel, Method, Parameters, PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

if TYPE_CHECKING:
    from papers.dpggan.union import Union

DELTA_ATTO = 10**13


@dataclass(frozen=True)
class Row:
    """A method and its parameters; ``delta`` where the plan needs one.

    ``unsafe``: a build that no parameter asks for, whose networks see the original where the noisy graph
    belongs. The decoder stays under DP-SGD. ``together``: all graphs are one collection, in one release.
    """

    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    delta: bool = False
    unsafe: bool = False
    together: bool = False


SGD = {"learn": "link-sgd"}
ALONE = SGD | {"frame": False, "frame_share": 0.1}
PAPERS_DECODER = ALONE | {"hat_share": 0.3, "inputs": "networks", "decoder": "mlp"}
ROWS: dict[str, Row] = {
    "dpggan": Row("dpggan", delta=True),
    "dpggan, one collection": Row("dpggan", delta=True, together=True),
    "dpggan, statistics": Row("dpggan", {"learn": "off"}),
    "dpggan, noisy graph": Row("dpggan", {"learn": "evidence"}),
    "dpggan, learned": Row("dpggan", SGD, delta=True),
    "dpggan, learned, networks": Row("dpggan", SGD | {"inputs": "networks"}, delta=True),
    "dpggan, learned alone": Row("dpggan", ALONE | {"hat_share": 0.8}, delta=True),
    "dpggan, paper's decoder alone": Row("dpggan", PAPERS_DECODER, delta=True),
    "dpgvae, paper's decoder alone": Row("dpgvae", PAPERS_DECODER, delta=True),
    "unsafe: an encoder of the original": Row("dpggan", PAPERS_DECODER, delta=True, unsafe=True),
    "degree_triangle": Row("degree_triangle"),
    "edgerand": Row("edgerand"),
    "psgraph": Row("psgraph"),
    "tmf": Row("tmf"),
    "dpggan, variant paper": Row("dpggan", {"variant": "paper"}),
    "paper, from its encoder": Row("dpggan", {"variant": "paper", "latent": "encoder"}),
    "dpggan, preset paper": Row("dpggan", {"preset": "paper"}),
    "dpgvae, preset paper": Row("dpgvae", {"preset": "paper"}),
    "dpgvae": Row("dpgvae", delta=True),
}
LARGEST = {"draw": "largest"}
# Rows that know no epsilon, and claim nothing.
FREE: dict[str, Row | None] = {
    "original": None,
    "gnm": None,
    "configuration": None,
    "gvae": Row("gvae"),
    "ggan": Row("ggan"),
    "gvae, largest": Row("gvae", LARGEST),
    "ggan, largest": Row("ggan", LARGEST),
    "gvae, largest, 800 steps": Row("gvae", LARGEST | {"epochs": 800}),
    "ggan, largest, 800 steps": Row("ggan", LARGEST | {"epochs": 800}),
    "dpggan, noise on the decoder alone": Row("dpggan", {"preset": "decoder"}),
    "dpgvae, noise on the decoder alone": Row("dpgvae", {"preset": "decoder"}),
    "heterogeneous_walks": Row("heterogeneous_walks"),
    "graphrnn": Row("graphrnn"),
    "diffusion": Row("diffusion", together=True),
}


def planned(row: Row, graph: Graph, epsilon: float) -> tuple[Method, Parameters, PrivacyPlan]:
    """The row's method, parameters and plan. A method without a guarantee does not look at ``epsilon``."""
    generator = get(row.method)
    claims = "paper" in (row.parameters.get("variant"), row.parameters.get("preset"))
    extra = {"claimed_epsilon": epsilon} if claims else {}
    params = generator.Params.varied(**row.parameters, **extra)
    delta = DELTA_ATTO if row.delta else 0
    names = tuple(relation.name for relation in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round((epsilon or 1) * 1e9), delta, names)
    return generator, params, generator.plan(params, facts)


def fitted(row: Row, graph: Graph, epsilon: float) -> FittedModel:
    """The row's model under unit edge."""
    generator, params, plan = planned(row, graph, epsilon)
    with reading(graph) if row.unsafe else nullcontext():
        return generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)


def reading(graph: Graph) -> AbstractContextManager[Any]:
    """Inside, a fit's networks are given the edges of ``graph`` instead of the noisy graph's."""
    from papers.dpggan import training

    true = training.union_of

    def union_of(model: Any, members: tuple[str, ...]) -> Union:
        noisy = true(model, members)
        return replace(noisy, keys=(np.sort(keys(graph)),))

    return mock.patch.object(training, "union_of", union_of)


def row_of(label: str) -> Row | None:
    """The row of a label; None for one that is no method."""
    return ROWS.get(label) or FREE[label]


def release(label: str | Row, graph: Graph, epsilon: float) -> tuple[Graph, float, float]:
    """One synthetic graph of a row or its label, and the CPU seconds of its fit and of its draw."""
    row = label if isinstance(label, Row) else row_of(label)
    started = time.process_time()
    if row is None:
        synthetic = PLAIN[str(label)](graph, noise_generator())
        return synthetic, 0.0, time.process_time() - started
    model = fitted(row, graph, epsilon)
    done = time.process_time()
    synthetic = model.sample(noise_generator(), no_progress)
    return synthetic, done - started, time.process_time() - done


def release_together(label: str, graphs: Sequence[Graph], epsilon: float) -> list[Graph]:
    """One release of a collection of all ``graphs``, taken apart again."""
    sizes = [graph.nodes["node"].count for graph in graphs]
    members = tuple(CollectionGraph(id=str(i), nodes=size) for i, size in enumerate(sizes))
    schema = GraphSchema(collection=Collection(graphs=members))
    names = [member.type_name for member in members]
    tables = {name: graph.edges["edge"] for name, graph in zip(names, graphs, strict=True)}
    row = row_of(label)
    assert row is not None
    model = fitted(row, Graph.build(schema, {}, tables), epsilon)
    drawn = model.sample(noise_generator(), no_progress)
    return [static_graph(size, drawn.edges[name]) for name, size in zip(names, sizes, strict=True)]


def view(graph: Graph) -> UndirectedView:
    """The graph's only relation."""
    return UndirectedView.of(graph.cell("edge", None))


def original(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph itself: what the other rows' classifiers are measured against."""
    return graph


def gnm(graph: Graph, rng: np.random.Generator) -> Graph:
    """Uniform over the graphs with as many edges. Reads the true number of edges."""
    n = graph.nodes["node"].count
    u, v = np.triu_indices(n, 1)
    chosen = rng.choice(len(u), graph.edges["edge"].count, replace=False)
    return static_graph(n, EdgeTable(u[chosen], v[chosen]))


def configuration(graph: Graph, rng: np.random.Generator) -> Graph:
    """Stubs of the true degrees matched at random, loops and repeated pairs dropped. Reads the degrees."""
    degrees = view(graph).degrees
    drawn = nx.Graph(nx.configuration_model(degrees.tolist(), seed=int(rng.integers(2**31))))
    drawn.remove_edges_from(nx.selfloop_edges(drawn))
    ends = np.array(sorted(drawn.edges), dtype=np.int64).reshape(-1, 2)
    return static_graph(len(degrees), EdgeTable(ends[:, 0], ends[:, 1]))


PLAIN: dict[str, Callable[[Graph, np.random.Generator], Graph]] = {
    "original": original,
    "gnm": gnm,
    "configuration": configuration,
}
