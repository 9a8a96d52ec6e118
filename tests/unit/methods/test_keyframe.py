"""keyframe: what each step pays, what comes back without noise, and what a stream carries on."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.methods.keyframe import GENERATOR, KeyframeParams
from core.methods.keyframe.budget import StepBudget
from core.methods.keyframe.counts import JUMP, EdgeCount
from core.methods.keyframe.draw import cells
from core.methods.keyframe.filters import DRIFTS, FORGETTING, Bank
from core.methods.keyframe.step import MEMORY, Nodes, _framed
from core.methods.keyframe.tail import Counters, curve, longest, sequence, thresholds, to_total
from core.privacy import entropy
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 10**9
NODES = 200


@pytest.fixture(autouse=True)
def one_order(monkeypatch):
    """Ties are broken alike in every run; at an epsilon of 1000 the noise is zero."""
    monkeypatch.setattr(entropy, "noise_generator", lambda: np.random.default_rng(6))


def graph_of(snapshots: list[np.ndarray], nodes: int = NODES, names: tuple[str, ...] = ("edge",)) -> Graph:
    """The same snapshots, arrays of pairs, in every relation."""
    schema = GraphSchema(
        node_types=(NodeType(count=nodes),),
        edge_types=tuple(EdgeType(name=name, temporal=True) for name in names),
        time=TimeGrid(count=len(snapshots)),
    )
    ends = np.concatenate(snapshots).reshape(-1, 2)
    table = EdgeTable(
        ends[:, 0], ends[:, 1], np.repeat(np.arange(len(snapshots)), [len(s) for s in snapshots])
    )
    return Graph.build(schema, {"node": NodeTable(nodes)}, dict.fromkeys(names, table))


def all_pairs(nodes: int = NODES) -> np.ndarray:
    return np.stack(np.triu_indices(nodes, 1), axis=1)


def hubs(nodes: int = NODES) -> np.ndarray:
    """Nodes 7 and 50 know half of the others, and 60 further pairs know each other."""
    rng = np.random.default_rng(4)
    others = rng.permutation(np.setdiff1d(np.arange(nodes), [7, 50]))
    half = len(others) // 2
    star = [[hub, other] for hub in (7, 50) for other in rng.permutation(others)[:half]]
    return np.concatenate([np.array(star), others[:120].reshape(60, 2)])


def planned(graph: Graph, unit=Unit.W_EVENT, window=None, epsilon=1.0, tick=None, **params):
    names = tuple(edge.name for edge in graph.schema.edge_types)
    window = window if unit is Unit.W_EVENT else None
    facts = PublicFacts(graph.schema, unit, window, int(epsilon * NANO), 0, names, tick)
    return GENERATOR.plan(KeyframeParams(**params), facts)


def fit(graph: Graph, plan, **params):
    meter = Meter(plan, MemoryRecorder())
    return GENERATOR.fit(PrivateGraph(graph, meter), plan, KeyframeParams(**params), no_progress), meter


def degrees_of(ends, nodes: int = NODES) -> np.ndarray:
    source, target = ends
    return np.bincount(source, minlength=nodes) + np.bincount(target, minlength=nodes)


def drawn(model, step: int, seed: int = 1, relation: str = "edge"):
    cell = model.sample(public_generator(seed), no_progress).cell(relation, step)
    return cell.source, cell.target


def frames(plan, relation: str = "edge") -> list[int]:
    return [a.step for a in plan.allotments if a.purpose == "key frame" and a.edge_type == relation]


def steps_spent(plan) -> list[int]:
    """Nano-epsilon of each step of the first relation."""
    found = [0] * plan.steps
    for allotment in plan.allotments:
        if allotment.edge_type == plan.allotments[0].edge_type:
            found[allotment.step] += allotment.event.nano_epsilon
    return found


def test_it_publishes_live_streams():
    assert GENERATOR.step is not None


@pytest.mark.parametrize(("steps", "window", "first", "expected"), [
    (11, 5, 0, [0, 5, 10]),
    (11, 5, 3, [3, 8]),
    (11, 5, 13, [3, 8]),
    (3, 10, 0, [0]),
    (3, 10, 2, [2]),
    (4, 1, 0, [0, 1, 2, 3]),
])  # fmt: skip
def test_key_frames_come_by_the_clock(steps, window, first, expected):
    plan = planned(graph_of([hubs()] * steps), window=window, first_frame=first)
    assert frames(plan) == expected
    spent = steps_spent(plan)
    reach = min(window, steps)
    for start in range(1 - reach, steps):
        assert sum(spent[max(0, start) : start + reach]) <= NANO
    assert plan.cost().nano_epsilon > 0.999 * NANO


@pytest.mark.parametrize(("few", "counted"), [(False, 0.55), (True, 0.45)])
def test_a_tick_pays_what_its_place_in_the_stream_says(few, counted):
    graph = graph_of([hubs()])
    spent = {
        tick: sum(planned(graph, window=4, tick=tick, first_frame=2, few_nodes=few).spend("basic").values())
        for tick in range(9)
    }
    counters, half = int(counted * NANO) // 4, int(0.035 * NANO * 3 / 7)
    for tick, amount in spent.items():
        due = {2: (1 - counted) * NANO - half, 3: half}.get(tick % 4, 0)
        assert amount == pytest.approx(counters + due, abs=8)
    assert planned(graph, window=4, tick=6).first_step == 6


def test_event_frames_every_step_and_pair_frames_once():
    graph = graph_of([hubs()] * 4, names=("calls", "mails"))
    event, pair = (planned(graph, unit=unit) for unit in (Unit.EVENT, Unit.PAIR))
    assert frames(event, "mails") == [0, 1, 2, 3]
    assert all(0.999 * NANO < amount <= NANO for amount in steps_spent(event))
    assert frames(pair, "calls") == frames(pair, "mails") == [0]
    assert 0.999 * NANO < pair.cost().nano_epsilon <= NANO


@pytest.mark.parametrize("few", [False, True])
def test_a_fit_spends_its_plan_and_divides_it_by_the_shares(few):
    graph = graph_of([hubs(160)] * 5, 160)
    shares = {"count_share": 0.2, "tail_share": 0.4, "cells_share": 0.1, "kept_share": 0.14}
    plan = planned(graph, window=5, few_nodes=few, **shares)
    _, meter = fit(graph, plan, few_nodes=few, **shares)
    spent: dict[str, int] = {}
    for entry in meter.transcript:
        spent[entry.purpose] = spent.get(entry.purpose, 0) + entry.event.nano_epsilon
    expected = {
        "edge count": 0.2,
        "degree tail counters": 0.4,
        "degrees at a key frame": 0.24,  # kept nodes are not read of so few: degrees get their part
        "edges between degree classes": 0.1,
        "set aside for the next step": 0.03,
        "kept since the step before": 0.03,
    }
    if few:  # counts have six tenths of the counters' share, degrees the rest
        expected |= {"edge count": 0.44, "degrees at a key frame": 0.4}
        del expected["degree tail counters"]
    assert {name: amount / NANO for name, amount in spent.items()} == pytest.approx(expected, abs=1e-6)
    assert sum(spent.values()) <= NANO


def test_what_was_stored_before_two_steps_were_read_is_planned_as_it_was():
    """All shares are named then; a stream that runs keeps its charges, and its windows their sums."""
    before = {"count_share": 0.3, "tail_share": 0.25, "cells_share": 0.05, "first_frame": 0}
    plan = planned(graph_of([hubs()] * 5), window=5, **before)
    assert {each.purpose for each in plan.allotments} == {"keyframe counters", "key frame"}
    assert steps_spent(plan)[0] - steps_spent(plan)[1] == pytest.approx(0.45 * NANO, abs=2)
    stored = KeyframeParams.model_validate(before)
    assert (stored.kept_share, stored.few_nodes) == (0, False)
    later = KeyframeParams.model_validate({**before, "kept_share": 0.07})
    assert (later.kept_share, later.few_nodes) == (0.07, False)
    assert KeyframeParams(**KeyframeParams().model_dump()) == KeyframeParams()


def test_kept_nodes_are_read_of_many_nodes_alone_and_all_relations_keep_one_schedule():
    """Two schedules could cost a step of one and the next of the other more than either."""
    few, many = (planned(graph_of([hubs()] * 5, nodes), window=5) for nodes in (NODES, 2_000))
    of_nodes = "kept nodes since the step before"
    assert [each.step for each in many.allotments if each.purpose == of_nodes] == [1]
    assert not [each for each in few.allotments if each.purpose == of_nodes]
    mixed = GraphSchema(
        node_types=(NodeType(name="few", count=NODES), NodeType(name="many", count=2_000)),
        edge_types=tuple(
            EdgeType(name=f"among_{kind}", source=kind, target=kind, temporal=True)
            for kind in ("few", "many")
        ),
        time=TimeGrid(count=5),
    )
    names = tuple(each.name for each in mixed.edge_types)
    plan = GENERATOR.plan(KeyframeParams(), PublicFacts(mixed, Unit.W_EVENT, 5, NANO, 0, names))
    assert plan.cost().nano_epsilon <= NANO
    assert not [each for each in plan.allotments if each.purpose == of_nodes]


def test_what_cannot_be_planned_is_refused():
    graph = graph_of([hubs()] * 3)
    with pytest.raises(errors.NotAccepted, match="too small"):
        planned(graph, window=3, epsilon=1e-6)
    with pytest.raises(ValidationError):
        KeyframeParams(count_share=0.5, tail_share=0.45, cells_share=0.05)
    with pytest.raises(ValidationError):
        KeyframeParams(first_frame=-1)
    both = GraphSchema(
        node_types=(NodeType(count=NODES),),
        edge_types=(EdgeType(name="mails", temporal=True), EdgeType(name="knows")),
        time=TimeGrid(count=3),
    )
    with pytest.raises(errors.NotAccepted, match="with time only"):
        GENERATOR.plan(KeyframeParams(), PublicFacts(both, Unit.W_EVENT, 2, NANO, 0, ("mails", "knows")))


def test_without_noise_a_key_frame_comes_back():
    graph = graph_of([hubs()] * 3)
    model, _ = fit(graph, planned(graph, window=3, epsilon=1_000))
    true = degrees_of(hubs().T)
    for step in range(3):
        source, target = drawn(model, step)
        found = degrees_of((source, target))
        assert len(source) == len(hubs())
        assert set(np.argsort(-found)[:2]) == {7, 50}
        assert abs(found[[7, 50]] - true[[7, 50]]).max() <= (5 if step == 0 else 15)
        for least in range(1, 7):
            assert abs(np.count_nonzero(found >= least) - np.count_nonzero(true >= least)) <= 6


def framed(before: Nodes, mean: float, share: int, noisy: np.ndarray | None = None) -> Nodes:
    """The nodes after a key frame at step 1, where the mean degree is ``mean``."""
    cell = SimpleNamespace(laplace=lambda *_, **__: np.zeros(NODES) if noisy is None else noisy)
    budget = StepBudget(count=1, tail=1, degrees=share, cells=1)
    return _framed(cell, NODES, budget, before, mean * NODES / 2, 1, np.random.default_rng(6))


def known_of(score: np.ndarray, variance: float) -> Nodes:
    zeros, ones = np.zeros(NODES, np.int8), np.ones(3)
    return Nodes(score, variance, 4.0, 1e9, zeros, ones, ones, step=0)


@pytest.mark.parametrize("mean", [0.1, 9.0, 40.0])
def test_what_a_frame_knew_of_a_node_is_its_part_of_the_stream(mean):
    """Else a stream that empties keeps the hubs of its full days. The measurement is too noisy to count."""
    known = np.where(np.arange(NODES) == 3, 10.0, 1.0)
    after = framed(known_of(known, 0.05), mean, NANO // 10**6)
    np.testing.assert_allclose(after.score, 1 + (known - 1) / MEMORY, rtol=0.05)
    drifted = (0.05 + (1 - MEMORY**2) * 4) / MEMORY**2
    assert after.variance == pytest.approx(drifted, rel=0.05)
    expected, variance = after.expected()
    trust = 4 / (4 + drifted)
    np.testing.assert_allclose(expected, 1 + trust * (after.score - 1), rtol=0.02)
    assert variance == pytest.approx(trust * drifted, rel=0.05)


def test_a_frame_at_night_weighs_next_to_nothing():
    """Forty nodes of ten times the mean are known; at night noise of sd 7 stands against a mean of 0.01."""
    known = np.where(np.arange(NODES) < 40, 10.0, 1.0)
    noisy = np.rint(np.random.default_rng(8).laplace(0, 5, NODES))
    after = framed(known_of(known, 0.5), 0.01, int(0.4 * NANO), noisy)
    assert set(np.argsort(-after.score)[:40]) == set(range(40))


def test_the_classes_tell_who_hubs_are_linked_to():
    """Ten hubs that know leaves only: a Chung-Lu graph would have some 45 edges between hubs."""
    leaves = np.arange(10, 190)
    star = np.stack([leaves % 10, leaves], axis=1)
    model, _ = fit(graph_of([star]), planned(graph_of([star]), window=1, epsilon=1_000))
    source, target = drawn(model, 0)
    assert len(source) == len(star)
    assert np.count_nonzero((source < 10) & (target < 10)) <= 4


def test_counters_follow_the_present_between_key_frames():
    half = hubs()[::2]
    graph = graph_of([hubs(), half, hubs()])
    model, _ = fit(graph, planned(graph, window=3, epsilon=1_000))
    assert [len(drawn(model, step)[0]) for step in range(3)] == [len(hubs()), len(half), len(hubs())]


@pytest.mark.parametrize(("nodes", "ends"), [(1, []), (2, []), (2, [[0, 1]]), (30, []), (30, all_pairs(30))])
def test_the_smallest_and_the_fullest_graphs(nodes, ends):
    ends = np.array(ends, dtype=np.int64).reshape(-1, 2)
    graph = graph_of([ends, ends], nodes)
    for epsilon in (0.5, 1_000):
        model, _ = fit(graph, planned(graph, window=2, epsilon=epsilon))
        for step in range(2):
            source, target = drawn(model, step)
            assert np.all(source < target)
            assert np.all(target < nodes)
            if epsilon > 1:
                assert abs(len(source) - len(ends)) <= 3


def test_isolated_nodes_and_empty_snapshots_stay_possible():
    graph = graph_of([hubs(), np.empty((0, 2), np.int64), hubs()[:3]])
    model, _ = fit(graph, planned(graph, window=3, epsilon=1_000))
    assert len(drawn(model, 1)[0]) == 0
    assert len(drawn(model, 2)[0]) == 3
    true = np.count_nonzero(degrees_of(hubs().T) == 0)
    assert true > 10
    assert abs(np.count_nonzero(degrees_of(drawn(model, 0)) == 0) - true) <= 5


def test_thresholds_grow_and_end_below_the_number_of_nodes():
    for nodes in (1, 2, 7, 40, 5_000, 3_000_000):
        found = thresholds(nodes)
        assert found[0] == 1
        assert (np.diff(found) > 0).all()
        assert found[-1] < max(nodes, 2)
    assert thresholds(50).tolist() == [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48]


def test_a_bank_is_one_kalman_filter_a_drift_weighted_by_its_forecasts():
    rng = np.random.default_rng(2)
    measured, noise = 100 + rng.normal(0, 2, (6, 1)), 25.0
    bank = Bank.start(measured[0], noise)
    for value in measured[1:]:
        bank = bank.step(value, noise, 1)
    means, variances, evidence = [], [], []
    for drift in DRIFTS[:, 0]:
        level, variance, log = measured[0, 0], noise, 0.0
        for value in measured[1:, 0]:
            variance += (drift * max(level, 1)) ** 2
            log = (
                FORGETTING * log - (np.log(variance + noise) + (value - level) ** 2 / (variance + noise)) / 2
            )
            gain = variance / (variance + noise)
            level, variance = level + gain * (value - level), (1 - gain) * variance
        means.append(level), variances.append(variance), evidence.append(log)
    weight = np.exp(evidence) / np.exp(evidence).sum()
    mean, spread = bank.estimate()
    assert mean[0] == pytest.approx(weight @ means)
    assert spread[0] == pytest.approx(weight @ (variances + (np.array(means) - mean[0]) ** 2))
    assert weight.argmax() == 0, "a level that stands still is best foretold by the slowest drift"


def test_a_bank_forgets_over_missing_steps_and_grows_with_the_edges():
    bank = Bank.start(np.array([50.0]), 4.0)
    near, far = (bank.step(np.array([90.0]), 4.0, steps) for steps in (1, 9))
    assert (far.level > near.level).all()
    grown = bank.step(np.array([100.0]), 4.0, 1, growth=2.0)
    np.testing.assert_allclose(grown.level, 100)


SCALE, SLOTS = 16.7, 30_000  # of the count's noise at epsilon 1 and w = 5; edges among some 245 nodes
NOISE = (4, -9, 21, -2, -30, 7, 0, 13, -17, 3, 26, -5, -11, 8, -1, 16)


def released(true: list[int], noise=NOISE) -> list[float]:
    """What a stream of these counts releases under this noise, step by step."""
    found, count = [], None
    for step, edges in enumerate(true):
        measured = edges + noise[step % len(noise)]
        count = (
            EdgeCount.start(measured, SCALE, SLOTS)
            if count is None
            else count.step(measured, SCALE, SLOTS, 1)
        )
        found.append(count.estimate()[0])
    return found


def test_a_morning_follows_a_night():
    """Filters that only drift said 5, 50 and 1416 of such a morning, and five edges all night."""
    day = [0] * 10 + [15, 293, 1849, 1500, 300, 20]
    found = np.array(released(day * 2))
    true = np.array(day * 2)
    busy = true > 100
    np.testing.assert_allclose(found[busy], true[busy], rtol=0.15)
    night = true == 0
    assert np.mean(found[night] == 0) > 0.8
    assert found[16:][night[16:]].sum() <= found[:16][night[:16]].sum() + 1, "the second night is known again"


def test_a_weak_step_of_a_busy_stream_is_no_night_and_one_of_a_stream_with_nights_is():
    busy = [1501, 1258, 1418, 1399, 1428, 1473, 1600, 1389, 1738, 1131, 38, 1480]
    quiet = tuple(0 for _ in NOISE)
    found = released(busy, quiet)
    assert 20 < found[10] < 60
    assert found[11] == pytest.approx(1480, rel=0.03)
    assert released([0, 0, 0, 300, 0, 0, 0, 300, 10], quiet)[-1] == 0


def test_a_count_is_bayes_rule_over_every_drift():
    """One step of two, against sums written out point by point."""
    before = EdgeCount.start(40.0, SCALE, SLOTS).step(55.0, SCALE, SLOTS, 1)
    after = before.step(90.0, SCALE, SLOTS, 2)
    width = after.point[2] - after.point[1]
    share = (0.3 * 4 + before.empty) / (4 + 2)
    for row, drift in enumerate(DRIFTS[:, 0]):
        prior = np.zeros(len(after.point))
        prior[0] = (1 - JUMP) ** 2 * before.weight[row, 0]
        for point, weight in zip(before.point[1:], before.weight[row, 1:], strict=True):
            law = stats.norm(point, drift * max(point, 1) * np.sqrt(2))
            ends = law.cdf(after.point[1:] + width / 2) - law.cdf(after.point[1:] - width / 2)
            prior[1:] += (1 - JUMP) ** 2 * weight * ends
        anywhere = width / ((after.point[1:] + SCALE) * np.log1p(SLOTS / SCALE))
        prior += (1 - (1 - JUMP) ** 2) * np.concatenate([[share], (1 - share) * anywhere])
        chance = prior * np.exp(-np.abs(90 - after.point) / SCALE)
        np.testing.assert_allclose(after.weight[row], chance / chance.sum(), atol=1e-9)
    assert after.seen == 3
    mean, variance = after.estimate()
    assert 55 < mean < 95
    assert 0 < variance < 2 * SCALE**2


def test_counters_start_anew_after_a_night():
    """A night's counters are zeros; five times the edges are another time of day."""
    pairs = hubs()
    graph = graph_of([pairs, np.empty((0, 2), np.int64), pairs])
    model, _ = fit(graph, planned(graph, window=3, epsilon=200))
    first, last = (model.cells["edge", step]["degree"] for step in (0, 2))
    assert last.sum() == pytest.approx(first.sum(), rel=0.1)
    assert np.count_nonzero(last >= 0.5) == pytest.approx(np.count_nonzero(first >= 0.5), rel=0.1)
    assert not model.cells["edge", 1]["degree"].any()


