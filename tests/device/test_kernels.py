"""Kernels on the device give what NumPy gives, draws have the law that they should, and seeds repeat."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy import stats

from core.evaluation.learning import gin
from core.evaluation.learning.seal import Seal
from core.evaluation.view import UndirectedView
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.learning.devices import seeded
from core.learning.sparse import Sparse
from papers._shared.walks.links import reverse
from papers._shared.walks.network import Candidates, Network, turned
from papers.dpggan.closed_form import Networks, Rival
from papers.dpggan.networks import Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.union import Union, partition
from papers.ppgsl.sparse import Pattern
from papers.thepuff.sampled_softmax import drawn

RARE = 1e-4
"""A draw of the right law is refused once in so many looks, and is looked at three times."""


def view(nodes: int, *steps: int, open_ended: bool = False) -> UndirectedView:
    """A ring, or a path, whose nodes are joined to those so many places on."""
    at = np.arange(nodes)
    source = np.concatenate([at for _ in steps])
    target = np.concatenate([at + step for step in steps])
    kept = target < nodes if open_ended else slice(None)
    u, v = source[kept], target[kept] % nodes
    return UndirectedView.of(Cell(EdgeType(), None, nodes, nodes, np.minimum(u, v), np.maximum(u, v)))


def union_of_sizes(*sizes: int) -> Union:
    """Graphs of so many nodes, of which nothing may be read."""
    return Union(sizes, tuple(1 for _ in sizes), tuple(np.empty(0, np.int64) for _ in sizes))


def test_products_with_sparse_matrices_and_their_gradients(place: torch.device) -> None:
    rng = np.random.default_rng(0)
    matrix = sp.random_array((50, 40), density=0.1, rng=rng, format="csr", dtype=np.float32)
    rows = torch.randn(40, 7, device=place, requires_grad=True)
    found = Sparse(sp.csr_array(matrix), place) @ rows
    found.square().sum().backward()
    exact = matrix @ rows.detach().cpu().numpy().astype(np.float64)
    np.testing.assert_allclose(found.detach().cpu().numpy(), exact, rtol=1e-4, atol=1e-5)
    assert rows.grad is not None
    np.testing.assert_allclose(rows.grad.cpu().numpy(), 2 * matrix.T @ exact, rtol=1e-3, atol=1e-4)


def test_symmetric_products_with_learned_entries(place: torch.device) -> None:
    u, v = (torch.tensor(each, device=place) for each in ([0, 1, 2, 0], [1, 2, 3, 3]))
    pattern = Pattern(u, v, 5)
    values = torch.randn(9, device=place, requires_grad=True)
    rows = torch.randn(5, 3, device=place, requires_grad=True)
    dense = torch.zeros(5, 5, device=place)
    dense = dense.index_put((u, v), values[:4]).index_put((v, u), values[:4]) + torch.diag(values[4:])
    weight = torch.randn(5, 3, device=place)
    found = pattern.times(values, rows)
    torch.testing.assert_close(found, dense @ rows)
    ours = torch.autograd.grad((found * weight).sum(), [values, rows], retain_graph=True)
    theirs = torch.autograd.grad(((dense @ rows) * weight).sum(), [values, rows])
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(pattern.dots(rows), (rows[u] * rows[v]).sum(1))


def test_sums_over_all_pairs_of_each_graph(place: torch.device) -> None:
    union = union_of_sizes(7, 2, 1, 12)
    rows = torch.randn(union.nodes, 5, device=place, requires_grad=True)
    offsets = torch.randn(4, device=place, requires_grad=True)
    found = partition(union, rows, rows, offsets)
    logits = (rows @ rows.T).double().detach().cpu().numpy()
    exact = 0.0
    for number, (first, last) in enumerate(zip(union.offsets[:-1], union.offsets[1:], strict=True)):
        u, v = np.triu_indices(last - first, 1)
        exact += np.logaddexp(0, logits[first + u, first + v] + float(offsets[number].detach())).sum()
    assert float(found.detach()) == pytest.approx(exact, rel=1e-5)
    found.backward()
    assert rows.grad is not None
    assert offsets.grad is not None
    assert float(offsets.grad[2]) == 0.0  # one node has no pairs
    assert bool(rows.grad[9].eq(0).all())


def test_weighted_edges_are_seen_as_the_graph_that_they_make(place: torch.device) -> None:
    torch.manual_seed(0)
    judge = Discriminator(8).to(place)
    u, v = (torch.tensor(each, device=place) for each in ([0, 1, 2, 5], [1, 2, 3, 7]))
    torch.testing.assert_close(judge.soft(u, v, torch.ones(4, device=place)), judge.known(Smoothed(u, v, 8)))


@pytest.mark.parametrize("with_rival", [False, True])
def test_gradients_that_are_written_down_are_set_on_the_device(place: torch.device, with_rival: bool) -> None:
    torch.manual_seed(0)
    union = union_of_sizes(7, 1, 5)
    encoder, decoder, judge = Encoder(13).to(place), Decoder().to(place), Discriminator(13).to(place)
    u, v = (torch.tensor(each, device=place) for each in ([0, 1, 2, 8], [1, 2, 3, 9]))
    matrix = Smoothed(u, v, 13).matrix
    moved = torch.optim.SGD(judge.parameters(), lr=0.1)
    rival = Rival(judge, moved, matrix, 0.7, 0.4) if with_rival else None
    rebuilt, told = Networks(union, encoder, decoder, matrix, (u, v), 0.01).step(rival)
    assert torch.isfinite(rebuilt)
    assert (told is not None) == with_rival
    for network in (encoder, decoder):
        for each in network.parameters():
            assert each.grad is not None
            assert each.grad.device.type == place.type
            assert bool(torch.isfinite(each.grad).all())


def test_drawn_places_have_their_chances(place: torch.device) -> None:
    chances = torch.tensor([0.5, 0.0, 0.2, 0.3], device=place)
    for _ in range(3):
        at = drawn(chances.expand(20_000, 4))
        counts = torch.bincount(at, minlength=4).cpu().numpy()
        assert counts[1] == 0
        if stats.chisquare(counts[[0, 2, 3]], 20_000 * np.array([0.5, 0.2, 0.3])).pvalue > RARE:
            break
    else:
        pytest.fail("places were not drawn by their chances")


def test_uniform_pairs_are_uniform_within_graphs(place: torch.device) -> None:
    union = union_of_sizes(3, 1, 2)
    for _ in range(3):
        graph, u, v = (each.cpu().numpy() for each in union.sampled(20_000, place))
        assert ((graph == 0) == (u < 3)).all()
        pairs, counts = np.unique(np.minimum(u, v) * 10 + np.maximum(u, v), return_counts=True)
        assert pairs.tolist() == [1, 2, 12, 45]
        if stats.chisquare(counts).pvalue > RARE:
            break
    else:
        pytest.fail("pairs were not uniform")


def test_networks_of_the_evaluation_tell_what_they_should(place: torch.device) -> None:
    """GIN: dense rings from paths, in batches; SEAL: a ring's links from other pairs."""
    rings = [view(12 + k % 5, 1, 2, 3) for k in range(12)]
    paths = [view(12 + k % 5, 1, open_ended=True) for k in range(12)]
    found = gin.fitted_predictions([*rings, *paths], np.repeat([0, 1], 12), [*rings[:4], *paths[:4]], 2, 0)
    assert found.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    ring, seal, u = view(60, 1, 2), Seal(0, training_links=60), np.arange(40)
    linked, apart = seal.score(ring, u, (u + 1) % 60), seal.score(ring, u, (u + 20) % 60)
    assert np.mean(linked[:, None] > apart) > 0.9


