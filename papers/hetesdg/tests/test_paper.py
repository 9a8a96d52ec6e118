"""The published form: no guarantee, its claim with what its noise comes to, and a graph all the same."""

import math

import numpy as np
import pytest
import torch

from core.methods import registry
from core.methods.base import no_progress
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from papers.hetesdg import GENERATOR
from papers.hetesdg.published import paper
from papers.hetesdg.published.algorithm1 import Adjacency, FeatADP
from papers.hetesdg.tests import toys as toys
from papers.hetesdg.tests.toys import fit, typed

PAPER = {"variant": "paper", "steps": 3}


@pytest.mark.parametrize("method", ["hetesdg", "hetedp"])
def test_it_has_no_guarantee_and_prints_its_claim(method):
    generator = registry.get(method)
    facts = toys.facts(typed(), 1.0)
    params = generator.Params(**PAPER)
    assert generator.plan(params, facts).cost().kind is GuaranteeKind.NONE
    claim = generator.claim(params, facts)
    assert (claim.epsilon, claim.delta) == ("1", "0.00001")
    assert "epsilon 96.4" in claim.remark
    assert generator.claim(generator.Params(), facts) is None


@pytest.mark.parametrize(("claimed", "true"), [(1.0, 300), (0.5, 96), (0.01, 0.75)])
def test_the_attenuated_noise_has_the_epsilon_that_was_worked_out_by_hand(claimed, true):
    deviation = paper.ATTENUATION * paper.feature_deviation(claimed)
    assert paper.gaussian_epsilon(deviation, paper.DELTA) == pytest.approx(true, rel=0.01)


def test_the_exact_epsilon_of_a_gaussian_meets_its_definition():
    """delta = P(X > e/..) - exp(e) P(..), by the two normal tails."""
    sigma, delta = 3.0, 1e-3
    epsilon = paper.gaussian_epsilon(sigma, delta)

    def tail(x):
        return 0.5 * math.erfc(x / math.sqrt(2))

    found = tail(epsilon * sigma - 0.5 / sigma) - math.exp(epsilon) * tail(epsilon * sigma + 0.5 / sigma)
    assert found == pytest.approx(delta, rel=1e-6)


def test_a_graph_comes_out_with_the_exact_number_of_links(tmp_path):
    graph = typed()
    model, _ = fit(graph, 1.0, release=("graph", "embedding"), **PAPER)
    drawn = model.sample(public_generator(1), no_progress)
    for name, table in graph.edges.items():
        assert drawn.edges[name].count == table.count, name
    assert set(model.vectors()["embedding"]) == {"paper", "author", "topic"}
    assert all(np.isfinite(rows).all() for rows in model.vectors()["embedding"].values())
    model.save(tmp_path)
    assert GENERATOR.load(tmp_path).sample(public_generator(1), no_progress).equals(drawn)


def test_noisy_features_are_not_to_be_had_of_it():
    with pytest.raises(ValueError, match="rows"):
        GENERATOR.Params(variant="paper", release=("features",), rows=True)


def test_attention_is_over_the_neighbours_that_were_found():
    torch.manual_seed(0)
    module = FeatADP(3, 1)
    features = torch.eye(3)
    near = torch.tensor([[[1, 1, -1, -1], [0, 2, 2, 2], [-1, -1, -1, -1]]])
    found = module(features, near, torch.zeros(1), 0.0)
    own = (module.map(features)[1][None].expand(4, -1).reshape(-1)).tanh()
    torch.testing.assert_close(found[0], own)
    assert not found[2].any()


def test_walks_go_to_neighbours_alone():
    links = Adjacency(torch.tensor([0, 0, 2]), torch.tensor([5, 6, 7]), 4)
    drawn = links.drawn(torch.tensor([0] * 50 + [1, 2, -1]))
    assert set(drawn[:50].tolist()) == {5, 6}
    assert drawn[50:].tolist() == [-1, 7, -1]


def test_hetedp_differs_in_what_it_fixes_alone():
    ours, theirs = (registry.get(name).Params() for name in ("hetesdg", "hetedp"))
    fixed = {"split", "debias", "semantic"}
    assert theirs.model_dump() == ours.model_dump(exclude=fixed)
    assert all(getattr(theirs, name) != getattr(ours, name) for name in fixed)
