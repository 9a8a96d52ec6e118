"""The preset, the split of epsilon by its equations, the ablations and longer meta-paths."""

import math

import numpy as np
import pytest
import torch

from core import errors
from papers._shared.deviations import deviating
from papers.hetesdg import GENERATOR
from papers.hetesdg.hetedp import GENERATOR as HETEDP
from papers.hetesdg.params import HeteParams
from papers.hetesdg.published import bilevel, paper
from papers.hetesdg.published.algorithm1 import FeatureStage, HeteGCN, _noisy, steps_of, topology_stage
from papers.hetesdg.published.fit import _ends, paths_from
from papers.hetesdg.stated import PAPER, STATED
from papers.hetesdg.tests.toys import facts, fit, typed

QUICK = {"variant": "paper", "steps": 3, "feature_epochs": 2, "release": ("embedding",)}
CPU = torch.device("cpu")


def stage(**options) -> FeatureStage:
    graph = typed()
    links = {"writes": _ends(graph, "writes", CPU)}
    params = HeteParams.varied(**{**QUICK, **options})
    features = torch.from_numpy(graph.nodes["paper"].attributes["words"].copy())
    return FeatureStage.begun(features, paths_from(graph, "paper", links, ()), params)


def test_the_preset_is_what_the_paper_states():
    assert not deviating(PAPER, STATED)
    assert PAPER.variant == "paper"
    assert steps_of(13_407, PAPER) == 100 * 7
    with pytest.raises(ValueError, match="leave one of them out"):
        HeteParams(preset="paper", variant="sound")
    theirs = HETEDP.Params(preset="paper")
    assert (theirs.variant, theirs.way.heads, theirs.split) == ("paper", 8, "equal")


def test_turns_go_by_eq_24_and_25_within_the_sum_of_eq_5():
    assert bilevel.turned(0.5, 0.2, 1.0) == pytest.approx(0.3)
    assert bilevel.turned(0.5, -9.0, 1.0) == 1 - bilevel.LEAST
    assert bilevel.turned(0.5, 9.0, 1.0) == bilevel.LEAST
    assert bilevel.held(0.6, 0.3, 1.0) == pytest.approx((2 / 3, 1 / 3))


def test_the_slope_of_topology_is_that_of_the_loss_one_step_later():
    """Of the loss (w - a)^2 / 2, by a difference quotient of the whole step."""
    torch.manual_seed(1)
    w, a, noise = torch.randn(3, 5).double()
    rate, clip, batch = 0.1, 0.5, 4

    def stepped(epsilon: float) -> torch.Tensor:
        return w - rate * ((w - a) + clip / batch * 3.0 / epsilon * noise)

    def loss(epsilon: float) -> float:
        return float(0.5 * (stepped(epsilon) - a).square().sum())

    found = bilevel.topology_slope(
        [stepped(0.5) - a], [noise], rate=rate, scale=clip / batch * 3.0 / 0.5, epsilon=0.5
    )
    assert found == pytest.approx((loss(0.5 + 1e-6) - loss(0.5 - 1e-6)) / 2e-6, rel=1e-5)


def test_feature_epsilon_moves_by_the_slope_of_its_loss():
    """One epoch at rate 0 in effect: the loss's difference quotient under the same coins."""

    def after(epsilon: float) -> float:
        torch.manual_seed(3)
        found = stage(split="bilevel", feature_epochs=1, feature_rate=1e-9)
        return found.train(epsilon, 1.0)

    moved = 0.5 - after(0.5)
    assert moved != 0

    def loss(epsilon: float) -> float:
        torch.manual_seed(3)
        found = stage(feature_rate=1e-9)
        rows = found.module(found.features, found.near, found.reach, paper.feature_deviation(epsilon))
        u = torch.randint(len(rows), (1024,))
        torch.randint(1, (1024,))
        v = found.near[0, u, torch.randint(8, (1024,))]
        other = torch.randint(len(rows), (1024,))
        same = torch.nn.functional.logsigmoid((rows[u] * rows[v.clamp(min=0)]).sum(1)) * (v >= 0)
        absent = torch.nn.functional.logsigmoid(-(rows[u] * rows[other]).sum(1))
        return float(-(same + absent).mean())

    assert moved == pytest.approx((loss(0.51) - loss(0.49)) / 0.02, rel=0.05)


