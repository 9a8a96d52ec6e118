"""The link predictor: what it costs, that it learns where noise is small, that its inputs are paid for."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from core.errors import NotAccepted
from core.graphs.graph import Graph
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import Repeated
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.gradients import DpSgdSession, Gradient
from core.privacy.session.private_graph import PrivateGraph
from papers.hetesdg import GENERATOR
from papers.hetesdg.sound import training as predictors
from papers.hetesdg.sound.topo import LATENT, Predictor
from papers.hetesdg.tests import toys as toys
from papers.hetesdg.tests.toys import fit, typed

DELTA = 10**13
SHORT = {"learn": "link-sgd", "release": ("embedding",), "second_hop": "off", "steps": 2, "negatives": 20}


def test_it_needs_a_delta():
    with pytest.raises(NotAccepted) as found:
        GENERATOR.plan(GENERATOR.Params(learn="link-sgd"), toys.facts(typed(), 1.0))
    assert found.value.members["field"] == "delta"


def test_tables_and_training_cost_epsilon_together():
    plan = GENERATOR.plan(GENERATOR.Params(learn="link-sgd"), toys.facts(typed(), 1.0, DELTA))
    cost = plan.cost()
    assert cost.kind is GuaranteeKind.APPROXIMATE
    assert 0.95e9 < cost.nano_epsilon <= 10**9


def test_it_learns_where_noise_is_small():
    """Uniform pairs against links, at an epsilon that no one would ask for."""
    graph = typed()
    model, _ = fit(
        graph,
        200.0,
        delta_atto=DELTA,
        names=("writes",),
        learn="link-sgd",
        release=("embedding",),
        second_hop="off",
        clusters=3,
        steps=40,
        rate=0.1,
        negatives=200,
    )
    table, rng = graph.edges["writes"], np.random.default_rng(1)
    other = rng.integers(0, toys.AUTHORS, table.count), rng.integers(0, toys.PAPERS, table.count)
    ends = [np.concatenate(each) for each in zip((table.source, table.target), other, strict=True)]
    score = roc_auc_score(np.repeat([1, 0], table.count), model.scores("writes", *ends))
    assert score > 0.7
    told = model.training()
    assert [len(values) for values in told.curves.values()] == [40]


def test_every_relation_pays_for_its_own_training_and_files_come_back(tmp_path):
    graph = typed()
    model, meter = fit(graph, 2.0, delta_atto=DELTA, **SHORT)
    paid = [entry.edge_type for entry in meter.transcript if isinstance(entry.event, Repeated)]
    assert paid == [each.name for each in graph.schema.edge_types]
    model.save(tmp_path)
    again = GENERATOR.load(tmp_path)
    pairs = np.array([0, 1]), np.array([2, 3])
    for name in paid:
        np.testing.assert_array_equal(model.scores(name, *pairs), again.scores(name, *pairs))
    knows = model.scores("knows", *pairs), model.scores("knows", *pairs[::-1])
    np.testing.assert_allclose(*knows)
    assert again.training() == model.training()


def test_a_pairs_inputs_are_paid_for(monkeypatch):
    """With the noisy answers held fixed, the encoder's rows are the same whatever the links are."""
    seen = []

    def learned(open_session, training, ends, edges, *_):
        seen.append([*ends[0], *ends[1], np.array(edges)])
        open_session(module=torch.nn.Linear(1, 1), optimiser=None, clip=1.0, divisor=1.0)

    def answered(values, l1_sensitivity, nano_epsilon, **_):
        return np.random.default_rng(len(values)).integers(-3, 4, len(values))

    monkeypatch.setattr(predictors, "learned", learned)
    monkeypatch.setattr(mechanisms, "discrete_laplace", answered)
    monkeypatch.setattr(PrivateGraph, "dp_sgd", lambda *_, **named: named)
    full = typed()
    empty = Graph.build(full.schema, full.nodes, {})
    for graph in (full, empty):
        with pytest.raises(AttributeError):  # there are no latents to keep
            fit(graph, 1.0, delta_atto=DELTA, names=("writes",), **SHORT)
    assert len(seen) == 2
    for one, other in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, other)


NOISE = torch.linspace(-1.0, 1.0, 2 * LATENT).reshape(2, LATENT)


def loss_in_full(module: Predictor, u, v, near_u, near_v, sign: float) -> torch.Tensor:
    """The loss of one pair, term by term as Eq. 16 to 22 have it, with ``NOISE`` for the two draws."""

    def encoded(encoder, row):
        found = encoder.second(torch.relu(encoder.first(row)))
        return found[:LATENT], found[LATENT:].clamp(-6.0, 2.0)

    ends = [encoded(module.source, u), encoded(module.target, v)]
    latent = [mean + spread.exp() * noise for (mean, spread), noise in zip(ends, NOISE, strict=True)]
    logit = latent[0] @ module.form @ latent[1] + module.offset
    divergence = sum(0.5 * (m**2 + torch.exp(2 * s) - 2 * s - 1).sum() for m, s in ends)
    near = encoded(module.target, near_u)[0], encoded(module.source, near_v)[0]
    semantic = sum(0.5 * ((a - mean) ** 2).sum() for a, (mean, _) in zip(near, ends, strict=True))
    own, other = module.weights
    return -torch.nn.functional.logsigmoid(sign * logit) + own * divergence + other * semantic


def test_every_pairs_gradient_is_that_of_the_loss_in_full(monkeypatch):
    """What a step takes example by example, against the loss written out and differentiated by itself."""
    torch.manual_seed(1)
    module = Predictor(5, 3, 0.7, 0.9)
    with torch.no_grad():
        for parameter in module.parameters():  # some deviations lie outside of the clamp
            parameter += 2 * torch.randn(parameter.shape)
    u, near_v, v, near_u = (torch.randn(6, width) for width in (5, 5, 3, 3))
    sign = torch.tensor([1.0, -1.0] * 3)
    session = DpSgdSession(
        DpSgd(Fraction(1, 2), Fraction(1), 1), module, torch.optim.SGD(module.parameters()), clip=1, divisor=1
    )
    values = {name: parameter.detach() for name, parameter in module.named_parameters()}
    monkeypatch.setattr(torch, "randn", lambda *_, **__: NOISE.clone())
    rows = torch.stack([u, near_v], 1), torch.stack([v, near_u], 1), sign
    found = session._per_example(Gradient(module.gradient), 3)(values, *rows)
    for i in range(6):
        module.zero_grad()
        loss_in_full(module, u[i], v[i], near_u[i], near_v[i], float(sign[i])).backward()
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(found[name][i], parameter.grad, rtol=1e-4, atol=1e-5)
