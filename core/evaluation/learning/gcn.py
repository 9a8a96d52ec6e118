"""Graph convolutions: a two-layer encoder.

It is trained to rebuild links or to classify nodes. A layer is P X W + b, with the propagation P of
:mod:`core.evaluation.learning.tensors` (Kipf and Welling, "Semi-supervised classification with graph
convolutional networks", 2017, Eq. 2). Without features X is the identity, so that the first W is a table of
one learned row a node, as in Kipf and Welling, "Variational graph auto-encoders" (2016): a model of one
graph's nodes, which knows nothing but the structure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from core.evaluation.attacks.negatives import uniform
from core.evaluation.learning.features import Features
from core.evaluation.learning.tensors import feature_tensor, propagation
from core.evaluation.view import UndirectedView
from core.learning.devices import one_thread, seeded
from core.learning.sparse import Sparse
from core.privacy.entropy import public_generator

HIDDEN = 128
EMBEDDING = 64
LEARNING_RATE = 0.01
# A table of one row a node learns more slowly than weights that all nodes share.
EPOCHS_WITH_FEATURES = 100
EPOCHS_WITHOUT = 200
LINKS_AN_EPOCH = 65_536
CLASSIFIER_HIDDEN = 64
CLASSIFIER_EPOCHS = 200
DROPOUT = 0.5
WEIGHT_DECAY = 5e-4


class Encoder(nn.Module):
    """Two convolutions with a ReLU between. ``width`` None: no features, one learned row a node."""

    def __init__(self, nodes: int, width: int | None, hidden: int, out: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(nodes if width is None else width, hidden))
        self.shift = nn.Parameter(torch.zeros(hidden))
        self.second = nn.Linear(hidden, out)
        self.dropout = dropout
        nn.init.xavier_uniform_(self.first)
        nn.init.xavier_uniform_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, step: Sparse, features: Sparse | torch.Tensor | None) -> torch.Tensor:
        """Compute (n, out) from propagation and features. They are (n, n) and (n, d)."""
        projected = self.first if features is None else features @ self.first
        hidden = functional.relu((step @ projected) + self.shift)
        hidden = functional.dropout(hidden, self.dropout, self.training)
        scores: torch.Tensor = step @ self.second(hidden)
        return scores


@dataclass(frozen=True)
class Autoencoder:
    """A graph auto-encoder's embedding as a view's function.

    It is for :meth:`UndirectedView.once`. Equal settings and the same ``features`` object give one embedding,
    however many ask for it.
    """

    seed: int
    features: Features | None = None

    def __call__(self, view: UndirectedView) -> np.ndarray:
        """Train (n, EMBEDDING) float32: rows whose cosines tell links from uniform non-links.

        Each epoch takes all links (at most LINKS_AN_EPOCH drawn ones) and as many fresh non-links; the loss
        is the cross-entropy of the logistic of the cosines, as in PPGSL (section V-A6): inner products, as in
        the GAE, learn degrees too and rank worse. The number of epochs is fixed, nothing is held out.
        O(epochs * HIDDEN * (m + non-zeros of the features)).
        """
        rng = public_generator(self.seed)
        given = None if self.features is None else self.features.values
        width = None if given is None else given.shape[1]
        with seeded(self.seed) as place:
            step = Sparse(propagation(view), place)
            inputs = None if given is None else feature_tensor(given, place)
            model = Encoder(view.node_count, width, HIDDEN, EMBEDDING).to(place)
            optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
            links = np.stack([view.u, view.v])
            for _ in range(EPOCHS_WITHOUT if given is None else EPOCHS_WITH_FEATURES):
                shown = links
                if view.edge_count > LINKS_AN_EPOCH:
                    shown = links[:, rng.choice(view.edge_count, LINKS_AN_EPOCH, replace=False)]
                pairs = np.concatenate([shown, np.stack(uniform(view, shown.shape[1], rng))], axis=1)
                u, v = torch.from_numpy(pairs).to(place)
                label = (torch.arange(len(u), device=place) < shown.shape[1]).float()
                optimiser.zero_grad()
                rows = functional.normalize(model(step, inputs), dim=1)
                # Not rows[u]: its gradient adds up in whatever order the threads arrive.
                cosines = (rows.index_select(0, u) * rows.index_select(0, v)).sum(1)
                loss = functional.binary_cross_entropy_with_logits(cosines, label)
                loss.backward()
                optimiser.step()
            with torch.no_grad():
                embedding: np.ndarray = model(step, inputs).cpu().numpy()
                return embedding


def trained_classifier(
    view: UndirectedView, features: Features | None, label: np.ndarray, known: np.ndarray, seed: int
) -> Classifier:
    """Train a two-layer GCN on ``known`` nodes' labels.

    They are of one structure.

    ``label`` is int64 0..classes-1 with -1 for none; ``known`` are node indices with a label. Semi-supervised
    as in Kipf and Welling (2017): dropout 0.5, weight decay 5e-4 on the first layer, a fixed number of
    epochs. O(epochs * CLASSIFIER_HIDDEN * (m + non-zeros of the features)).
    """
    given = None if features is None else features.values
    with seeded(seed) as place:
        step = Sparse(propagation(view), place)
        inputs = None if given is None else feature_tensor(given, place)
        width = None if given is None else given.shape[1]
        classes = int(label.max()) + 1
        model = Encoder(view.node_count, width, CLASSIFIER_HIDDEN, classes, DROPOUT).to(place)
        # Weights of the first layer alone are held small, as in the paper.
        optimiser = torch.optim.Adam(
            [
                {"params": [model.first, model.shift], "weight_decay": WEIGHT_DECAY},
                {"params": model.second.parameters(), "weight_decay": 0.0},
            ],
            lr=LEARNING_RATE,
        )
        where = torch.from_numpy(known).to(place)
        wanted = torch.from_numpy(label[known]).to(place)
        for _ in range(CLASSIFIER_EPOCHS):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(step, inputs)[where], wanted)
            loss.backward()
            optimiser.step()
    return Classifier(model.eval(), inputs, place)


@dataclass(frozen=True)
class Classifier:
    """A trained GCN, its features and where it runs."""

    model: Encoder
    features: Sparse | torch.Tensor | None
    place: torch.device

    def predict(self, view: UndirectedView) -> np.ndarray:
        """Predict the class of every node, int64. Messages pass along the links of ``view``."""
        with one_thread(), torch.no_grad():
            scores = self.model(Sparse(propagation(view), self.place), self.features)
            classes: np.ndarray = scores.argmax(dim=1).cpu().numpy()
            return classes
