"""A recurrent network that samples walks.

It samples a label, then a node that links of this label lead to, and so on. Its candidates are the ends of
links, by label: a node at a step, in ``typed`` walks by relation and direction. A candidate's odds are the
number of its links, times what the network makes of the walk so far; only that factor is learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from papers._shared.walks.links import Links, reverse

EXACT_UP_TO, SAMPLED = 2048, 1024
"""Up to so many candidates of a label training compares all of them; of more, a sample by their links."""
DRAWN_FROM_UP_TO, COMPARED = 2**17, 2**24
"""Up to so many candidates of a label walks are drawn from all of them, so many comparisons at a time."""
UNSEEN = 1e-3
"""What a label that never came after another counts, beside those that did."""


@dataclass(frozen=True)
class Candidates:
    """Candidate nodes by label.

    ``nodes`` (k,) are global, label by label; those of label l are ``start[l] : start[l + 1]``. ``links``
    (k,): how many links lead there. ``first`` (labels,) and ``after`` (labels, labels): logs of how often a
    walk begins with a label, and goes on with one.
    """

    nodes: torch.Tensor
    start: torch.Tensor
    links: torch.Tensor
    first: torch.Tensor
    after: torch.Tensor

    @classmethod
    def of(cls, links: Links, walked: np.ndarray) -> tuple[Candidates, np.ndarray]:
        """Collect candidates from all links, with each link's candidate.

        They are the ends of all links, and the labels of ``walked`` (w, l).
        """
        labels, nodes = links.labels.count, np.int64(links.labels.layout.nodes)
        code, place, times = np.unique(
            links.label * nodes + links.head, return_inverse=True, return_counts=True
        )
        start = np.searchsorted(code, nodes * np.arange(labels + 1))
        label = links.label[walked]
        seen = np.full((labels, labels), UNSEEN)
        np.add.at(seen, (label[:, :-1].ravel(), label[:, 1:].ravel()), 1)
        seen[:, np.diff(start) == 0] = 0
        with np.errstate(divide="ignore"):  # a label without links is never drawn
            first = np.log(np.bincount(reverse(label[:, 0]), minlength=labels))
            columns = code % nodes, start, times, first, np.log(seen)
        kinds = (torch.int64, torch.int64, torch.float32, torch.float32, torch.float32)
        return cls(*(torch.from_numpy(c).to(k) for c, k in zip(columns, kinds, strict=True))), place

    def going_on(self, nodes: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Compute the logs of each label's transition frequencies.

        They are how often a walk that came to ``nodes`` by ``label`` goes on with it. Shape (..., labels);
        minus infinity for links that the node has none of.
        """
        labels = torch.arange(len(self.start) - 1, device=nodes.device)
        every = int(self.nodes.max()) + 1
        known = self.nodes + every * torch.repeat_interleave(labels, self.start.diff())
        asked = nodes.unsqueeze(-1) + every * turned(labels)
        at = torch.searchsorted(known, asked).clamp_(max=len(known) - 1)
        return self.after[label].masked_fill(known[at] != asked, -torch.inf)

    def on(self, place: torch.device) -> Candidates:
        """Return them on a device."""
        return Candidates(*(column.to(place) for column in vars(self).values()))


