"""DP-SGD over edges: the planned noise, the metered session, the clipping grid, the noise itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded, PrivacyViolation
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy import rounding
from core.privacy.accounting import accountant
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.dp_sgd import GRAIN, DpSgd, noise_multiplier
from core.privacy.accounting.events import NANO, GaussianEvent, PoissonSampled, Pure, Repeated
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.accounting.reference import to_dp_event
from core.privacy.mechanisms import gradients, samplers
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

pytestmark = pytest.mark.papers

DELTA = 10**13
TRAINING = DpSgd(Fraction(1, 2), Fraction(2), 3)


def cost(event, *besides, by=Accountant.RENYI):
    return accountant.cell_nano_epsilon((*besides, event), DELTA, by)


@pytest.mark.parametrize(
    ("rate", "steps", "besides"), [(0.1, 50, ()), (1, 1, ()), (0.1, 50, (Pure(NANO // 2, "x"),))]
)
@pytest.mark.parametrize("by", list(Accountant))
def test_the_solved_noise_is_the_least_that_keeps_to_the_promise(rate, steps, besides, by):
    sigma = noise_multiplier(NANO, DELTA, rate, steps, besides, by)
    assert sigma * GRAIN == int(sigma * GRAIN)
    assert cost(DpSgd(rate, sigma, steps).event, *besides, by=by) <= NANO
    assert cost(DpSgd(rate, sigma - Fraction(1, GRAIN), steps).event, *besides, by=by) > NANO


def test_a_promise_that_no_noise_keeps_is_refused():
    with pytest.raises(NotAccepted):
        noise_multiplier(1000, DELTA, 1, 1000)


def test_sampled_gaussian_bounds_are_dp_accountings_and_never_below_them():
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    event = PoissonSampled(Fraction(1, 100), GaussianEvent(Fraction(3, 2)))
    orders = [o for o in accountant.ORDERS if o <= 64]
    theirs = RdpAccountant(orders, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    theirs.compose(to_dp_event(event))
    ours = rdp(event, orders)
    whole = np.array([order == int(order) for order in orders])
    assert ours[whole] == pytest.approx(theirs._rdp[whole], rel=1e-12)
    assert (ours[~whole] >= theirs._rdp[~whole]).all()


@pytest.mark.parametrize(
    "values",
    [
        {"rate": 0},
        {"rate": 1.5},
        {"noise_multiplier": 0.01},
        {"noise_multiplier": 5000},
        {"steps": 0},
        {"steps": 2.0},
    ],
)
def test_trainings_outside_the_bounds_are_refused(values):
    with pytest.raises(InvalidInput):
        DpSgd(**({"rate": Fraction(1, 2), "noise_multiplier": Fraction(1), "steps": 1} | values))


class Vector(torch.nn.Module):
    """One parameter for each node; the gradient of an edge is what the loss makes of its ends."""

    def __init__(self, size=6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(size))

    def forward(self, direction):
        return self.weight @ direction


def rise(call, direction):
    return -call(direction)


def ends(scale=1.0):
    def examples(edges):
        return (scale * torch.eye(6)[torch.from_numpy(edges.source)],)

    return examples


def session(
    training=TRAINING,
    *,
    unit=Unit.EDGE,
    allotted=None,
    cells=None,
    clip=1.0,
    module=None,
    pairs=None,
    divisor=1.0,
):
    temporal = unit.temporal
    schema = GraphSchema(
        node_types=(NodeType(count=6),),
        edge_types=(EdgeType(temporal=temporal),),
        time=TimeGrid(count=2) if temporal else None,
    )
    edges = [(0, 1), (1, 2), (2, 3)] if pairs is None else pairs
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    table = EdgeTable(source, target, np.arange(len(source)) % 2 if temporal else None)
    graph = Graph.build(schema, {"node": NodeTable(6)}, {"edge": table})
    steps = schema.steps_of("edge")
    event = allotted or training.event
    plan = PrivacyPlan(
        "t", unit, None, schema.steps, tuple(Allotment("edge", s, event, "x") for s in steps), DELTA
    )
    meter = Meter(plan, MemoryRecorder())
    module = module or Vector()
    opened = PrivateGraph(graph, meter).dp_sgd(
        training,
        cells=cells or [("edge", s) for s in steps],
        module=module,
        optimiser=torch.optim.SGD(module.parameters(), lr=1.0),
        clip=clip,
        divisor=divisor,
        purpose="train",
    )
    return opened, module, meter, plan


@pytest.fixture
def silent(monkeypatch):
    """No noise: what is left is the sum of clipped gradients."""
    monkeypatch.setattr(samplers, "add_discrete_gaussian_wide", lambda rng, values, sigma: values)


def test_every_cell_pays_before_the_first_step_and_the_guarantee_follows():
    opened, _, meter, plan = session(unit=Unit.EVENT)
    assert [(e.edge_type, e.step, e.event) for e in meter.transcript] == [
        ("edge", 0, TRAINING.event),
        ("edge", 1, TRAINING.event),
    ]
    for _ in range(3):
        opened.step(rise, ends())
    with pytest.raises(MeterClosed):
        opened.step(rise, ends())
    assert len(meter.transcript) == 2
    assert guarantee_of(plan, meter.transcript, DELTA).nano_epsilon == cost(TRAINING.event)


def test_an_overrun_is_refused():
    with pytest.raises(PlanExceeded):
        session(allotted=Repeated(PoissonSampled(Fraction(1, 2), GaussianEvent(Fraction(2))), 2))


@pytest.mark.parametrize("unit", [Unit.PAIR])
def test_other_units_are_refused(unit):
    with pytest.raises(NotAccepted):
        session(unit=unit)


def test_bad_arguments_are_refused_before_anything_is_charged():
    for changed in ({"cells": [("edge", None)] * 2}, {"clip": 0.0}, {"clip": float("nan")}):
        with pytest.raises(InvalidInput):
            session(**changed)
    frozen = Vector()
    frozen.weight.requires_grad_(False)
    with pytest.raises((InvalidInput, ValueError)):
        session(module=frozen)


def test_the_sum_of_clipped_gradients_is_what_moves_the_parameters(silent):
    every = DpSgd(1, Fraction(2), 2)
    opened, module, _, _ = session(every)
    opened.step(rise, ends(0.5))
    assert module.weight.tolist() == pytest.approx([0.5, 0.5, 0.5, 0, 0, 0], abs=1e-4)
    opened.step(rise, ends(100.0), public=(torch.eye(6)[[5, 5]] * 0.25,))
    assert module.weight.tolist() == pytest.approx([1.5, 1.5, 1.5, 0, 0, 0.5], abs=2e-4)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300])
def test_a_gradient_that_cannot_be_clipped_counts_as_none(silent, bad):
    opened, module, _, _ = session(DpSgd(1, Fraction(2), 1))

    def examples(edges):
        rows = torch.eye(6)[torch.from_numpy(edges.source)].double()
        rows[torch.from_numpy(edges.source == 0), 0] = bad
        return (rows.float() if bad != 1e300 else rows.clamp(max=3e38).float(),)

    opened.step(rise, examples)
    first, *others = module.weight.tolist()
    assert first == pytest.approx(0.0 if bad != 1e300 else 1.0, abs=1e-4)
    assert others == pytest.approx([1, 1, 0, 0, 0], abs=1e-4)


def test_no_gradient_is_longer_than_the_radius():
    opened, _, _, _ = session()
    rows = torch.randn(2_000, 6, generator=torch.Generator().manual_seed(0))
    rows *= torch.logspace(-8, 8, 2_000)[:, None]
    points = opened._on_grid(rows)
    assert torch.equal(points, points.round())
    norms = points.to(torch.int64).square().sum(1)
    assert opened._longest == opened._radius - rounding.SLACK
    assert (norms <= opened._longest**2).all()
    long = rows.norm(dim=1) > 1
    assert (norms[long] >= (opened._longest - 6) ** 2).all()


def test_the_drawn_edges_stand_in_a_secret_order():
    """Put in at a uniform place, an edge moves one other row; in declared order, all rows behind it."""
    opened, _, _, _ = session(DpSgd(1, Fraction(2), 200))
    first = set()

    def examples(edges):
        if len(edges) > 3:  # the spot check's
            return ends()(edges)
        assert sorted(edges.source.tolist()) == [0, 1, 2]
        first.add(int(edges.source[0]))
        return ends()(edges)

    for _ in range(200):
        opened.step(rise, examples)
    assert first == {0, 1, 2}


def test_the_grid_is_that_of_plain_integers():
    """Block by block in whole float64 numbers, the sum is what int64 arithmetic row by row makes of it."""
    module = Vector(700)
    opened, _, _, _ = session(module=module)
    rows = torch.randn(300, 700, generator=torch.Generator().manual_seed(0))
    rows *= torch.logspace(-4, 4, 300)[:, None]
    rows[::50, 3] = float("nan")
    rows[7::50, 3] = float("-inf")
    assert gradients.BLOCK_VALUES < 300 * 700
    expected = np.zeros(700, np.int64)
    for row in rows.numpy().astype(np.float64):
        if np.isfinite(row).all():
            scale = opened._longest / max(np.sqrt(np.sum(row**2)), 1.0)
            points = np.trunc(row * scale).astype(np.int64)
            expected += points * (np.sum(points**2) <= opened._longest**2)
    found = opened._sum(rise, (rows,), 300).numpy()
    assert found.dtype == np.int64
    assert np.abs(found + expected).max() <= 2  # the two norms may differ in their last bit


def test_rows_are_put_onto_the_grid_in_one_shape(monkeypatch):
    """A norm's last bit may follow the shape of its block, and so must not follow the number of examples."""
    opened, _, _, _ = session(module=Vector(700))
    shapes, on_grid = set(), opened._on_grid

    def watched(flat):
        shapes.add(tuple(flat.shape))
        return on_grid(flat)

    monkeypatch.setattr(opened, "_on_grid", watched)
    for count in (1, 300, 513):
        opened._sum(rise, (torch.ones(count, 700),), count)
    assert len(shapes) == 1


