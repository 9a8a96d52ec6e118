"""A PSGraph stream that is published tick by tick is the fit over its whole grid.

With one seeded source behind every draw, both must give equal models, equal graphs and equal transcripts;
snapshots may be empty, and ticks may be missing.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy import entropy
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.psgraph import GENERATOR
from papers.psgraph.budget import PSGraphParams
from tests.support.heeded import heeded

NODES, WINDOW = 24, 3
EVERY = np.stack(np.triu_indices(NODES, 1), axis=1)

# One step alone has no past, and what is asked of it is refused.
snapshots = st.lists(st.one_of(st.just(0), st.integers(0, len(EVERY))), min_size=2, max_size=5)
settings_of_params = st.fixed_dictionaries(
    {
        "super_node_size": st.integers(1, 6),
        "threshold_factor": st.sampled_from([0.0, 1.0, 4.0]),
        "preset": st.sampled_from(["default", "paper"]),
        "partition": st.sampled_from(["auto", "super_graph", "label_stream", "single"]),
        "combination": st.sampled_from(["two_steps", "all_past"]),
        "triangle_share": st.sampled_from([0.0, 0.1]),
        "reuse_partition": st.booleans(),
        "count_cap": st.just(5.0),
    }
)


def graph_of(ends: list[np.ndarray]) -> Graph:
    """One snapshot for every array of pairs."""
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(count=len(ends)),
    )
    rows = np.concatenate(ends)
    table = EdgeTable(rows[:, 0], rows[:, 1], np.repeat(np.arange(len(ends)), [len(part) for part in ends]))
    return Graph.build(schema, {"node": NodeTable(NODES)}, {"edge": table})


class OneSource:
    """Puts one seeded generator behind all noise and all public choices; for tests alone."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.true = entropy.noise_generator, mechanisms.discrete_laplace

    def __enter__(self):
        def laplace(values, l1_sensitivity, nano_epsilon):
            return self.true[1](values, l1_sensitivity, nano_epsilon, rng=self.rng)

        entropy.noise_generator, mechanisms.discrete_laplace = lambda: self.rng, laplace

    def __exit__(self, *_):
        entropy.noise_generator, mechanisms.discrete_laplace = self.true


def facts(graph, nano_epsilon, tick=None):
    return PublicFacts(graph.schema, Unit.W_EVENT, WINDOW, nano_epsilon, 0, ("edge",), tick)


def whole(ends, params, nano_epsilon):
    """The fit over the grid: its cells, and the events of every step."""
    graph = graph_of(ends)
    plan = GENERATOR.plan(params, facts(graph, nano_epsilon))
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    spent = [[(e.purpose, e.event) for e in meter.transcript if e.step == t] for t in range(len(ends))]
    return model, spent, plan


def ticked(ends, ticks, params, nano_epsilon, folder):
    """The same snapshots one by one at stream steps ``ticks``, every state through its files."""
    models, spent, plans, state = [], [], [], None
    for part, tick in zip(ends, ticks, strict=True):
        graph = graph_of([part])
        plan = GENERATOR.plan(params, facts(graph, nano_epsilon, tick))
        meter = Meter(plan, MemoryRecorder())
        model, memory = GENERATOR.step(PrivateGraph(graph, meter), plan, params, state, no_progress)
        state = folder / str(tick)
        memory.save(state)
        models.append(model)
        spent.append([(entry.purpose, entry.event) for entry in meter.transcript])
        plans.append(plan)
    return models, spent, plans


@settings(max_examples=40, deadline=None)
@given(snapshots, settings_of_params, st.data())
def test_a_stream_tick_by_tick_is_the_fit_over_its_grid(sizes, chosen, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    shuffled = np.random.default_rng(seed).permutation(EVERY)
    ends = [shuffled[:size] for size in sizes]
    gaps = data.draw(st.lists(st.integers(1, 4), min_size=len(sizes), max_size=len(sizes)))
    ticks = (np.cumsum(gaps) - 1).tolist()
    params, _ = heeded(GENERATOR, facts(graph_of(ends), 900_000_000), **chosen)
    # A window of the finished grid has the grid's steps at most; a live stream's window all of its own.
    each = 900_000_000 // WINDOW
    with OneSource(seed), tempfile.TemporaryDirectory() as folder:
        model, spent, plan = whole(ends, params, each * min(WINDOW, len(ends)))
    with OneSource(seed), tempfile.TemporaryDirectory() as folder:
        models, paid, plans = ticked(ends, ticks, params, each * WINDOW, Path(folder))
    assert paid == spent
    assert [each.first_step for each in plans] == ticks
    assert [one.cost().nano_epsilon for one in plans] == list(plan.cost().per_step) == [each] * len(ends)
    for step, one in enumerate(models):
        ours, theirs = model.cells["edge", step], one.cells["edge", 0]
        assert ours.edges == theirs.edges
        for name in ("labels", "d_in", "d_out"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        first, second = public_generator(seed), public_generator(seed)
        alone = type(model)(one.schema, model.nodes, params, {("edge", 0): ours})
        assert alone.sample(first, no_progress).equals(one.sample(second, no_progress))


def test_psgraph_is_a_stream_generator():
    assert GENERATOR.step is not None


def test_a_step_before_its_state_is_refused(tmp_path):

    params = PSGraphParams()
    with pytest.raises(ValueError, match="order of time"):
        ticked([EVERY[:9], EVERY[:9]], [3, 3], params, 900_000_000, tmp_path)


def test_a_state_does_not_grow_and_holds_no_pickle(tmp_path):
    """What is carried is as large after many ticks as after one, up to what compression makes of it."""
    ends = [EVERY[: 20 + step] for step in range(12)]
    ticked(ends, list(range(12)), PSGraphParams(), 900_000_000, tmp_path)
    sizes = [sum(file.stat().st_size for file in (tmp_path / str(step)).iterdir()) for step in range(12)]
    assert max(sizes) < 1.2 * sizes[0]
    assert {file.name for file in (tmp_path / "11").iterdir()} == {"state.json", "memory.parquet"}