class Network(nn.Module):
    """The network behind a candidate's odds.

    They are multiplied by what it computes, given the nodes and labels before it.
    """

    def __init__(self, nodes: int, labels: int, candidates: int, dimensions: int) -> None:
        super().__init__()
        self.node = nn.Embedding(nodes, dimensions)
        self.label = nn.Embedding(labels, dimensions)
        self.cell = nn.GRU(dimensions, 2 * dimensions, batch_first=True)
        self.to_label = nn.Linear(2 * dimensions, labels)
        self.to_hidden = nn.Linear(3 * dimensions, 2 * dimensions)
        self.to_wanted = nn.Linear(2 * dimensions, dimensions)
        self.offered = nn.Embedding(nodes, dimensions)
        self.shift = nn.Parameter(torch.zeros(candidates))
        for layer in (self.to_label, self.to_wanted):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        for table in (self.node, self.label, self.offered):
            nn.init.normal_(table.weight, std=dimensions**-0.5)

    def read(
        self, nodes: torch.Tensor, label: torch.Tensor, state: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Read (w, l) nodes and labels. Returned are the outputs (w, l, 2 d), and the state after them."""
        found: tuple[torch.Tensor, torch.Tensor] = self.cell(self.node(nodes) + self.label(label), state)
        return found

    def wanted(self, output: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Compute the wanted vector of the next node.

        It is what this should be like, where its label is known; (..., d).
        """
        hidden = self.to_hidden(torch.cat([output, self.label(label)], -1))
        wanted: torch.Tensor = self.to_wanted(functional.gelu(hidden))
        return wanted

    def odds(self, wanted: torch.Tensor, nodes: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Compute the logs of the factors of ``places``. They are candidates with these nodes; (w, k)."""
        return torch.addmm(self.shift[places], wanted, self.offered(nodes).T)

    def loss(self, candidates: Candidates, place: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Compute the mean negative log-likelihood of walks' places.

        Places are candidates and labels, (w, l + 1). Labels but the first two, which say the same; of labels
        with many candidates against a sample.
        """
        nodes = candidates.nodes[place]
        output = functional.pad(self.read(nodes[:, :-1], label[:, :-1], None)[0], (0, 0, 1, 0))
        total = functional.cross_entropy(
            (self.to_label(output[:, 2:]) + candidates.going_on(nodes[:, 1:-1], label[:, 1:-1])).flatten(
                0, 1
            ),
            label[:, 2:].flatten(),
            reduction="sum",
        )
        wanted, flat = self.wanted(output, label).flatten(0, 1), label.flatten()
        order = torch.argsort(flat, stable=True)
        counts = torch.bincount(flat, minlength=len(candidates.start) - 1).tolist()
        own = zip(wanted[order].split(counts), place.flatten()[order].split(counts), strict=True)
        for each, (rows, target) in enumerate(own):
            if len(rows):
                total = total + self._node_loss(candidates, each, rows, target)
        return total / place.numel()

    def _node_loss(
        self, candidates: Candidates, label: int, rows: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        places, logs = offered(candidates, label, EXACT_UP_TO)
        values = self.odds(rows, candidates.nodes[places], places) + logs
        if candidates.start[label + 1] - candidates.start[label] > EXACT_UP_TO:
            own = (rows * self.offered(candidates.nodes[target])).sum(1) + self.shift[target]
            values = torch.cat([own.unsqueeze(1), values], 1)
            return functional.cross_entropy(values, torch.zeros_like(target), reduction="sum")
        return functional.cross_entropy(values, target - candidates.start[label], reduction="sum")

    def walk(self, candidates: Candidates, count: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Sample walks.

        They are global nodes (count, length + 1) and the labels between them (count, length).
        """
        label = _drawn(candidates.first.expand(count, -1))
        output = torch.zeros(count, 2 * self.label.embedding_dim, device=label.device)
        state: torch.Tensor | None = None
        nodes: list[torch.Tensor] = []
        labels: list[torch.Tensor] = []
        for at in range(length + 1):
            if at == 1:
                label = turned(label)
            elif at:
                label = _drawn(self.to_label(output) + candidates.going_on(nodes[-1], label))
            nodes.append(self._nodes(candidates, label, self.wanted(output, label)))
            labels.append(label)
            out, state = self.read(nodes[-1].unsqueeze(1), label.unsqueeze(1), state)
            output = out.squeeze(1)
        return torch.stack(nodes, 1), torch.stack(labels[1:], 1)

    def _nodes(self, candidates: Candidates, label: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(label, stable=True)
        counts = torch.bincount(label, minlength=len(candidates.start) - 1).tolist()
        found = torch.empty_like(label)
        for each, rows in enumerate(order.split(counts)):
            if not len(rows):
                continue
            places, logs = offered(candidates, each, DRAWN_FROM_UP_TO)
            nodes = candidates.nodes[places]
            for part in rows.split(max(1, COMPARED // len(places))):
                found[part] = nodes[_drawn(self.odds(wanted[part], nodes, places) + logs)]
        return found


def offered(candidates: Candidates, label: int, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return places to choose from, with initial log odds.

    All of a label's up to ``most``; of more a sample by their links, which cancels those.
    """
    low, high = (int(each) for each in candidates.start[label : label + 2])
    links = candidates.links[low:high]
    if high - low <= most:
        return torch.arange(low, high, device=links.device), links.log()
    mass = links.double().cumsum(0)
    coins = torch.rand(SAMPLED, dtype=torch.float64, device=links.device) * mass[-1]
    places = low + torch.searchsorted(mass, coins, right=True).clamp_(max=high - low - 1)
    return places, torch.zeros(SAMPLED, device=links.device)


def turned(label: torch.Tensor) -> torch.Tensor:
    """Reverse labels, as :func:`papers._shared.walks.links.reverse` does."""
    way = label % 3
    return label - way + torch.where(way > 0, 3 - way, way)


def _drawn(logs: torch.Tensor) -> torch.Tensor:
    """Draw a place for each row of logs of odds."""
    mass = torch.softmax(logs, 1).cumsum(1)
    coins = torch.rand(len(mass), 1, device=mass.device) * mass[:, -1:]
    return torch.searchsorted(mass, coins, right=True).squeeze(1).clamp_(max=mass.shape[1] - 1)


def network_of(weights: Mapping[str, torch.Tensor]) -> Network:
    """Make the network of these weights."""
    nodes, dimensions = weights["node.weight"].shape
    network = Network(nodes, len(weights["label.weight"]), len(weights["shift"]), dimensions)
    network.load_state_dict(dict(weights))
    return network
