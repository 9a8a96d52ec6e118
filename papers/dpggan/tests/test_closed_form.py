"""Gradients that are written down are autograd's."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from papers.dpggan import backbone
from papers.dpggan.closed_form import Networks, Rival, Whole, fits, free_slopes
from papers.dpggan.networks import DENSE_NODES, LATENT, Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.union import Union, partition
from tests.support.generating import random_pairs

CPU = torch.device("cpu")
SIZES = 20, 1, 13
NODES = sum(SIZES)
STRUCTURE, ADVERSARIAL, PRIOR = 0.7, 0.4, 0.01


def union_of(sizes=SIZES, share: float = 0.3) -> Union:
    keys = []
    for size in sizes:
        u, v = random_pairs(size, share).reshape(-1, 2).T if size > 1 else (np.empty(0, dtype=np.int64),) * 2
        keys.append(np.sort(u * size + v))
    return Union(sizes, tuple(max(len(each), 1) for each in keys), tuple(keys))


def every_pair(union: Union) -> tuple[torch.Tensor, ...]:
    """(graph, u, v) of all pairs inside the graphs."""
    parts = [np.triu_indices(size, 1) for size in union.sizes]
    graph = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    ends = np.concatenate([np.stack(part) for part in parts], axis=1) + union.offsets[graph]
    return tuple(torch.from_numpy(each) for each in (graph, *ends))


def gradients(*networks: torch.nn.Module) -> list[torch.Tensor]:
    return [each.grad.clone() for network in networks for each in network.parameters()]


@pytest.mark.parametrize("with_features", [False, True])
@pytest.mark.parametrize("with_rival", [False, True])
def test_a_step_is_autograd_s(with_features, with_rival):
    torch.manual_seed(1)
    union = union_of()
    encoder = Encoder(NODES, torch.randn(NODES, LATENT) if with_features else None)
    decoder, network = Decoder(), Discriminator(NODES)
    with torch.no_grad():
        decoder.offset.fill_(0.3)
        encoder.spread.weight.mul_(30)  # some deviations are at their largest
    twin = copy.deepcopy(network)
    graph, u, v = union.links(CPU)
    smoothed = Smoothed(u, v, NODES)

    networks = Networks(union, encoder, decoder, smoothed.matrix, (u, v), PRIOR)
    moved = torch.optim.SGD(network.parameters(), lr=0.1)
    rival = Rival(network, moved, smoothed.matrix, STRUCTURE, ADVERSARIAL) if with_rival else None
    torch.manual_seed(2)
    rebuilt, told = networks.step(rival)
    found = gradients(encoder, decoder)

    for each in (*encoder.parameters(), *decoder.parameters()):
        each.grad = None
    torch.manual_seed(2)
    mean, spread = encoder(smoothed)
    rows = decoder.rows(mean + torch.randn_like(mean) * spread.exp())
    offsets = torch.from_numpy(union.priors()).float() + decoder.offset
    free = partition(union, rows, rows, offsets)
    expected = (free - ((rows[u] * rows[v]).sum(-1) + offsets[graph]).sum()) / len(u)
    loss = expected + PRIOR * 0.5 * (mean**2 + (2 * spread).exp() - 2 * spread - 1).sum(1).mean()
    if with_rival:
        at, one, other = every_pair(union)
        weight = torch.sigmoid((rows[one] * rows[other]).sum(-1) + offsets[at])
        own = softplus(-twin.judge(twin.known(smoothed)))
        own = own + softplus(twin.judge(twin.soft(one, other, weight.detach())))
        own.sum().backward()
        torch.optim.SGD(twin.parameters(), lr=0.1).step()
        real, fake = twin.known(smoothed).detach(), twin.soft(one, other, weight)
        loss = loss + STRUCTURE * (fake - real).square().sum() / real.square().sum().clamp(min=1e-6)
        loss = loss + ADVERSARIAL * softplus(-twin.judge(fake)).sum()
        torch.testing.assert_close(told, own.squeeze())
        for ours, theirs in zip(network.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs)
    loss.backward()
    torch.testing.assert_close(rebuilt, expected)
    for ours, theirs in zip(found, gradients(encoder, decoder), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_free_part_of_the_decoder_s_loss_is_autograd_s():
    torch.manual_seed(3)
    union, decoder, latent = union_of(), Decoder(), torch.randn(NODES, LATENT)
    priors = torch.from_numpy(union.priors()).float()
    free, slopes = free_slopes(decoder, Whole(union, CPU), latent, priors)
    rows = decoder.rows(latent)
    expected = partition(union, rows, rows, priors + decoder.offset)
    torch.testing.assert_close(free, expected)
    for ours, theirs in zip(slopes, torch.autograd.grad(expected, list(decoder.parameters())), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_chances_are_of_pairs_inside_a_graph():
    union = union_of((9, 6))
    torch.manual_seed(8)
    rows, offsets = torch.randn(15, 4), torch.tensor([0.3, -1.0])
    _, chances = Whole(union, CPU).chances(rows, offsets)
    expected = torch.zeros(15, 15)
    expected[:9, :9] = torch.sigmoid(rows[:9] @ rows[:9].T + 0.3)
    expected[9:, 9:] = torch.sigmoid(rows[9:] @ rows[9:].T - 1.0)
    torch.testing.assert_close(chances, expected.fill_diagonal_(0.0))


def test_graphs_without_an_edge_or_a_pair_take_finite_steps():
    for sizes in ((1,), (2, 1), (5,)):
        union = Union(sizes, (1,) * len(sizes), (np.empty(0, dtype=np.int64),) * len(sizes))
        found = backbone.trained(union, backbone.Weights(0.1, 0.1), 3, CPU, lambda done: None)
        assert all(np.isfinite(values).all() for values in found.curves.values())
        assert torch.isfinite(found.mean).all()


def test_only_matrices_that_are_stored_whole_are_meant():
    assert fits(union_of((DENSE_NODES,), 0.01))
    assert not fits(union_of((DENSE_NODES, 1), 0.01))
    assert not fits(Union((), (), ()))