def test_a_count_takes_over_a_bank_of_filters():
    bank = Bank.start(np.array([500.0]), 2 * SCALE**2).step(np.array([520.0]), 2 * SCALE**2, 1)
    level, variance = (float(each[0]) for each in bank.estimate())
    count = EdgeCount.of_bank(bank)
    mean, spread = count.estimate()
    assert mean == pytest.approx(level, rel=0.01)
    assert spread == pytest.approx(variance, rel=0.1)
    assert count.step(40.0, SCALE, SLOTS, 1).estimate()[0] < 80


def test_exact_counters_fix_the_curve_and_the_curve_the_degrees():
    true = np.sort(np.random.default_rng(3).zipf(2.2, 3_000).clip(0, 90) - 1)[::-1]
    at = thresholds(3_000)
    counters = Counters(
        at,
        np.array([np.count_nonzero(true >= j) for j in at], float),
        np.full(len(at), 1e-9),
        true.sum() / 2,
        1e-9,
    )
    cap = longest(counters, 0, 3_000)
    tail = curve(counters, cap, 3_000)
    assert (np.diff(tail) <= 0).all()
    seen = at <= cap
    np.testing.assert_allclose(tail[at[seen] - 1], counters.count[seen], atol=0.01)
    found = to_total(sequence(tail, 3_000), 2 * counters.edges, cap)
    assert found.sum() == pytest.approx(true.sum())
    assert np.abs(np.bincount(true)[:6] - np.bincount(np.rint(found).astype(int))[:6]).sum() <= 2


