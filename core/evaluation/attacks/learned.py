"""Link inference by models trained on the release.

They are node2vec, graph auto-encoders and SEAL. PPGSL's attackers (section V-A2): they know the release and
who is who in it, and nothing of the targets. Each learns from the release's own links and as many pairs
without a link. Embeddings are shared: cosine and SVM of one seed train one model a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.evaluation.attacks.targets import LinkScorer
from core.evaluation.learning.features import Features
from core.evaluation.learning.limits import unlearnable
from core.evaluation.learning.node2vec import Node2Vec
from core.evaluation.learning.pairs import cosine
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.late import late

_autoencoder = late("core.evaluation.learning.gcn:Autoencoder")
_seal = late("core.evaluation.learning.seal:Seal")
_classified = late("core.evaluation.learning.machines:classified")
# Each target has a subgraph of its own.
MAX_SEAL_TARGETS = 4_000

_KNOWS = "Knows which released node is which person; "
_COSINE = "ranks pairs by the cosine of their embeddings."
_SVM = (
    "ranks pairs by a linear support vector machine on products of embeddings, trained on the release's "
    "links and as many other pairs."
)
_NODE2VEC = "learns node2vec embeddings of the release (walks of 40 nodes, 64 dimensions); "
_GAE = "trains a graph auto-encoder on the release (two convolutions, 64 dimensions); "


@dataclass(frozen=True)
class EmbeddingAttack(LinkScorer):
    """Embeddings of the release.

    They are of an auto-encoder with node features where they are known, or of node2vec.

    ``classified`` says whether an SVM or the cosine ranks pairs.
    """

    name: str
    title: str
    knowledge: str
    classified: bool
    model: Literal["node2vec", "autoencoder"]
    features: Features | None = None
    suite = Suite.FULL

    def applies(self, view: UndirectedView) -> str | None:
        return unlearnable(view)

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        trained = Node2Vec(seed) if self.model == "node2vec" else _autoencoder(seed, self.features)
        embedding = published.once(trained)
        if self.classified:
            scores: np.ndarray = _classified(published, embedding, source, target, seed)
            return scores
        return cosine(embedding, source, target)


@dataclass(frozen=True)
class SealAttack(LinkScorer):
    """SEAL. A network that reads the subgraph around a pair, the pair's own link cut from it."""

    name: str = "seal"
    title: str = "SEAL"
    knowledge: str = (
        _KNOWS + "trains a network to tell the neighbourhoods of linked pairs of the release from those of "
        "other pairs (one hop, at most 60 nodes, 2 000 pairs of each kind); the pair's own link is not "
        "looked at."
    )
    suite = Suite.FULL
    max_targets = MAX_SEAL_TARGETS

    def applies(self, view: UndirectedView) -> str | None:
        return unlearnable(view)

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        scores: np.ndarray = _seal(seed).score(published, source, target)
        return scores


def scorers(features: Features | None = None) -> tuple[EmbeddingAttack | SealAttack, ...]:
    """Make the five learned attackers. Auto-encoders read ``features``, one row a node, where given."""
    gae = _KNOWS + _GAE if features is None else _KNOWS + "knows node features; " + _GAE
    walks, title = _KNOWS + _NODE2VEC, "Graph auto-encoder"
    return (
        EmbeddingAttack("node2vec_cosine", "node2vec, cosine", walks + _COSINE, False, "node2vec"),
        EmbeddingAttack("node2vec_svm", "node2vec, support vectors", walks + _SVM, True, "node2vec"),
        EmbeddingAttack("gae_cosine", f"{title}, cosine", gae + _COSINE, False, "autoencoder", features),
        EmbeddingAttack("gae_svm", f"{title}, support vectors", gae + _SVM, True, "autoencoder", features),
        SealAttack(),
    )


SCORERS = scorers()