@pytest.mark.parametrize("scale", [1.0 + 1e-6, 2.0])
def test_a_row_that_is_too_long_on_the_grid_counts_as_none(scale, monkeypatch):
    """Were a norm ever too small, the check in integers drops the row."""
    opened, _, _, _ = session()
    norm = torch.linalg.vector_norm
    monkeypatch.setattr(torch.linalg, "vector_norm", lambda *a, **k: norm(*a, **k) / scale)
    rows = torch.tensor([[3.0, 4.0, 0, 0, 0, 0], [0.3, 0.4, 0, 0, 0, 0]])
    points = opened._on_grid(rows)
    assert points[0].abs().max() == 0
    assert points[1].abs().max() > 0


def test_one_example_moves_the_sum_by_itself_alone():
    """A row's gradient must not depend on the rows beside it, to the last bit."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    opened, _, _, _ = session(module=module)
    rows = torch.randn(37, 8)

    def loss(call, row):
        return torch.nn.functional.softplus(-call(row)).squeeze()

    whole = opened._sum(loss, (rows,), 37)
    for left_out in (0, 17, 36):
        kept = torch.cat([rows[:left_out], rows[left_out + 1 :]])
        alone = opened._sum(loss, (rows[left_out : left_out + 1],), 1)
        assert torch.equal(whole - opened._sum(loss, (kept,), 36), alone)


def test_dropout_is_drawn_from_the_operating_system_whatever_seed_the_caller_set(silent):
    """Masks go by place in the batch: were they known, one edge more would move all rows after it."""
    moved = []
    for _ in range(2):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(64, 1, bias=False))
        opened, _, _, _ = session(DpSgd(1, Fraction(2), 1), module=module)
        before, state = module[1].weight.detach().clone(), torch.random.get_rng_state()
        opened.step(lambda call, row: -call(row).squeeze(), lambda edges: (torch.ones(len(edges), 64),))
        assert torch.equal(torch.random.get_rng_state(), state)
        moved.append(module[1].weight.detach() - before)
    assert not torch.equal(*moved)


class Cancelling(torch.nn.Module):
    """Its output meets a label that it gives itself, one row at a time: what is left is rounding."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = torch.randn(6, 251, generator=generator)
        self.first = torch.nn.Linear(251, 67)
        self.last = torch.nn.Linear(67, 1)

    def forward(self, row):
        return self.last(torch.tanh(self.first(row)))


