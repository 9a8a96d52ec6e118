"""keyframe as a stream: no window costs more than epsilon, and ticks one by one are the fit of the grid."""

import json
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.methods.keyframe import GENERATOR, KeyframeParams
from core.methods.keyframe.budget import NODES_SINCE
from core.methods.keyframe.state import load_state
from core.methods.keyframe.tail import thresholds
from core.privacy import entropy
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import SET_ASIDE, SINCE_BEFORE
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import Before, PrivateGraph
from core.privacy.units import Unit
from tests.support.groups import examples

NODES = 24
EVERY = np.stack(np.triu_indices(NODES, 1), axis=1)
NAMES = ("calls", "mails")

shares = st.builds(
    lambda count, tail, cells, kept, first: KeyframeParams(
        count_share=count, tail_share=tail, cells_share=cells, kept_share=kept, first_frame=first
    ),
    st.floats(0.01, 0.35),
    st.floats(0.01, 0.35),
    st.floats(0.01, 0.15),
    st.floats(0, 0.13),
    st.integers(0, 30),
)


def schema_of(steps: int, names=NAMES, period=None) -> GraphSchema:
    relations = tuple(EdgeType(name=name, temporal=True) for name in names)
    grid = TimeGrid(count=steps, period=period)
    return GraphSchema(node_types=(NodeType(count=NODES),), edge_types=relations, time=grid)


def plan_of(params, steps, window, nano_epsilon, tick=None, names=NAMES):
    facts = PublicFacts(schema_of(steps, names), Unit.W_EVENT, window, nano_epsilon, 0, names, tick)
    return GENERATOR.plan(params, facts)


@settings(max_examples=examples(100), deadline=None)
@given(shares, st.integers(1, 12), st.integers(10**7, 10**10), st.sets(st.integers(0, 60), min_size=1))
def test_no_window_of_live_ticks_costs_more_than_epsilon(params, window, nano_epsilon, ticks):
    """Ticks may be missing; each is charged what its own plan says, at its place in the account."""
    account = [0] * (60 + 2 * window)
    for tick in ticks:
        amounts = plan_of(params, 1, window, nano_epsilon, tick).spend("basic")
        assert amounts.pop("untimed") == amounts.pop("delta") == 0
        ((name, amount),) = amounts.items()
        account[int(name.removeprefix("step/"))] += amount
    assert account[60 + window :] == [0] * window
    fullest = max(sum(account[start : start + window]) for start in range(len(account)))
    assert fullest <= nano_epsilon
    if ticks >= set(range(2 * window)):
        assert fullest > nano_epsilon * 0.99, "and a full window has next to nothing left over"


@settings(max_examples=examples(100), deadline=None)
@given(shares, st.integers(1, 12), st.integers(1, 40), st.integers(10**7, 10**10))
def test_no_window_of_a_grid_costs_more_than_epsilon(params, window, steps, nano_epsilon):
    plan = plan_of(params, steps, window, nano_epsilon)
    amounts = plan.spend("basic")
    account = [amounts[f"step/{step}"] for step in range(steps)]
    assert max(sum(account[start : start + window]) for start in range(steps)) <= nano_epsilon
    assert plan.cost().nano_epsilon <= nano_epsilon
    clock = min(window, steps)
    frames = sorted({a.step for a in plan.allotments if a.purpose == "key frame"})
    assert [step % clock for step in frames] == [params.first_frame % clock] * len(frames)
    assert len(frames) >= steps // clock


@given(st.integers(1, 50))
def test_live_and_whole_grids_keep_one_clock(window):
    """A grid of at least one window costs every step what the live stream's tick costs."""
    params, steps = KeyframeParams(first_frame=2), window + 7
    whole = plan_of(params, steps, window, 10**9).spend("basic")
    live = {}
    for tick in range(steps):
        live |= plan_of(params, 1, window, 10**9, tick).spend("basic")
    assert live == whole


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


def graph_of(snapshots, names, period=None) -> Graph:
    ends = np.concatenate(snapshots).reshape(-1, 2)
    steps = np.repeat(np.arange(len(snapshots)), [len(part) for part in snapshots])
    table = EdgeTable(ends[:, 0], ends[:, 1], steps)
    schema = schema_of(len(snapshots), names, period)
    return Graph.build(schema, {"node": NodeTable(NODES)}, dict.fromkeys(names, table))