def test_a_seed_repeats_on_the_device(place: torch.device) -> None:
    """Bit for bit on a CPU; on a GPU too, where a product's order of sums is kept."""
    made = []
    for _ in range(2):
        with seeded(3) as there:
            assert there == place
            layer = torch.nn.Linear(33, 17).to(there)
            rows = torch.randn(65, 33, device=there)
            layer(rows).square().sum().backward()
            assert layer.weight.grad is not None
            made.append(layer.weight.grad.clone())
    assert torch.equal(*made)


def test_a_walk_generators_loss_and_gradient_are_those_of_the_cpu(place: torch.device) -> None:
    """Two labels that are each other's reverse, over four nodes; the walks alternate."""
    candidates = Candidates(
        nodes=torch.tensor([2, 3, 0, 1]),
        start=torch.tensor([0, 0, 2, 4]),
        links=torch.tensor([1.0, 3.0, 2.0, 2.0]),
        first=torch.tensor([-torch.inf, 0.0, 0.0]),
        after=torch.tensor([[0.0] * 3] * 3),
    )
    label = torch.tensor([[2, 1, 2], [1, 2, 1]])
    walks = torch.tensor([[2, 1, 3], [0, 2, 1]])
    np.testing.assert_array_equal(turned(label.to(place)).cpu(), reverse(label.numpy()))
    torch.manual_seed(1)
    network = Network(4, 3, 4, 8)
    found = []
    for where in (torch.device("cpu"), place):
        network = network.to(where)
        network.zero_grad()
        loss = network.loss(candidates.on(where), walks.to(where), label.to(where))
        loss.backward()
        assert network.shift.grad is not None
        found.append(np.append(network.shift.grad.cpu().numpy(), loss.item()))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    # An untrained network chooses between two candidates by their links, and has one label to go on with.
    chances = [1 / 2, 3 / 4, 1 / 2, 1 / 4, 1 / 2, 3 / 4]
    np.testing.assert_allclose(found[0][-1], -np.log(chances).mean(), rtol=1e-5)
    nodes, labels = network.walk(candidates.on(place), 50, 3)
    kinds = (nodes >= 2).long()
    assert (kinds[:, :-1] != kinds[:, 1:]).all()
    assert (kinds[:, 1:] == (labels == 1)).all()
