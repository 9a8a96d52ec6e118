"""THEPUFF and its perturbation on neighbouring graphs; what of the private graph reaches a sound release.

Audited is what the networks are given: the perturbed graph, counts and degrees, and the noisy gradients of
the utility discriminator, whose true gradient is replaced by a unit vector for the canary edge. A trained
model and each graph drawn from it are functions of these, of public facts and of chance, so they can only
tell less.
"""

from functools import partial

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.gradients import DpSgdSession
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers import thepuff
from papers.thepuff import fit as fitting
from papers.thepuff import perturb as thepuff_perturb
from papers.thepuff.params import ThepuffParams
from tests.support.auditing import SOUND, caught
from tests.support.decoys import answer_about
from tests.support.generating import NANO, drawn, graph_of, rows_of
from tests.support.heeded import heeded

EPSILON = 1.0
DELTA_ATTO = 10**15


def perturbed(runs: int, confidence: float) -> float:
    """The measured epsilon of ``thepuff_perturb`` on two nodes, with or without their edge."""

    def has_edge(graph) -> np.ndarray:
        rows = rows_of(drawn(thepuff_perturb.GENERATOR, graph, EPSILON))
        return np.array([float((rows == [0, 1]).all(axis=1).any())])

    neighbours = graph_of([(0, 1)], 2), graph_of([], 2)
    return audit_epsilon(repeated(has_edge), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_the_perturbation_holds_its_epsilon():
    assert perturbed(250, SOUND) <= EPSILON


def test_a_perturbation_at_twice_the_epsilon_is_caught(double_epsilon):
    assert caught(perturbed, EPSILON, 400)


def event_graph(edges: int) -> Graph:
    """One user and one film, with or without their edge at the second of two steps."""
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=1), NodeType(name="film", count=1)),
        edge_types=(EdgeType(name="sees", source="user", target="film", temporal=True),),
        time=TimeGrid(count=2),
    )
    zeros = np.zeros(edges, dtype=np.int64)
    table = EdgeTable(zeros, zeros, np.ones(edges, dtype=np.int64))
    return Graph.build(schema, {"user": NodeTable(1), "film": NodeTable(1)}, {"sees": table})


class _Given(Exception):
    """What the networks are about to be trained on."""


def given(graph: Graph, params: ThepuffParams, delta_atto: int) -> list[float]:
    """Every number that a fit hands to the training, and the training's noisy gradients along the canary."""
    told: list[float] = []
    true_laplace = mechanisms.discrete_laplace

    def listened(values, l1_sensitivity, nano_epsilon, **options):
        noisy = true_laplace(values, l1_sensitivity, nano_epsilon, **options)
        told.extend((np.clip(noisy, 0, 1) * (nano_epsilon / l1_sensitivity / NANO)).tolist())
        return noisy

    def trained(paid, utility, progress, checkpoint):
        flipped = np.diff(paid.snapshots().anchor_start).astype(float) * 0.3 * EPSILON
        raise _Given(flipped.tolist(), _gradients(utility) if utility is not None else 0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "discrete_laplace", listened)
        patch.setattr(fitting, "_trained", trained)
        facts = PublicFacts(graph.schema, Unit.EVENT, None, int(EPSILON * NANO), delta_atto, ("sees",))
        plan = thepuff.GENERATOR.plan(params, facts)
        meter = Meter(plan, MemoryRecorder())
        with pytest.raises(_Given) as found:
            thepuff.GENERATOR.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    assert guarantee_of(plan, meter.transcript, delta_atto).epsilon <= EPSILON
    flipped, along = found.value.args
    return [sum(told) + sum(flipped) + along, sum(told), *flipped, along]