def run_live(snapshots, ticks, window, params, names, scratch, nano_epsilon=10**10, period=None):
    """The model of every tick, each published from the state that the one before it stored."""
    folder, models, last = None, {}, None
    for tick in ticks:
        graph = graph_of([snapshots[tick]], names, period)
        plan = plan_of(params, 1, window, nano_epsilon, tick, names)
        meter = Meter(plan, MemoryRecorder())
        known = plan.looks_back and last is not None and last[0] == tick - 1
        private = PrivateGraph(graph, meter, before=Before(*last[1:]) if known else None)
        model, state = GENERATOR.step(private, plan, params, folder, no_progress)
        last = tick, graph, private.aside.left(0)
        read = {each.purpose for each in meter.transcript}
        assert (SINCE_BEFORE in read) == known
        folder = Path(scratch, str(tick))
        state.save(folder)
        assert {path.suffix for path in folder.iterdir()} == {".json", ".parquet"}
        models[tick] = model
    return models


@settings(max_examples=examples(12), deadline=None)
@given(
    st.lists(st.one_of(st.just(0), st.integers(0, len(EVERY))), min_size=4, max_size=7),
    shares,
    st.integers(1, 4),
    st.integers(0, 2**32),
    st.sampled_from([None, 2, 3]),
)
def test_ticks_one_by_one_are_the_fit_of_the_grid(sizes, params, window, seed, period):
    rng = np.random.default_rng(seed)
    snapshots = [EVERY[rng.permutation(len(EVERY))[:size]] for size in sizes]
    names = ("calls",)
    plan = plan_of(params, len(sizes), window, 10**10, None, names)
    with OneSource(seed):
        graph = PrivateGraph(graph_of(snapshots, names, period), Meter(plan, MemoryRecorder()))
        whole = GENERATOR.fit(graph, plan, params, no_progress)
    with OneSource(seed), tempfile.TemporaryDirectory() as scratch:
        ticks = range(len(sizes))
        live = run_live(snapshots, ticks, window, params, names, scratch, period=period)
        again = {
            tick: GENERATOR.load(saved(model, Path(scratch, f"model{tick}"))) for tick, model in live.items()
        }
    for tick, model in live.items():
        for name, column in whole.cells["calls", tick].items():
            np.testing.assert_array_equal(model.cells["calls", 0][name], column)
        one, other = (
            each.sample(public_generator(3), no_progress).cell("calls", 0) for each in (model, again[tick])
        )
        np.testing.assert_array_equal(one.source, other.source)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("sent", [(0, 1, 2, 3, 4), (0, 2, 3, 4, 6), (0, 1, 3, 2, 4), (2, 1, 0, 3, 4)])
def test_what_steps_lose_to_reads_was_charged_to_them_in_whatever_order_they_are_published(
    window, sent, tmp_path
):
    """A step that was lost is sent anew once later ones are out. A read of two steps costs both its half."""
    params, out, charged, lost = KeyframeParams(), dict[int, tuple[Graph, dict[str, int]]](), {}, Counter()
    for tick in sent:
        plan = plan_of(params, 1, window, 10**12, tick)
        charged[tick] = plan.spend("basic")[f"step/{tick}"]
        last = max((each for each in out if each < tick), default=None)
        meter = Meter(plan, MemoryRecorder())
        graph = graph_of([EVERY[:40]], NAMES)
        private = PrivateGraph(graph, meter, before=Before(*out[tick - 1]) if tick - 1 in out else None)
        folder = None if last is None else tmp_path / str(last)
        _, state = GENERATOR.step(private, plan, params, folder, no_progress)
        state.save(tmp_path / str(tick))
        out[tick] = graph, private.aside.left(0)
        for each in meter.transcript:
            if each.purpose != SET_ASIDE:
                lost[each.edge_type, tick] += each.event.nano_epsilon
            if each.purpose in (SINCE_BEFORE, NODES_SINCE):
                lost[each.edge_type, tick - 1] += each.event.nano_epsilon
    for start in range(1 - window, max(sent) + 1):
        inside = [tick for tick in sent if start <= tick < start + window]
        paid = sum(charged[tick] for tick in inside)
        assert sum(max(lost[name, tick] for name in NAMES) for tick in inside) <= paid <= 10**12


def test_edges_stay_in_live_streams_as_in_whole_grids(tmp_path):
    """Of one stream's edges, 16 of 24 are the same at every step: as many stay in either sequence."""
    rng, steps, runs = np.random.default_rng(5), 5, 12
    same = EVERY[rng.permutation(len(EVERY))]
    snapshots = [np.concatenate([same[:16], same[16 + 8 * t : 24 + 8 * t]]) for t in range(steps)]
    params, names = KeyframeParams(), ("calls",)
    plan = plan_of(params, steps, steps, 10**12, None, names)

    def shares(sequence):
        return [len(np.intersect1d(one, other)) / len(other) for one, other in pairwise(sequence[1:])]

    found = {"live": [], "whole": []}
    for run in range(runs):
        graph = PrivateGraph(graph_of(snapshots, names), Meter(plan, MemoryRecorder()))
        whole = GENERATOR.fit(graph, plan, params, no_progress).sample(public_generator(run), no_progress)
        folder = tmp_path / str(run)
        folder.mkdir()
        live = run_live(snapshots, range(steps), steps, params, names, folder, 10**12)
        samples = [live[tick].sample(public_generator(run), no_progress) for tick in range(steps)]
        found["whole"] += shares([keys_of(whole, step) for step in range(steps)])
        found["live"] += shares([keys_of(each, 0) for each in samples])
    assert np.mean(found["whole"]) == pytest.approx(16 / 24, abs=0.08)
    assert np.mean(found["live"]) == pytest.approx(np.mean(found["whole"]), abs=0.06)