def cancelling():
    torch.manual_seed(1)
    module = Cancelling()
    with torch.no_grad():
        labels = torch.stack([module(row) for row in module.table])

    def examples(edges):
        return module.table[edges.source], labels[edges.source]

    def loss(call, row, label):
        return 1e5 * (call(row) - label).square().sum()

    return module, loss, examples


@pytest.fixture
def last_rows_apart(monkeypatch):
    """A machine that reckons a chunk's second half from rows two units in the last place longer."""
    whole = gradients.DpSgdSession._gradients

    def apart(self, loss, rows, coins="different"):
        half = len(rows[0]) // 2
        first, *others = rows
        first = torch.cat([first[:half], first[half:] * (1 + 2**-22)])
        return whole(self, loss, [first, *others], coins)

    monkeypatch.setattr(gradients.DpSgdSession, "_gradients", apart)


def furthest_move(opened, loss, examples):
    """The grid steps by which a row moves between its places in a chunk, at most."""
    count = opened._chunk
    edges = gradients.Sampled(*(np.resize(np.arange(6), count) for _ in range(3)))
    points = opened._on_grid(opened._gradients(loss, examples(edges)))
    return max(float((points[k::6] - points[k]).norm(dim=1).max()) for k in range(6))


@pytest.mark.parametrize("pairs", [None, [(0, 1)], []])
def test_a_loss_that_cancels_moves_with_its_place_and_the_spot_check_finds_it(pairs, last_rows_apart):
    """Whatever edges there are, or none: that it ends, and when, says nothing about them."""
    module, loss, examples = cancelling()
    opened, _, meter, _ = session(DpSgd(1, Fraction(2), 1), module=module, divisor=256.0, pairs=pairs)
    assert furthest_move(opened, loss, examples) > rounding.SLACK
    before = module.first.weight.detach().clone()
    with pytest.raises(PrivacyViolation, match="cancels"):
        opened.step(loss, examples)
    assert torch.equal(module.first.weight, before)
    assert len(meter.transcript) == 1
    with pytest.raises(MeterClosed):
        opened.step(loss, examples)