def _gradients(utility) -> float:
    """The noisy sums of all steps along the canary edge's gradient, by the log ratio of a step."""
    import torch

    module, total = torch.nn.Linear(1, 1, bias=False), []

    def summed(self, loss, batch, count):
        return torch.full((1,), self._radius * count, dtype=torch.int64)

    def applied(self, noisy):
        sigma, rate = self._scale / self._radius, float(utility.training.rate)
        along = float(noisy[0]) / self._radius
        total.append(np.log1p(rate * (np.exp((along - 0.5) / sigma**2) - 1)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DpSgdSession, "_sum", summed)
        patch.setattr(DpSgdSession, "_spot_check", lambda *_: None)  # of a loss, and here is none
        patch.setattr(DpSgdSession, "_apply", applied)
        optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
        session = utility.open(module=module, optimiser=optimiser, clip=1.0, divisor=1.0)
        for _ in range(utility.training.steps):
            session.step(None, lambda edges: [np.zeros(len(edges))])
    return float(np.sum(total))


def measured(params: ThepuffParams, delta_atto: int, runs: int, confidence: float = SOUND) -> float:
    pair = event_graph(1), event_graph(0)
    run = repeated(lambda graph: np.array(given(graph, params, delta_atto)))
    delta = delta_atto / 1e18
    return audit_epsilon(run, *pair, runs=runs, delta=delta, confidence=confidence).lower_bound


PURE = ThepuffParams(bias="hat")
# Few steps of much noise tell little each; one step with little noise is where an error would show.
TRAINED = ThepuffParams(utility=True, utility_steps=1)


@pytest.mark.parametrize("bias", ["paid", "hat"])
def test_what_the_networks_see_holds_its_epsilon(bias):
    assert measured(ThepuffParams(bias=bias), 0, 150) <= EPSILON


def test_what_the_networks_see_at_twice_the_epsilon_is_caught(double_epsilon):
    assert caught(partial(measured, PURE, 0), EPSILON, 400)


def test_with_dp_sgd_the_whole_holds_its_epsilon():
    assert measured(TRAINED, DELTA_ATTO, 150) <= EPSILON


def test_dp_sgd_with_a_hundredth_of_the_noise_is_caught(divide_gaussian_noise, monkeypatch):
    divide_gaussian_noise(100)
    # A step that samples the edge for certain, so that one run is enough to see it.
    monkeypatch.setattr("papers.thepuff.budget.UNKNOWN_RATE", 1)
    monkeypatch.setattr("papers.thepuff.budget._nodes", lambda schema: None)
    assert caught(partial(measured, TRAINED, DELTA_ATTO), EPSILON, 150)


def typed_graph(seed: int, edges: int) -> Graph:
    """Users who see films at three steps, and films' genres."""
    rng = np.random.default_rng(seed)
    kinds = NodeType(name="user", count=20), NodeType(name="film", count=25), NodeType(name="genre", count=3)
    schema = GraphSchema(
        node_types=kinds,
        edge_types=(
            EdgeType(name="sees", source="user", target="film", directed=True, temporal=True),
            EdgeType(name="has", source="film", target="genre", directed=True),
        ),
        time=TimeGrid(count=3),
    )
    sees = EdgeTable(*(rng.integers(0, size, edges) for size in (20, 25, 3)))
    has = EdgeTable(rng.integers(0, 25, edges // 4), rng.integers(0, 3, edges // 4))
    return Graph.build(
        schema, {kind.name: NodeTable(kind.count) for kind in kinds}, {"sees": sees, "has": has}
    )


@pytest.fixture
def decoy(monkeypatch):
    """Every metered operation charges as ever, and answers about one graph; chance repeats itself."""
    answer_about(monkeypatch, typed_graph(11, 120), "papers.thepuff.fit")


def released(graph: Graph, folder, **params):
    """(transcript, the saved model's files, one release) of one short fit."""
    names = tuple(each.name for each in graph.schema.edge_types)
    delta = 10**12 if params else 0
    facts = PublicFacts(graph.schema, Unit.EVENT, None, 2 * NANO, delta, names)
    chosen, plan = heeded(thepuff.GENERATOR, facts, epochs=1, utility_steps=2, **params)
    meter = Meter(plan, MemoryRecorder())
    model = thepuff.GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    model.save(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    sampled = model.sample(public_generator(9), no_progress)
    release = {
        name: [c.tolist() for c in (table.source, table.target, table.step) if c is not None]
        for name, table in sampled.edges.items()
    }
    return [(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript], files, release


@pytest.mark.parametrize(
    "params", [{"utility": True}, {"utility": True, "bias": "hat"}, {}, {"privacy": False}]
)
def test_a_release_depends_on_what_was_paid_for_alone(params, decoy, tmp_path):
    """Two private graphs, one decoy: the same model bit for bit, and the same graph."""
    first = released(typed_graph(1, 200), tmp_path / "first", **params)
    second = released(typed_graph(2, 4), tmp_path / "second", **params)
    for one, other in zip(first, second, strict=True):
        assert one == other


def test_a_raw_count_that_reaches_the_networks_is_caught(decoy, monkeypatch, tmp_path):
    true = fitting._learned

    def learned(cells, grants, shape, keys, rng, *, params):
        found = true(cells, grants, shape, keys, rng, params=params)
        raw = session._graph.edges["sees"].count
        return {cell: {**columns, "count": columns["count"] + raw} for cell, columns in found.items()}

    monkeypatch.setattr(fitting, "_learned", learned)
    true_fit, session = fitting.fit_sound, None

    def watched(method, graph, *arguments):
        nonlocal session
        session = graph
        return true_fit(method, graph, *arguments)

    monkeypatch.setattr(fitting, "fit_sound", watched)
    first = released(typed_graph(1, 200), tmp_path / "first")
    second = released(typed_graph(2, 4), tmp_path / "second")
    assert first[2] != second[2]