def keys_of(graph: Graph, step: int) -> np.ndarray:
    cell = graph.cell("calls", step)
    return cell.source.astype(np.int64) * NODES + cell.target


def saved(model, folder: Path) -> Path:
    model.save(folder)
    return folder


def stored_before(folder: Path, framed: int | None) -> Path:
    """A state of format 1, of one relation after step 5: 80 edges, node 0 of degree 20."""
    folder.mkdir()
    bank = [[80.0]] * 6
    tail = [[9.0] * len(thresholds(NODES))] * 6
    row = {
        "step": 5,
        "edges": 80.0,
        "count": {"level": bank, "variance": [[2.0]] * 6, "evidence": [[0.0]] * 6},
        "tail": {"level": tail, "variance": tail, "evidence": tail},
        "nodes": NODES,
        "variance": 0.5,
        "ratio": [1.0] * 3,
        "ratio_variance": [0.15] * 3,
        "frame_step": framed,
        "frame_edges": 80.0 if framed is not None else 0.0,
    }
    (folder / "state.json").write_text(json.dumps({"format": 1, "relations": {"calls": row}}))
    score = np.where(np.arange(NODES) == 0, 20.0, 60 / 23)
    table = pa.table({"score": score, "label": np.zeros(NODES, np.int8)})
    pq.write_table(table, folder / "nodes.parquet")
    return folder


@pytest.mark.parametrize("framed", [4, None])
def test_streams_that_ran_before_go_on(framed, tmp_path):
    """Their filters and scores are taken over, degrees as shares of the mean that they were seen beside."""
    memory = load_state(stored_before(tmp_path / "before", framed))["calls"]
    assert memory.count.estimate()[0] == pytest.approx(80, abs=0.5)
    if framed is not None:
        assert memory.nodes.score[0] == pytest.approx(20 * NODES / 160)
    graph = graph_of([EVERY[:80]], ("calls",))
    params = KeyframeParams()
    plan = plan_of(params, 1, 4, 10**11, 6, ("calls",))
    meter = Meter(plan, MemoryRecorder())
    before = tmp_path / "before"
    model, state = GENERATOR.step(PrivateGraph(graph, meter), plan, params, before, no_progress)
    assert len(model.sample(public_generator(2), no_progress).cell("calls", 0).source) == pytest.approx(
        80, abs=4
    )
    state.save(tmp_path / "after")
    again = load_state(tmp_path / "after")["calls"]
    np.testing.assert_array_equal(again.count.weight, state.memory["calls"].count.weight)


def test_a_state_of_an_unknown_format_is_refused(tmp_path):
    folder = stored_before(tmp_path / "later", 4)
    text = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(text | {"format": 4}))
    with pytest.raises(ValueError, match="format"):
        load_state(folder)


@pytest.mark.parametrize("ticks", [(3, 4, 6), (5,), (1, 2, 9, 17), (4, 8, 12)])
def test_ticks_may_be_missing_and_the_first_needs_no_key_frame(ticks, tmp_path):
    """Window 4: the first two streams see no key frame before 4 and 8; the third misses all of them."""
    rng = np.random.default_rng(1)
    snapshots = [EVERY[rng.random(len(EVERY)) < 0.2] for _ in range(18)]
    # An epsilon at which noise adds or takes an edge at most.
    models = run_live(snapshots, ticks, 4, KeyframeParams(), NAMES, tmp_path, 10**11)
    for tick, model in models.items():
        synthetic = model.sample(public_generator(2), no_progress)
        for name in NAMES:
            assert len(synthetic.cell(name, 0).source) == pytest.approx(len(snapshots[tick]), abs=4)


def test_steps_come_in_order(tmp_path):
    snapshots = [EVERY[:9]] * 3
    with pytest.raises(ValueError, match="in order"):
        run_live(snapshots, (2, 1), 4, KeyframeParams(), ("calls",), tmp_path)


def test_a_live_stream_takes_unit_w_event_only():
    facts = PublicFacts(schema_of(1), Unit.EVENT, None, 10**9, 0, NAMES, 4)
    with pytest.raises(errors.NotAccepted, match="w-event"):
        GENERATOR.plan(KeyframeParams(), facts)