def test_a_noisy_counter_far_out_invents_no_hub():
    """Mean degree 2 and no degree above 6; the counter of 1024 says 40, with a noise of 80."""
    at = thresholds(5_000)
    count = np.where(at <= 6, 5_000 * 0.9 / at**2, 0.0)
    count[at == 1024] = 40
    counters = Counters(at, count, np.full(len(at), 80.0**2), 5_000, 100.0)
    assert longest(counters, 0, 5_000) < 40
    assert sequence(curve(counters, longest(counters, 0, 5_000), 5_000), 5_000).max() < 40


@pytest.mark.parametrize("total", [0, 3, 10, 40, 89])
def test_totals_are_met_and_the_cap_is_kept(total):
    degrees = np.array([9.0, 4, 1, 1, 1, 0, 0, 0, 0, 0])
    found = to_total(degrees, total, 9)
    assert found.max() <= 9
    assert found.sum() == pytest.approx(total, abs=0.5)
    assert (np.diff(found) <= 1e-9).all()
    if total <= 40:
        assert (found[degrees == 0] == 0).all()


def test_cells_use_every_end_and_hold_the_ratios():
    rng = np.random.default_rng(5)
    label = np.repeat([0, 1], [20, 180])
    degrees = np.where(label == 0, 18, rng.integers(0, 5, 200))
    for ratio in ([1.0, 1.0, 1.0], [0.05, 2.0, 0.3], [30.0, 0.02, 30.0]):
        found = cells(degrees, label, np.array(ratio)).edges
        ends = np.bincount(label, weights=degrees)
        assert found[0] <= 190
        assert abs(2 * found[0] + found[1] - ends[0]) <= 1 or found[0] == 190
        assert abs(2 * found[2] + found[1] - ends[1]) <= 1
    even, shy = (cells(degrees, label, np.array([r, 1.0, r])).edges for r in (1.0, 0.1))
    assert shy[0] < even[0]
    assert even[0] == pytest.approx(
        np.bincount(label, weights=degrees)[0] ** 2 / (2 * degrees.sum()), rel=0.05
    )