@pytest.mark.parametrize("split", ["measured", "bilevel"])
def test_parts_sum_to_the_claimed_epsilon(split):
    model, _ = fit(typed(), 1.0, split=split, claimed_epsilon=2.0, **QUICK)
    note = model.notes[0]
    parts = [float(word) for word in note.replace(":", "").split() if word.replace(".", "").isdigit()]
    assert sum(parts[1:]) == pytest.approx(2.0, rel=0.01)
    assert (parts[1] == parts[2]) == (split == "measured")


@pytest.mark.parametrize(
    ("noise", "features", "topology"),
    [("both", 1, 1), ("features", 1, 0), ("topology", 0, 1), ("none", 0, 0)],
)
def test_an_ablation_leaves_out_one_stages_noise(noise, features, topology):
    found = stage(noise=noise)
    assert torch.equal(found.released(0.5), found.released(0.5)) != bool(features)
    params = HeteParams.varied(**{**QUICK, "noise": noise})
    assert (GENERATOR.claim(params, facts(typed(), 1.0)) is None) == (noise != "both")
    ends = torch.arange(40) % 10, torch.arange(40) % 8
    rows = torch.ones(10, 4), torch.ones(8, 4)
    slopes = topology_stage(ends, rows, 0.5, 4, params, lambda done: None)[2]
    assert (slopes != 0) == bool(topology)


def test_gradients_are_eq_23():
    """Each link's clipped to C, the sum with noise of deviation sigma C, over the batch."""
    module = torch.nn.Linear(2, 1, bias=False)
    found = {"weight": torch.tensor([[[3.0, 4.0]], [[0.3, 0.4]]])}
    noises = _noisy(module, found, 1.0, 0.25, 2)
    clean = (torch.tensor([[0.6, 0.8]]) + torch.tensor([[0.3, 0.4]])) / 2
    torch.testing.assert_close(module.weight.grad, clean + 0.25 * noises[0])
    assert _noisy(module, found, math.inf, 0.0, 2) == []
    torch.testing.assert_close(module.weight.grad, torch.tensor([[3.3, 4.4]]) / 2)


def test_widths_heads_and_dropout_are_those_that_are_asked_for():
    found = stage(heads=8, feature_width=64, dropout=0.8, noise="none")
    assert found.released(0.5).shape[1] == 64
    assert found.module.attention.shape == (1, 8, 16)
    found.module.train()
    one, other = (found.module(found.features, found.near, found.reach, 0.0) for _ in range(2))
    assert not torch.equal(one, other)
    assert torch.equal(found.released(0.5), found.released(0.5))
    assert HeteGCN(64, 32).first[0].out_features == 32


def test_longer_meta_paths_are_walked_for_each_type_that_they_lead_back_to():
    graph = typed()
    links = {name: _ends(graph, name, CPU) for name in graph.edges}
    path = ("writes", "about", "about", "writes")  # author, paper, topic, paper, author
    (steps,) = paths_from(graph, "author", links, (path,))
    assert len(steps) == 4
    paper_table = graph.edges["writes"]
    written = set(paper_table.target[paper_table.source == 0].tolist())
    at = torch.zeros(200, dtype=torch.int64)
    assert set(steps[0].drawn(at).tolist()) <= written
    for step in steps:
        at = step.drawn(at)
    topic = {
        int(p): int(t) for p, t in zip(graph.edges["about"].source, graph.edges["about"].target, strict=True)
    }
    mine = {topic[p] for p in written}
    for author in set(at.tolist()):
        theirs = paper_table.target[paper_table.source == author]
        assert mine & {topic[int(p)] for p in theirs}
    assert len(paths_from(graph, "topic", links, (path,))) == 1  # there and back: the path is not its own
    model, _ = fit(graph, 1.0, meta_paths=(path,), **QUICK)
    assert np.isfinite(model.vectors()["embedding"]["author"]).all()


@pytest.mark.parametrize("path", [("writes", "about"), ("writes", "nothing")])
def test_a_path_that_leads_nowhere_is_refused(path):
    with pytest.raises(errors.NotAccepted):
        GENERATOR.plan(HeteParams.varied(meta_paths=(path,), **QUICK), facts(typed(), 1.0))


def test_the_sound_variant_takes_pairs_alone():
    with pytest.raises(ValueError, match="two relations"):
        HeteParams(release=("embedding",), meta_paths=(("writes", "about", "about", "writes"),))


def test_defaults_are_what_they_were():
    fresh = HeteParams()
    assert fresh.variant == "sound"
    way = fresh.way
    assert (way.feature_width, way.heads, way.batch, way.negatives_per_link) == (32, 4, 256, 2)
    assert HeteParams(preset="paper").way is fresh.WAYS["paper"]
