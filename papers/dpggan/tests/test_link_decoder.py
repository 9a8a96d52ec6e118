"""The learned half of dpggan: sums over pairs, one edge's gradient, and the fit to a noisy sum."""

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad

from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.gradients import DpSgdSession
from core.privacy.queries import Shape
from papers.dpggan import link_decoder, spectral
from papers.dpggan.backbone import Weights, trained, untrained
from papers.dpggan.networks import LATENT, Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.scores import latent_weights, scores_of
from papers.dpggan.union import Union, partition
from tests.support.generating import graph_of, random_pairs

CPU = torch.device("cpu")


def keys_of(pairs: np.ndarray, nodes: int) -> np.ndarray:
    return np.sort(pairs[:, 0] * nodes + pairs[:, 1])


def blocks(nodes: int, inside: float, seed: int = 3) -> np.ndarray:
    """Two halves, linked inside."""
    every = np.stack(np.triu_indices(nodes, 1), axis=1)
    same = (every[:, 0] < nodes // 2) == (every[:, 1] < nodes // 2)
    return every[same & (np.random.default_rng(seed).random(len(every)) < inside)]


def union_of(*graphs: tuple[np.ndarray, int]) -> Union:
    keys = tuple(keys_of(pairs, nodes) for pairs, nodes in graphs)
    return Union(tuple(n for _, n in graphs), tuple(max(len(k), 1) for k in keys), keys)


def no_tick(done: int) -> None:
    """Progress that nobody looks at."""


def test_a_union_numbers_nodes_one_graph_after_another():
    union = union_of((np.array([[0, 2]]), 3), (np.array([[0, 1], [1, 3]]), 4))
    graph, u, v = union.links(CPU)
    assert graph.tolist() == [0, 1, 1]
    assert u.tolist() == [0, 3, 4]
    assert v.tolist() == [2, 4, 6]
    np.testing.assert_allclose(1 / (1 + np.exp(-union.priors())), [1 / 3, 2 / 6])


def test_sampled_pairs_are_uniform_inside_the_graphs():
    union = union_of((np.array([[0, 1]]), 3), (np.array([[0, 1]]), 1), (np.array([[0, 1]]), 4))
    torch.manual_seed(1)
    graph, u, v = union.sampled(18_000, CPU)
    first, second = torch.minimum(u, v), torch.maximum(u, v)
    found, counts = torch.unique(first * 10 + second, return_counts=True)
    assert found.tolist() == [1, 2, 12, 45, 46, 47, 56, 57, 67]
    assert (counts - 2000).abs().max() < 300
    assert set(graph.tolist()) == {0, 2}


def test_the_sum_over_pairs_is_exact_for_few_and_unbiased_for_many(monkeypatch):
    union = union_of((random_pairs(9, 0.5), 9), (random_pairs(6, 0.5), 6))
    torch.manual_seed(2)
    rows, offsets = torch.randn(15, 4), torch.tensor([0.3, -1.0])
    total = partition(union, rows, rows, offsets)
    logits = [rows[:9] @ rows[:9].T + 0.3, rows[9:] @ rows[9:].T - 1.0]
    above = [each[tuple(torch.triu_indices(len(each), len(each), 1))] for each in logits]
    torch.testing.assert_close(total, sum(torch.nn.functional.softplus(each).sum() for each in above))
    monkeypatch.setattr("papers.dpggan.union.EXACT_PAIRS", 1)
    torch.testing.assert_close(partition(union, rows, rows, offsets), total, rtol=0.05, atol=0)


def test_an_edge_s_gradient_is_the_symmetric_product_of_its_rows_and_no_longer_than_1():
    module = link_decoder.Bilinear(5)
    torch.manual_seed(3)
    with torch.no_grad():
        module.triangle.normal_()
    matrix = module.matrix()
    torch.testing.assert_close(matrix, matrix.T)
    torch.testing.assert_close(matrix.norm(), module.triangle.norm())
    rows = link_decoder.unit_rows(torch.randn(40, 5))
    for u, v in zip(rows[:20], rows[20:], strict=True):
        logit = module(u, v)
        torch.testing.assert_close(logit, u @ matrix @ v, atol=1e-5, rtol=1e-4)
        (gradient,) = torch.autograd.grad(logit, module.triangle)
        half = (torch.outer(u, v) + torch.outer(v, u)) / 2
        torch.testing.assert_close(gradient.norm(), half.norm())
        assert gradient.norm() <= 1
        (back,) = torch.autograd.grad(module(v, u), module.triangle)
        torch.testing.assert_close(gradient, back)
    (along,) = torch.autograd.grad(module(rows[0], rows[0]), module.triangle)
    assert 1 - 1e-4 < along.norm() <= 1  # the bound is met


def opened(graph, training):
    """A session without a meter, as ``PrivateGraph.dp_sgd`` opens one."""

    def start(*, module, optimiser, clip, divisor):
        session = DpSgdSession(training, module, optimiser, clip=clip, divisor=divisor)
        kind = graph.schema.edge_type("edge")
        nodes = graph.nodes[kind.source].count
        session._open([graph.cell("edge", None)], [Shape(kind, nodes, nodes)])
        return session

    return start


def test_what_is_told_is_the_sum_over_edges_of_their_gradients():
    nodes, pairs = 30, random_pairs(30, 0.3)
    torch.manual_seed(4)
    rows = link_decoder.unit_rows(torch.randn(nodes, 4))
    told = link_decoder.told(
        opened(graph_of(pairs, nodes), DpSgd(1, 0.05, 1)), union_of((pairs, nodes)), rows
    )
    half = torch.einsum("ei,ej->ij", rows[pairs[:, 0]], rows[pairs[:, 1]])
    half = (half + half.T) / 2
    row, column = torch.triu_indices(4, 4)
    expected = half[row, column] * torch.where(row == column, 1.0, 2**0.5)
    assert (told - expected).abs().max() < 0.5  # ten standard deviations of the noise


def test_the_fit_finds_the_matrix_whose_expected_sum_was_told():
    nodes, pairs = 60, blocks(60, 0.3)
    side = torch.zeros(nodes, 2)
    side[: nodes // 2, 0] = side[nodes // 2 :, 1] = 1
    union = union_of((pairs, nodes))
    told = torch.tensor([len(pairs) / 2, 0.0, len(pairs) / 2])
    matrix, curve = link_decoder.fitted(told, 0.1, union, side, 300, no_tick)
    assert matrix[0, 0] - matrix[0, 1] > 2
    assert curve[-1] < curve[0]
    noisy, _ = link_decoder.fitted(told, 1e4, union, side, 300, no_tick)
    assert noisy.abs().max() < 0.1  # a sum that is all noise is not believed


def test_the_mlp_decoder_learns_blocks_from_edges_alone():
    """The latent vectors know the halves; which halves are linked, only the edges know."""
    nodes, pairs = 40, blocks(40, 0.4)
    union = Union((nodes,), (len(pairs),), (np.empty(0, dtype=np.int64),))
    torch.manual_seed(5)
    latent = torch.randn(nodes, LATENT) * 0.1
    latent[: nodes // 2, 0] += 1
    found = untrained(latent, CPU)
    training = DpSgd(1, 0.05, 60)
    options = {"clip": 1.0, "decay": 0.99, "tick": no_tick}
    curve = link_decoder.trained(opened(graph_of(pairs, nodes), training), training, union, found, **options)
    assert len(curve) == 60
    left, right = scores_of(latent_weights(found.mean, found.spread, found.decoder), public_generator(1))
    score = left @ right.T
    inside = score[: nodes // 2, : nodes // 2].mean()
    assert inside > score[: nodes // 2, nodes // 2 :].mean() + 1


def test_smoothing_is_kipf_and_welling_s_whole_or_sparse(monkeypatch):
    pairs = torch.from_numpy(random_pairs(12, 0.3))
    adjacency = torch.eye(12)
    adjacency[pairs[:, 0], pairs[:, 1]] = adjacency[pairs[:, 1], pairs[:, 0]] = 1
    scale = adjacency.sum(1).rsqrt()
    expected = scale[:, None] * adjacency * scale
    for most in (512, 1):
        monkeypatch.setattr("papers.dpggan.networks.DENSE_NODES", most)
        smoothed = Smoothed(pairs[:, 0], pairs[:, 1], 12)
        values = torch.eye(12, requires_grad=True)
        torch.testing.assert_close(smoothed @ values, expected)
        ((smoothed @ values) * torch.ones(12, 12)).sum().backward()
        torch.testing.assert_close(values.grad, expected @ torch.ones(12, 12))


def test_the_discriminator_sees_weights_of_one_as_edges():
    pairs = torch.from_numpy(random_pairs(12, 0.3))
    torch.manual_seed(6)
    network = Discriminator(12)
    u, v = pairs[:, 0], pairs[:, 1]
    known = network.known(Smoothed(u, v, 12))
    torch.testing.assert_close(network.soft(u, v, torch.ones(len(u))), known)


def test_the_decoder_s_gradient_is_autograd_s():
    torch.manual_seed(9)
    decoder = Decoder()
    values = {name: each.detach() for name, each in decoder.named_parameters()}
    for left, right in torch.randn(20, 2, 16):
        expected = grad(lambda v, one=left, two=right: functional_call(decoder, v, (one, two)))(values)
        for times in (1.0, -0.3):
            found = Decoder.gradient(values, left, right, times)
            assert set(found) == set(expected)
            for name, each in expected.items():
                torch.testing.assert_close(found[name], times * each)


def test_the_backbone_tells_the_links_that_it_was_trained_on():
    nodes, pairs = 40, blocks(40, 0.3)
    torch.manual_seed(7)
    found = trained(union_of((pairs, nodes)), Weights(0.1, 0.1), 150, CPU, no_tick)
    assert set(found.curves) == {"reconstruction", "discriminator"}
    # Where it comes out in the end follows from the draws, and those from the processor.
    assert min(found.curves["reconstruction"]) < found.curves["reconstruction"][0] - 0.5
    with torch.no_grad():
        rows = found.decoder.rows(found.mean)
        score = rows @ rows.T
    linked = torch.zeros(nodes, nodes, dtype=torch.bool)
    linked[pairs[:, 0], pairs[:, 1]] = True
    above = torch.triu(torch.ones(nodes, nodes, dtype=torch.bool), 1)
    assert score[linked].mean() > score[above & ~linked].mean() + 0.5


def test_an_encoder_of_features_has_no_row_for_each_node():
    features = torch.randn(50, 3)
    pairs = torch.from_numpy(random_pairs(50, 0.1))
    mean, spread = Encoder(50, features)(Smoothed(pairs[:, 0], pairs[:, 1], 50))
    assert mean.shape == spread.shape == (50, LATENT)
    assert Encoder(50, features).table.shape == (3, 32)


@pytest.mark.parametrize("most", [400, 10])
def test_directions_are_the_leading_eigenvectors(most, monkeypatch):
    monkeypatch.setattr(spectral, "EXACT_NODES", most)
    nodes, pairs = 60, blocks(60, 0.5)
    found = spectral.directions(keys_of(pairs, nodes), nodes, 4, public_generator(1))
    matrix = np.zeros((nodes, nodes))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = 1
    values, vectors = np.linalg.eigh(matrix)
    top = np.argsort(-np.abs(values))[:2]
    expected = (vectors[:, top] * np.sqrt(np.abs(values[top]))) @ vectors[:, top].T
    basis = np.linalg.qr(found[:, :2])[0]
    np.testing.assert_allclose(basis @ (basis.T @ expected), expected, atol=1e-3)
    few = spectral.directions(np.array([1]), 2, 4, public_generator(1))
    assert few.shape == (2, 4)
    assert not few[:, 2:].any()
