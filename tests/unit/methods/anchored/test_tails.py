"""Degree tails of undirected relations: where they are bought, what they cost, and what they mend."""

import numpy as np

from core.methods.anchored import GENERATOR
from core.privacy.accounting.events import pure_nano_epsilon
from tests.support.generating import drawn, fit, graph_of, random_pairs, rows_of

NODES = 2_000


def degrees_of(graph) -> np.ndarray:
    return np.bincount(rows_of(graph)[:, :2].ravel(), minlength=NODES)


def sparse_pairs() -> np.ndarray:
    """Most nodes have two edges, a few have dozens."""
    rng = np.random.default_rng(4)
    degrees = np.minimum(1 + rng.zipf(2.2, NODES), 200)
    ends = rng.permutation(np.repeat(np.arange(NODES), degrees))
    pairs = np.unique(np.sort(ends[: len(ends) // 2 * 2].reshape(-1, 2), axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def off(graph, share: float) -> float:
    ours, theirs = (
        np.bincount(degrees_of(each), minlength=NODES)
        for each in (graph, drawn(GENERATOR, graph, 1, tail_share=share))
    )
    return abs(ours - theirs).sum() / 2 / NODES


def test_tail_counts_keep_the_degrees_of_a_sparse_graph():
    graph = graph_of(sparse_pairs(), NODES)
    assert off(graph, 0.1) < 0.2 < off(graph, 0.0)


def test_they_are_bought_where_nodes_stand_out_from_their_noise():
    """At epsilon 2 a tenth of what degrees get is noise of 15 nodes: 400 stand out from it, 60 do not."""
    for nodes, pairs in ((400, random_pairs(400, 0.05)), (60, random_pairs(60, 0.5))):
        _, meter = fit(GENERATOR, graph_of(pairs, nodes), 2)
        bought = [pure_nano_epsilon(e.event) for e in meter.transcript if e.purpose == "degree tails"]
        assert bought == ([194_000_000] if nodes == 400 else [])
        assert sum(pure_nano_epsilon(e.event) for e in meter.transcript) == 2_000_000_000


def test_every_step_buys_its_own():
    _, meter = fit(GENERATOR, graph_of(random_pairs(400, 0.05), 400, steps=3), 2)
    assert [e.step for e in meter.transcript if e.purpose == "degree tails"] == [0, 1, 2]
