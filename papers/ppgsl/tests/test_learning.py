"""PPGSL's parts against plain dense algebra, and what the learner does to a clustered graph."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn import functional

from core import errors
from core.graphs.graph import NodeTable
from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType, Protection
from core.learning.devices import one_thread, seeded
from core.methods.base import PublicFacts, no_progress
from core.privacy.entropy import public_generator
from core.privacy.units import Unit
from papers._shared.defences.visible import Altered, Visible
from papers.ppgsl import GENERATOR, fit, learner, search
from papers.ppgsl.adam import Adam
from papers.ppgsl.inputs import features_of
from papers.ppgsl.params import FULL_NODES, PpgslParams, Target
from papers.ppgsl.sparse import Pattern
from papers.ppgsl.surrogate import EMBEDDING, HIDDEN, Surrogate
from tests.support.attacked_graphs import clustered

CPU = torch.device("cpu")
NODES = 400
QUICK = PpgslParams(steps=60, interval=20, surrogate_steps=30)


@pytest.fixture(autouse=True)
def alone():
    with one_thread(CPU):
        yield


def toy() -> tuple[Pattern, torch.Tensor, torch.Tensor]:
    """Seven pairs of six nodes, their weights, and which matrix they are."""
    u, v = torch.tensor([0, 0, 1, 2, 3, 1, 0]), torch.tensor([1, 3, 2, 4, 5, 5, 4])
    weights = torch.tensor([0.3, 1.0, 0.5, 0.0, 0.9, 0.2, 1.0])
    dense = torch.zeros(6, 6).index_put((u, v), weights)
    return Pattern(u, v, 6), weights, dense + dense.T


def visible(hidden: slice = slice(None, None, 8)) -> Visible:
    """Twenty-five dense clusters, every eighth link sensitive."""
    u, v = clustered()
    keys = np.sort(u * NODES + v)
    secret = keys[hidden]
    return Visible(NODES, np.setdiff1d(keys, secret), secret, NodeType(count=NODES), NodeTable(NODES))


def test_products_and_their_gradients_are_those_of_dense_algebra():
    pattern, weights, dense = toy()
    rows, upstream = torch.randn(6, 4), torch.randn(6, 4)
    loops = torch.rand(6)
    values, held = torch.cat([weights, loops]).requires_grad_(True), rows.clone().requires_grad_(True)
    found = pattern.times(values, held)
    found.backward(upstream)
    matrix = (dense + torch.diag(loops)).requires_grad_(True)
    other = rows.clone().requires_grad_(True)
    (matrix @ other).backward(upstream)
    slope = matrix.grad
    assert torch.allclose(found, matrix @ other, atol=1e-6)
    assert torch.allclose(held.grad, other.grad, atol=1e-6)
    both = slope[pattern.u, pattern.v] + slope[pattern.v, pattern.u]
    assert torch.allclose(values.grad, torch.cat([both, slope.diagonal()]), atol=1e-6)
    assert torch.allclose(pattern.row_sums(weights), dense.sum(1))


def test_inner_products_of_pairs_and_their_gradient():
    pattern, _, _ = toy()
    rows, upstream = torch.randn(6, 4), torch.randn(7)
    ours, plain = rows.clone().requires_grad_(True), rows.clone().requires_grad_(True)
    found = pattern.dots(ours)
    found.backward(upstream)
    wanted = (plain[pattern.u] * plain[pattern.v]).sum(1)
    wanted.backward(upstream)
    assert torch.allclose(found, wanted, atol=1e-6)
    assert torch.allclose(ours.grad, plain.grad, atol=1e-6)


@pytest.mark.parametrize("encoder", ["gcn", "sage"])
def test_an_encoder_is_its_formula(encoder):
    pattern, weights, dense = toy()
    model = Surrogate(6, PpgslParams(encoder=encoder))
    rows = model.embed(model.smoothed(pattern, weights), model.first)
    if encoder == "gcn":
        looped = dense + torch.eye(6)
        scale = looped.sum(1).rsqrt()
        step = scale[:, None] * looped * scale
        wanted = step @ model.second(functional.relu(step @ model.first + model.shift))
    else:
        mean = dense / dense.sum(1, keepdim=True).clamp(min=1e-6)
        hidden = functional.relu(model.first[:, :HIDDEN] + mean @ model.first[:, HIDDEN:] + model.shift)
        out = model.second(hidden)
        wanted = out[:, :EMBEDDING] + mean @ out[:, EMBEDDING:]
    assert torch.allclose(rows, wanted, atol=1e-5)


@pytest.mark.parametrize("head", ["cosine", "inner", "mlp"])
def test_both_ways_of_scoring_pairs_agree(head):
    pattern, _, _ = toy()
    model, rows = Surrogate(6, PpgslParams(head=head)), torch.randn(6, EMBEDDING)
    shuffled = torch.tensor([3, 1, 0, 5, 4, 2])
    linked, random = model.against(rows, pattern, shuffled)
    assert torch.allclose(linked, model.score(rows, pattern.u, pattern.v), atol=1e-5)
    assert torch.allclose(random, model.score(rows, torch.arange(6), shuffled), atol=1e-5)
    assert torch.allclose(linked, model.score(rows, pattern.v, pattern.u), atol=1e-5)
    if head == "cosine":
        wanted = functional.cosine_similarity(rows[pattern.u], rows[pattern.v])
        assert torch.allclose(linked, wanted, atol=1e-5)


def learned(given: Visible, **changes) -> Altered:
    params = QUICK.model_copy(update=changes)
    return fit.learned_weights(given, params, public_generator(2), no_progress)


def attack(given: Visible, params: PpgslParams, weights: np.ndarray, keys: np.ndarray) -> float:
    problem = fit.problem_of(given, keys, params, CPU, public_generator(3))
    taken = np.union1d(given.links, given.sensitive)
    want = search.asked(Target(attack_auc=0.5), given.sensitive, taken, NODES, public_generator(3))
    with seeded(7, CPU):
        return search.measured(problem, params, torch.from_numpy(weights), want)


@pytest.mark.parametrize("against", ["surrogate", "informed"])
def test_sensitive_links_are_found_in_the_graph_and_not_after_learning(against):
    given = visible()
    keys = fit.candidates(given, QUICK, public_generator(1))
    original = np.isin(keys, given.links).astype(np.float32)
    before = attack(given, QUICK, original, keys)
    found = learned(given, alpha=0.1, against=against)
    assert before > 0.85
    assert attack(given, QUICK, found.weights, found.keys) < before - 0.2
    loss = found.training.curves["privacy loss"]
    assert loss[-1] < loss[0] - 0.2
    assert found.training.curves["change of the graph"][0] == pytest.approx(0, abs=1e-5)


def test_where_only_utility_counts_nothing_changes():
    """Adam's steps do not shrink with the gradient: weights end near 0 and 1, and pairs are drawn by them.

    Which of the 1,758 links and as many other pairs differ hangs on the last bits of floats: at most one in
    a hundred may, and the weights are within a twentieth of the links, as the utility loss measures it.
    """
    given = visible()
    found = learned(given, alpha=100.0)
    kept = found.keys[found.weights > 0.5]
    assert len(np.setxor1d(kept, given.links)) <= 0.01 * len(given.links)
    assert found.training.curves["change of the graph"][-1] < 0.05


def test_the_same_draws_give_the_same_weights():
    one, two = (learned(visible()) for _ in range(2))
    assert np.array_equal(one.keys, two.keys)
    assert np.array_equal(one.weights, two.weights)


@pytest.mark.parametrize(("protocol", "trained"), [("sitp", 3), ("alternating", 1)])
def test_the_surrogate_starts_anew_under_sitp_only(monkeypatch, protocol, trained):
    made = []

    class Counted(Surrogate):
        def __init__(self, *given) -> None:
            made.append(1)
            super().__init__(*given)

    monkeypatch.setattr(learner, "Surrogate", Counted)
    learned(visible(), protocol=protocol)
    assert len(made) == trained


def test_an_empty_list_takes_every_step_and_changes_nothing(monkeypatch):
    """Else the time that a job takes would tell that nothing was named."""
    steps = []
    monkeypatch.setattr(fit, "_tick", lambda *step: steps.append(step[-1]))
    given = visible(slice(0))
    assert not len(given.sensitive)
    found = learned(given)
    assert steps == list(range(1, QUICK.steps + 1))
    assert np.array_equal(found.keys, given.links)


def test_threshold_rounding_is_settled_at_fit_and_bernoulli_is_not():
    assert set(learned(visible(), rounding="threshold", alpha=0.1).weights) == {1.0}
    drawn = learned(visible(), rounding="bernoulli", alpha=0.1).weights
    assert ((drawn > 0) & (drawn < 1)).sum() > 50


def test_every_pair_may_be_added_where_asked_and_a_large_graph_is_refused():
    given = visible()
    keys = fit.candidates(given, QUICK.model_copy(update={"full": True}), public_generator(1))
    assert len(keys) == NODES * (NODES - 1) // 2 - len(given.sensitive)
    assert not np.isin(keys, given.sensitive).any()
    several = fit.candidates(given, QUICK.model_copy(update={"additions": 2.5}), public_generator(1))
    assert len(several) == len(given.links) + int(2.5 * len(given.links))
    schema = GraphSchema(node_types=(NodeType(count=FULL_NODES + 1),))
    facts = PublicFacts(schema, Unit.EDGE, None, 1, 0, ("edge",))
    with pytest.raises(errors.NotAccepted, match="at most"):
        GENERATOR.plan(PpgslParams(full=True), facts)
    assert GENERATOR.plan(PpgslParams(), facts)


def test_features_are_public_ones_and_never_the_label():
    vectors = np.random.default_rng(0).random((5, 20), dtype=np.float32)
    attributes = (
        Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC),
        Attribute(name="age", kind=AttributeKind.NUMBER, protection=Protection.PUBLIC),
        Attribute(name="secret", kind=AttributeKind.NUMBER, protection=Protection.WITHHELD),
        Attribute(name="class", kind=AttributeKind.NUMBER, protection=Protection.PUBLIC, label=True),
    )
    numbers = pa.array([1.0, None, 3.0, 5.0, 7.0])
    table = NodeTable(5, None, {"words": vectors, "age": numbers, "secret": numbers, "class": numbers})
    features, inputs = features_of(NodeType(count=5, attributes=attributes), table, CPU)
    assert inputs == 21
    found = (features @ torch.eye(21)).numpy()
    assert np.allclose(np.linalg.norm(found[:, :20], axis=1), 1)
    assert found[1, 20] == 0
    assert found[:, 20].mean() == pytest.approx(0, abs=1e-6)
    _, inputs = features_of(NodeType(count=5, attributes=attributes[1:]), table, CPU)
    assert inputs == 5


def test_adam_is_torchs():
    start = torch.randn(5)
    ours, theirs = start.clone().requires_grad_(True), start.clone().requires_grad_(True)
    one, two = Adam([ours], 0.3), torch.optim.Adam([theirs], lr=0.3)
    for _ in range(4):
        two.zero_grad()
        for each, optimiser in ((ours, one), (theirs, two)):
            (each**3).sum().backward()
            optimiser.step()
    assert torch.allclose(ours, theirs, atol=1e-6)
    assert not torch.allclose(ours, start)
    assert ours.grad is None


def test_the_squared_change_is_that_of_the_whole_matrix():
    """Eq. 8 over a symmetric matrix, against the relative change of the same weights."""
    given, steps = visible(), {"alpha": 0.01, "steps": 3, "against": "surrogate"}
    links = len(given.links)
    relative = learned(given, **steps, change="relative").training.curves["change of the graph"]
    squared = learned(given, **steps, change="squared").training.curves["change of the graph"]
    assert squared[0] == pytest.approx(0, abs=1e-9)
    assert squared[1] == pytest.approx(2 * links * relative[1] ** 2, rel=1e-3)  # one step: Adam moves alike