def test_rounding_alone_stays_within_the_slack(last_rows_apart):
    module, _, examples = cancelling()
    opened, _, _, _ = session(DpSgd(1, Fraction(2), 1), module=module, divisor=256.0)

    def loss(call, row, label):
        return call(row).sum()

    assert 0 < furthest_move(opened, loss, examples) < rounding.SLACK
    opened.step(loss, examples)
    assert opened.remaining == 0


def test_the_spot_check_is_made_once_on_public_pairs_alone():
    """Whatever the edges are, the pairs are drawn from the nodes: with one edge, others are asked about."""
    asked = []

    def examples(edges):
        asked.append(edges)
        return ends()(edges)

    opened, _, _, _ = session(DpSgd(1, Fraction(2), 5), pairs=[(0, 1)], divisor=256.0)
    for _ in range(5):
        opened.step(rise, examples)
    checked = [edges for edges in asked if len(edges) > 1]
    assert len(checked) == 1
    assert len(asked) == 6
    (pairs,) = checked
    assert set(pairs.source) == set(pairs.target) == set(range(6))
    assert (pairs.source != pairs.target).all()


def noise_of_its_own(call, row):
    return -(call(row) * (1 + torch.randn(1))).squeeze()


@pytest.mark.parametrize("loss", [lambda call, row: -call(row).squeeze(), noise_of_its_own])
def test_the_spot_check_forgives_coins(loss):
    """Dropout's and the loss's own: they differ by place, and are common to both worlds."""
    module = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(6, 1, bias=False))
    opened, _, _, _ = session(DpSgd(1, Fraction(2), 1), module=module, divisor=256.0)
    opened.step(loss, ends())
    assert opened.remaining == 0


