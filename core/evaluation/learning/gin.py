"""A graph isomorphism network that classifies whole graphs. Source: Xu et al., ICLR 2019."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn
from torch.nn import functional

from core.evaluation.view import UndirectedView
from core.learning.devices import seeded
from core.learning.sparse import Sparse
from core.privacy.entropy import public_generator

LAYERS = 4
HIDDEN = 32
EPOCHS = 60
BATCH = 32
LEARNING_RATE = 0.01
# Node features are degrees, one-hot; greater ones share the last place.
MAX_DEGREE = 64


class Gin(nn.Module):
    """Logits of each graph's class. Sum pooling follows every layer, each with its own linear map."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        widths = [MAX_DEGREE + 1] + [HIDDEN] * LAYERS
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN),
                nn.BatchNorm1d(HIDDEN), nn.ReLU(),
            )
            for width in widths[:-1]
        )  # fmt: skip
        self.shares = nn.ParameterList(nn.Parameter(torch.zeros(())) for _ in range(LAYERS))
        self.readouts = nn.ModuleList(nn.Linear(width, classes) for width in widths)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Compute (graphs, classes) logits."""
        hidden = functional.one_hot(batch.degrees, MAX_DEGREE + 1).float()
        logits: torch.Tensor = self.readouts[0](batch.pool @ hidden)
        for layer, share, readout in zip(self.layers, self.shares, self.readouts[1:], strict=True):
            # ``share`` is the paper's epsilon (Equation 4.1): what the node itself counts for beyond one
            # neighbour.
            hidden = layer((1 + share) * hidden + (batch.adjacency @ hidden))
            pooled = readout(batch.pool @ hidden)
            logits = logits + functional.dropout(pooled, 0.5, self.training)
        return logits


@dataclass(frozen=True)
class Batch:
    """Graphs laid end to end. A block-diagonal adjacency, degrees of all nodes, (graphs, nodes) pooling."""

    adjacency: Sparse
    degrees: torch.Tensor
    pool: Sparse

    @classmethod
    def of(cls, graphs: Sequence[UndirectedView], place: torch.device) -> Batch:
        """Lay these graphs end to end; O(n + m)."""
        adjacency = sp.csr_array(sp.block_diag([graph.adjacency for graph in graphs], format="csr"))
        ends = np.concatenate([[0], np.cumsum([graph.node_count for graph in graphs])])
        shape = (len(graphs), int(ends[-1]))
        pool = sp.csr_array((np.ones(shape[1]), np.arange(shape[1]), ends), shape=shape)
        degrees = np.minimum(np.concatenate([graph.degrees for graph in graphs]), MAX_DEGREE)
        return cls(Sparse(adjacency, place), torch.from_numpy(degrees).to(place), Sparse(pool, place))


def fitted_predictions(
    training: Sequence[UndirectedView],
    label: np.ndarray,
    tested: Sequence[UndirectedView],
    classes: int,
    seed: int,
) -> np.ndarray:
    """Predict each graph's class by a GIN trained on ``training``.

    Those of ``tested`` are predicted, int64.

    ``label`` is int64 0..classes-1. EPOCHS epochs of batches of BATCH graphs, the rate halved twice.
    """
    rng = public_generator(seed)
    with seeded(seed) as place:
        model = Gin(classes).to(place)
        optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, EPOCHS // 3, 0.5)
        wanted = torch.from_numpy(label).to(place)
        parts = np.array_split(rng.permutation(len(training)), max(1, len(training) // BATCH))
        blocks = [(Batch.of([training[i] for i in part], place), wanted[part]) for part in parts]
        for _ in range(EPOCHS):
            for b in rng.permutation(len(blocks)):
                optimiser.zero_grad()
                functional.cross_entropy(model(blocks[b][0]), blocks[b][1]).backward()
                optimiser.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            predicted: np.ndarray = model(Batch.of(tested, place)).argmax(dim=1).cpu().numpy()
            return predicted
