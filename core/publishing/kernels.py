"""Every compiled kernel, used once. It is on made-up graphs, so that the first job finds them compiled.

A kernel is compiled for the types that it is called with, which only calls say.
:mod:`core.publishing.ship_kernels` keeps what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from core.errors import NotAccepted
from core.evaluation import suite
from core.evaluation.attacks.run import run_attacks
from core.evaluation.metric import LEARNED_NEEDS, Suite
from core.evaluation.tasks.run import run_tasks
from core.graphs.columns.key_sort import MANY, sorted_keys
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.matching.near import near_keys
from core.methods._shared.rewiring.clustering import ToldClustering
from core.methods._shared.rewiring.triangles import Targets, rewired
from core.methods._shared.shards.draw import strips
from core.methods._shared.shards.law import strip_law
from core.methods._shared.shards.values import bins_of_edges
from core.methods.base import Method, Progress, PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import fresh_key, noise_generator, public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.first_releases import release_all

NODES, STEPS, LINKS = 60, 3, 240
NANO_EPSILON, DELTA_ATTO, WINDOW = 2 * 10**9, 10**12, 2


def compile_kernels(progress: Progress) -> None:
    """Publish every sort of graph, and compare two. Each goes by its default and by every method that takes
    it.

    Methods that learn come last, and the comparisons in between: what is used most is there first. Minutes
    of processor time where nothing is compiled yet, half a minute where all is. What needs libraries that are
    not installed is left out: no release here uses its kernels.
    """
    release_all()
    sorted_keys(np.arange(MANY, dtype=np.uint64)[::-1].copy())  # which these graphs are too small for
    _draw_shards()
    _draw_groups()
    near_keys(np.full(NODES, 3), NODES, noise_generator())
    every = sorted((registry.get(name) for name in sorted(registry.runnable())), key=_learns)
    cases = [(generator, graph, unit) for generator in every for graph, unit in _shapes(generator)]
    for done, (generator, graph, unit) in enumerate(cases):
        progress("kernels", done, len(cases) + 1)
        if done and _learns(generator) and not _learns(cases[done - 1][0]):
            _compare()
        _publish(generator, graph, unit)
    progress("kernels", len(cases) + 1, len(cases) + 1)


def _draw_shards() -> None:
    """Draw a graph strip by strip."""
    zero = np.zeros(1, dtype=np.int64)
    weights, blocks = np.ones(NODES, dtype=np.int64), Blocks(zero, zero, np.array([LINKS]))
    law = strip_law(weights, np.zeros(NODES, dtype=np.int16), blocks, fresh_key(), noise_generator())
    one, every = np.ones((1, 2), dtype=np.uint32), np.zeros(NODES, dtype=np.int32)
    classes, pairs = every.astype(np.uint8), np.ones((1, 1, 2), dtype=np.uint32)
    for ends in strips(law, range(law.strips)):
        words = np.zeros(len(ends[0]), dtype=np.uint64)
        bins_of_edges(ends, (one, one), (every, every), (classes, classes), pairs, words)


def _draw_groups() -> None:
    """Bring a graph to its triangles as one of many edges is; in groups, and back to moves, as they miss."""
    keys = np.unique(np.stack(np.triu_indices(NODES, 1)).T @ [NODES, 1])[::4]
    measured = ToldClustering(0.5 * NODES, 8, NANO_EPSILON)
    for clustering in (None, measured):
        targets = Targets(len(keys), len(keys), 0.02, clustering)
        labels = np.zeros(NODES, dtype=np.int64)
        rewired(keys, NODES, labels, targets, 10 * LINKS, noise_generator(), grouped_from=0)


def made_up(
    *, steps: int | None = None, directed: bool = False, items: bool = False, persons: bool = False
) -> Graph:
    """Draw a random graph of one relation. It has a second node type at its other end if ``items``.

    ``persons``: the first node type is declared protected, as the unit node asks.
    """
    names = ("node", "item") if items else ("node",)
    relation = EdgeType(target=names[-1], directed=directed or items, temporal=steps is not None)
    schema = GraphSchema(
        node_types=tuple(
            NodeType(name=name, count=NODES, protected=persons and name == "node") for name in names
        ),
        edge_types=(relation,),
        time=None if steps is None else TimeGrid(count=steps),
    )
    rng = public_generator(0)
    keys = np.unique(rng.integers(0, NODES * NODES, LINKS))
    source, target = np.divmod(keys, NODES)
    if not items:
        kept = source < target if not directed else source != target
        source, target = source[kept], target[kept]
    step = None if steps is None else rng.integers(0, steps, len(source))
    nodes = {name: NodeTable(NODES) for name in names}
    return Graph.build(schema, nodes, {relation.name: EdgeTable(source, target, step)})


def _shapes(generator: Method) -> Iterator[tuple[Graph, Unit]]:
    """Yield the graphs that the method takes, each under a unit that it supports."""
    for unit in sorted(generator.units):
        times = [steps for steps in (None, STEPS) if unit.takes(temporal=steps is not None)]
        for steps, (directed, items) in product(times, ((False, False), (True, False), (False, True))):
            graph = made_up(steps=steps, directed=directed, items=items, persons=unit is Unit.NODE)
            try:
                generator.plan(generator.Params(), _facts(generator, graph, unit))
            except NotAccepted:
                continue
            yield graph, unit


def _facts(generator: Method, graph: Graph, unit: Unit) -> PublicFacts:
    return PublicFacts(
        schema=graph.schema,
        unit=unit,
        window=WINDOW if unit is Unit.W_EVENT else None,
        nano_epsilon=NANO_EPSILON,
        delta_atto=0 if generator.kinds == {GuaranteeKind.PURE} else DELTA_ATTO,
        edge_types=tuple(relation.name for relation in graph.schema.edge_types),
    )


def _publish(generator: Method, graph: Graph, unit: Unit) -> None:
    params = generator.Params()
    plan = generator.plan(params, _facts(generator, graph, unit))
    private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    generator.fit(private, plan, params, no_progress).sample(noise_generator(), no_progress)


def _compare() -> None:
    for steps in (None, STEPS):
        graph = made_up(steps=steps)
        for level in (Suite.STANDARD, *(() if registry.missing(LEARNED_NEEDS) else (Suite.FULL,))):
            suite.compare(graph, graph, level, no_progress)
            run_attacks(graph, graph, level, no_progress)
            run_tasks(graph, graph, level, no_progress)


def _learns(generator: Method) -> bool:
    """Tell whether the method trains, or only protects against attacks: slower here, and asked for less."""
    return GuaranteeKind.NONE in generator.kinds
