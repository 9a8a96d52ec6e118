"""The two recurrent networks of GraphRNN, their training on breadth-first orders, and one sample."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from core.privacy.entropy import Generator as Rng

LAYERS, OUTER, OUTER_INPUT, INNER, INNER_INPUT = 4, 128, 64, 16, 8
LEARNING_RATE = 0.003
ORDERS = 4
"""Breadth-first orders of one graph that a step looks at."""
MEASURED_ORDERS, FURTHEST = 20, 256
"""Orders that the reach is measured on, and the most that it may be."""
ROWS = 256
"""Nodes of a step's orders whose edges are asked for; the first network reads all of them."""

Neighbours = list[list[int]]


def neighbours_of(pairs: np.ndarray, nodes: int) -> Neighbours:
    """List every node's neighbours; ``pairs`` is int64 (edges, 2)."""
    found: Neighbours = [[] for _ in range(nodes)]
    for u, v in pairs.tolist():
        found[u].append(v)
        found[v].append(u)
    return found


def earlier(neighbours: Neighbours, rng: Rng) -> list[tuple[int, int]]:
    """Order nodes breadth first from random ones; each edge as (place, how far back the other end is)."""
    place: dict[int, int] = {}
    order: list[int] = []
    for start in rng.permutation(len(neighbours)).tolist():
        waiting = deque([] if start in place else [start])
        while waiting:
            node = waiting.popleft()
            if node in place:
                continue
            place[node] = len(order)
            order.append(node)
            near = [each for each in neighbours[node] if each not in place]
            waiting.extend(near[each] for each in rng.permutation(len(near)))
    return [
        (at, at - place[other])
        for at, node in enumerate(order)
        for other in neighbours[node]
        if place[other] < at
    ]


def reach_of(graphs: Sequence[Neighbours], rng: Rng) -> int:
    """Measure how far back edges go, over orders of all graphs; 1 to FURTHEST."""
    orders = -(-MEASURED_ORDERS // max(len(graphs), 1))
    backs = [back for each in graphs for _ in range(orders) for _, back in earlier(each, rng)]
    return min(max(backs, default=1), FURTHEST)


def rows_of(neighbours: Neighbours, reach: int, rng: Rng) -> torch.Tensor:
    """Write one order as zeros and ones (nodes, reach): whether a node is joined to the k-th before it."""
    rows = torch.zeros(len(neighbours), reach)
    for at, back in earlier(neighbours, rng):
        if back <= reach:
            rows[at, back - 1] = 1
    return rows


class Network(nn.Module):
    """Tells a node's row from the rows before it, entry by entry."""

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.before = nn.Sequential(nn.Linear(reach, OUTER_INPUT), nn.ReLU())
        self.outer = nn.GRU(OUTER_INPUT, OUTER, LAYERS, batch_first=True)
        self.begun = nn.Linear(OUTER, INNER)
        self.entry = nn.Sequential(nn.Linear(1, INNER_INPUT), nn.ReLU())
        self.inner = nn.GRU(INNER_INPUT, INNER, LAYERS, batch_first=True)
        self.told = nn.Sequential(nn.Linear(INNER, INNER_INPUT), nn.ReLU(), nn.Linear(INNER_INPUT, 1))

    def state(self, outer: torch.Tensor) -> torch.Tensor:
        """Begin the second network from the first one's rows (b, OUTER)."""
        first = self.begun(outer)[None]
        return torch.cat([first, torch.zeros(LAYERS - 1, *first.shape[1:], device=first.device)])

    def logits(self, rows: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Compute logits (b, reach) of the entries of rows.

        ``rows`` (orders, nodes, reach); ``asked``: which of orders times nodes.
        """
        outer, _ = self.outer(self.before(after_ones(rows)))
        wanted = rows.flatten(0, 1)[asked]
        entries = after_ones(wanted[..., None])
        inner, _ = self.inner(self.entry(entries), self.state(outer.flatten(0, 1)[asked]))
        logits: torch.Tensor = self.told(inner)[..., 0]
        return logits


def after_ones(values: torch.Tensor) -> torch.Tensor:
    """Move a sequence (b, length, d) on by one: it begins with ones, and its last element goes."""
    return torch.cat([torch.ones_like(values[:, :1]), values[:, :-1]], 1)


def trained(
    graphs: Sequence[Neighbours],
    network: Network,
    steps: int,
    rng: Rng,
    place: torch.device,
    tick: Callable[[int], None],
) -> list[float]:
    """Train the network on orders of one graph a step, drawn by size; the curve of the cross entropy."""
    sizes = np.array([len(each) for each in graphs], dtype=np.float64)
    curve: list[float] = []
    if sizes.max(initial=0) < 2:
        return curve
    possible = sum(min(at, network.reach) for size in sizes for at in range(int(size)))
    edges = sum(len(each) for graph in graphs for each in graph) / 2
    share = (min(edges, possible) + 1) / (possible + 2)  # not all edges are within reach
    last = network.told[-1]
    assert isinstance(last, nn.Linear)
    nn.init.constant_(last.bias, math.log(share / (1 - share)))
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    chances = np.where(sizes > 1, sizes, 0)
    for done in range(steps):
        graph = graphs[int(rng.choice(len(graphs), p=chances / chances.sum()))]
        rows = torch.stack([rows_of(graph, network.reach, rng) for _ in range(ORDERS)]).to(place)
        at = np.flatnonzero(np.arange(ORDERS * len(graph)) % len(graph))  # the first node has no row
        asked = torch.from_numpy(rng.permutation(at)[:ROWS]).to(place)
        logits = network.logits(rows, asked)
        there = torch.arange(network.reach, device=place)[None] < (asked % len(graph))[:, None]
        losses = nn.functional.binary_cross_entropy_with_logits(
            logits, rows.flatten(0, 1)[asked], reduction="none"
        )
        loss = (losses * there).sum() / there.sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        curve.append(float(loss.detach()))
        tick(done + 1)
    return curve


def written(network: Network, nodes: int, rng: Rng, place: torch.device) -> np.ndarray:
    """Write a graph of so many nodes; its sorted keys ``low * nodes + high``, of nodes in random places."""
    keys: list[int] = []
    where = rng.permutation(nodes).tolist()
    row, memory = torch.ones(1, 1, network.reach, device=place), None
    with torch.no_grad():
        for at in range(nodes):
            outer, memory = network.outer(network.before(row), memory)
            row = torch.zeros(1, 1, network.reach, device=place)
            state, entry = network.state(outer[:, 0]), torch.ones(1, 1, 1, device=place)
            aims = rng.random(min(at, network.reach)).tolist()
            for back, aim in enumerate(aims):
                inner, state = network.inner(network.entry(entry), state)
                joined = aim < float(torch.sigmoid(network.told(inner)))
                entry = torch.full((1, 1, 1), float(joined), device=place)
                if joined:
                    row[0, 0, back] = 1
                    low, high = sorted((where[at], where[at - 1 - back]))
                    keys.append(low * nodes + high)
    return np.sort(np.array(keys, dtype=np.int64))