def test_what_the_spot_check_draws_leaves_torchs_generator_as_it_was():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    opened, _, _, _ = session(DpSgd(1, Fraction(2), 1), divisor=256.0)
    opened.step(noise_of_its_own, ends())
    assert torch.equal(torch.get_rng_state(), state)


def test_sampling_keeps_the_rate_and_noise_has_the_stated_scale():
    training = DpSgd(Fraction(1, 4), Fraction(1), 4_000)
    opened, module, _, _ = session(training)
    moves, last = [], torch.zeros(6)
    for _ in range(4_000):
        opened.step(rise, ends())
        moves.append((module.weight.detach() - last).numpy())
        last = module.weight.detach().clone()
    found = np.array(moves)
    assert found[:, 4].std() == pytest.approx(1.0, abs=0.06)  # no edge leaves node 4: noise alone
    assert found[:, 0].mean() == pytest.approx(0.25, abs=0.1)
    assert np.abs(found[:, 4].mean()) < 0.1


def test_builders_return_a_row_for_each_edge():
    opened, _, _, _ = session(DpSgd(1, Fraction(1), 1))
    with pytest.raises(InvalidInput, match="one row"):
        opened.step(rise, lambda edges: (torch.zeros(1, 6),))
    with pytest.raises(MeterClosed):  # the step that failed is used up
        opened.step(rise, ends())


def test_a_planted_partition_is_learnt():
    """Enough epsilon, and the embedding tells linked pairs from others."""
    n = 60
    rng = np.random.default_rng(0)
    half = np.arange(n) % 2
    a, b = rng.integers(0, n, (2, 4_000))
    same = (half[a] == half[b]) & (a != b)
    schema = GraphSchema(node_types=(NodeType(count=n),), edge_types=(EdgeType(),))
    graph = Graph.build(schema, {"node": NodeTable(n)}, {"edge": EdgeTable(a[same], b[same])})
    training = DpSgd.within(8 * NANO, DELTA, Fraction(1, 4), 40)
    plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, training.event, "x"),), DELTA)
    torch.manual_seed(0)
    module = torch.nn.Embedding(n, 4)
    opened = PrivateGraph(graph, Meter(plan, MemoryRecorder())).dp_sgd(
        training,
        cells=[("edge", None)],
        module=module,
        optimiser=torch.optim.Adam(module.parameters(), lr=0.1),
        clip=1.0,
        divisor=100.0,
        purpose="train",
    )

    def loss(call, u, v, label):
        return torch.nn.functional.binary_cross_entropy_with_logits((call(u) * call(v)).sum(), label)

    def linked(edges):
        return torch.from_numpy(edges.source), torch.from_numpy(edges.target), torch.ones(len(edges))

    while opened.remaining:
        u, v = torch.from_numpy(rng.integers(0, n, (2, 150)))
        opened.step(loss, linked, public=(u, v, torch.zeros(150)))
    score = module.weight.detach().numpy() @ module.weight.detach().numpy().T
    upper = np.triu_indices(n, 1)
    alike = (half[:, None] == half)[upper]
    ranks = score[upper].argsort().argsort()
    auc = (ranks[alike].mean() - (alike.sum() - 1) / 2) / (~alike).sum()
    assert auc > 0.7
