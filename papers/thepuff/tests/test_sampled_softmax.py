"""The choice of a node: the exact law among few, and a sample whose law comes close among many."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.learning.devices import seeded
from papers.thepuff.embedding import Candidates, Embedding
from papers.thepuff.sampled_softmax import NEAREST, Vocabulary, chosen, distances, drawn

NODES, DIMENSIONS = 40, 4


def made(exact_up_to, sampled):
    rng = np.random.Generator(np.random.PCG64(1))
    table = rng.standard_normal((NODES + 10, DIMENSIONS)).astype(np.float32)
    choices = Candidates(
        np.array([[0, 1]]),
        np.array([0, NODES, NODES + 10]),
        np.arange(NODES + 10),
        np.arange(NODES + 10),
        np.log(rng.integers(1, 30, NODES + 10).astype(np.float64)),
    )
    tensors = Vocabulary.tensors_of(Embedding(np.empty(0, np.int64), table, table), choices)
    return Vocabulary(tensors, exact_up_to=exact_up_to, sampled=sampled, place=torch.device("cpu"))


def law(vocabulary, wanted):
    """softmax(-|h* - h_v| + w_v) by hand, over the candidates of type 0."""
    distance = (vocabulary.table[:NODES] - wanted).norm(dim=1)
    return torch.softmax(vocabulary.weights[:NODES] - distance, 0).numpy()


def frequencies(vocabulary, wanted, rounds, rows):
    seen = np.zeros(NODES)
    for _ in range(rounds):
        offered = vocabulary.offered(0, 0)
        at, _ = chosen(wanted.expand(rows, -1), offered, None, False)
        seen += np.bincount(offered.nodes[at].numpy(), minlength=NODES)
    return seen / seen.sum()


def test_small_types_are_drawn_by_equation_14_exactly():
    vocabulary = made(exact_up_to=NODES, sampled=8)
    wanted = torch.tensor([[0.5, -0.5, 1.0, 0.0]])
    assert not vocabulary.large(0, 0)
    with seeded(3):
        found = frequencies(vocabulary, wanted, 10, 20_000)
    expected = law(vocabulary, wanted)
    chi = 200_000 * np.sum((found - expected) ** 2 / expected)
    assert chi < (NODES - 1) + 5 * np.sqrt(2 * (NODES - 1))


def test_candidates_are_proposed_by_their_weights():
    vocabulary = made(exact_up_to=8, sampled=8)
    with seeded(4):
        found = np.bincount(vocabulary.drawn(0, 0, 200_000).numpy(), minlength=NODES)
        other = vocabulary.drawn(0, 1, 1000)
    expected = torch.softmax(vocabulary.weights[:NODES], 0).numpy()
    assert 200_000 * np.sum((found / 200_000 - expected) ** 2 / expected) < NODES + 5 * np.sqrt(2 * NODES)
    assert other.min() >= NODES
    assert other.max() < NODES + 10


@pytest.mark.parametrize(("sampled", "most"), [(4, 0.25), (64, 0.06)])
def test_sampled_choices_come_closer_the_more_are_offered(sampled, most):
    vocabulary = made(exact_up_to=8, sampled=sampled)
    wanted = torch.tensor([[0.5, -0.5, 1.0, 0.0]])
    with seeded(5):
        found = frequencies(vocabulary, wanted, 1500, 20)
    distance = 0.5 * np.abs(found - law(vocabulary, wanted)).sum()
    assert distance < most
    # Without the correction the weights would count twice.
    offered = vocabulary.offered(0, 0)
    assert len(offered.nodes) == sampled
    assert torch.all(offered.weights == 0)


def test_a_draw_follows_the_chances():
    chances = torch.tensor([[0.0, 0.2, 0.8, 0.0]]).expand(50_000, -1)
    with seeded(6):
        seen = np.bincount(drawn(chances).numpy(), minlength=4) / 50_000
    assert seen[0] == seen[3] == 0
    assert abs(seen[2] - 0.8) < 5 * np.sqrt(0.16 / 50_000)


def test_the_gradient_is_that_of_the_mean_vector():
    """The closed form, beside what torch derives from equation 14 as it is written."""
    vocabulary = made(exact_up_to=NODES, sampled=8)
    offered = vocabulary.offered(0, 0)
    torch.manual_seed(0)
    wanted = torch.randn(7, DIMENSIONS, requires_grad=True)
    shift = torch.randn(NODES, requires_grad=True)
    slope = torch.randn(7, DIMENSIONS)
    at, vectors = chosen(wanted, offered, shift, True)
    assert torch.equal(vectors, offered.values[at])
    found = torch.autograd.grad(vectors, [wanted, shift], slope)
    apart = ((wanted.unsqueeze(1) - offered.values).square().sum(2) + NEAREST).sqrt()
    mean = torch.softmax(offered.weights + shift - apart, 1) @ offered.values
    for one, other in zip(found, torch.autograd.grad(mean, [wanted, shift], slope), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert torch.allclose(distances(wanted, offered.values, offered.squares), apart, atol=1e-3)
