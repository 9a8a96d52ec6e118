"""The classifier of enclosing subgraphs, DGCNN.

Graph convolutions, then sort pooling, then a small 1-d CNN. Zhang, Cui, Neumann and Chen, "An end-to-end deep
learning architecture for graph classification" (AAAI 2018), with the sizes that SEAL uses: convolutions of
32, 32, 32 and 1 channels, 60 % of the graphs larger than k.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn
from torch.nn import functional

from core.evaluation.learning.subgraphs import MAX_LABEL, Subgraphs
from core.learning.devices import one_thread, seeded
from core.learning.sparse import Sparse
from core.privacy.entropy import public_generator

CHANNELS = 32
DEPTH = 3
BATCH = 128
EPOCHS = 10
LEARNING_RATE = 2e-3
FEWEST_ROWS = 10
SHARE_BELOW = 0.4

Batch = tuple[Sparse, torch.Tensor, torch.Tensor, torch.Tensor]


class Dgcnn(nn.Module):
    """One logit a graph, from structural labels only. ``rows`` is k, how many nodes sort pooling keeps."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.start = nn.Embedding(MAX_LABEL + 1, CHANNELS)
        self.layers = nn.ModuleList(nn.Linear(CHANNELS, CHANNELS) for _ in range(DEPTH - 1))
        self.last = nn.Linear(CHANNELS, 1)
        width = DEPTH * CHANNELS + 1
        self.across = nn.Conv1d(1, 16, width, stride=width)
        self.along = nn.Conv1d(16, 32, 5)
        self.dense = nn.Linear(32 * (rows // 2 - 4), 128)
        self.out = nn.Linear(128, 1)

    def forward(
        self, step: Sparse, labels: torch.Tensor, graph: torch.Tensor, place: torch.Tensor
    ) -> torch.Tensor:
        """Compute (graphs,) logits. ``place``: each graph's first row, ``graph``: each row's graph."""
        layers = [torch.tanh(step @ self.start(labels))]
        for layer in self.layers:
            layers.append(torch.tanh(step @ layer(layers[-1])))
        layers.append(torch.tanh(step @ self.last(layers[-1])))
        kept = self._sort_pooled(torch.cat(layers, dim=1), graph, place)
        hidden = functional.max_pool1d(functional.relu(self.across(kept.flatten(1).unsqueeze(1))), 2)
        hidden = functional.relu(self.along(hidden)).flatten(1)
        hidden = functional.dropout(functional.relu(self.dense(hidden)), 0.5, self.training)
        logits: torch.Tensor = self.out(hidden).squeeze(1)
        return logits

    def _sort_pooled(self, values: torch.Tensor, graph: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """Pool to (graphs, rows, width): each graph's rows by falling last channel, the first k, or zeros."""
        order = torch.argsort(values[:, -1].detach(), descending=True, stable=True)
        # A second, stable sort: by graph, and inside each by the value.
        order = order[torch.argsort(graph[order], stable=True)]
        rank = torch.arange(len(graph), device=graph.device) - place[graph]
        kept = rank < self.rows
        pooled = values.new_zeros(len(place) * self.rows, values.shape[1])
        pooled = pooled.index_copy(0, graph[kept] * self.rows + rank[kept], values[order[kept]])
        return pooled.view(len(place), self.rows, -1)


def batches(graphs: Subgraphs, place: torch.device) -> list[Batch]:
    """Lay out the subgraphs in blocks of at most BATCH.

    A block has propagation D^-1 (A + I), labels, graphs, places.
    """
    blocks = []
    for first in range(0, graphs.count, BATCH):
        starts = graphs.starts[first : first + BATCH + 1]
        low, high = starts[0], starts[-1]
        rows = graphs.indptr[low : high + 1]
        columns = graphs.indices[rows[0] : rows[-1]] - low
        size = int(high - low)
        adjacency = sp.csr_array((np.ones(len(columns)), columns, rows - rows[0]), shape=(size, size))
        looped = sp.csr_array(adjacency + sp.eye_array(size, format="csr"))
        # Rows that sum to one, as the paper has it: a mean over neighbours and the node itself.
        step = sp.csr_array(sp.diags_array(1 / looped.sum(axis=1)) @ looped)
        graph = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        flat = (graphs.labels[low:high], graph, starts[:-1] - low)
        labels, graph_of, begin = (torch.from_numpy(column).to(place) for column in flat)
        blocks.append((Sparse(step, place), labels, graph_of, begin))
    return blocks


def trained(graphs: Subgraphs, label: np.ndarray, seed: int) -> Dgcnn:
    """Train a network to classify subgraphs of links.

    It tells them from those of non-links; ``label`` bool. The subgraphs must come in random order: a batch is
    a run of them. O(EPOCHS * links of the subgraphs).
    """
    # k such that SEAL's share of the graphs has more nodes than k.
    sizes = np.sort(np.diff(graphs.starts))
    rows = max(FEWEST_ROWS, int(sizes[int(SHARE_BELOW * (len(sizes) - 1))]))
    rng = public_generator(seed)
    with seeded(seed) as place:
        wanted = torch.from_numpy(label.astype(np.float32)).to(place).split(BATCH)
        prepared = batches(graphs, place)
        model = Dgcnn(rows).to(place)
        optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
        for _ in range(EPOCHS):
            for b in rng.permutation(len(prepared)):
                optimiser.zero_grad()
                loss = functional.binary_cross_entropy_with_logits(model(*prepared[b]), wanted[b])
                loss.backward()
                optimiser.step()
        return model.eval()


def scores(model: Dgcnn, graphs: Subgraphs) -> np.ndarray:
    """Compute one logit a subgraph, float64. It is higher where a link is likelier."""
    place = next(model.parameters()).device
    with one_thread(), torch.no_grad():
        logits = [model(*batch).cpu() for batch in batches(graphs, place)]
    return torch.cat(logits).double().numpy() if logits else np.empty(0)
