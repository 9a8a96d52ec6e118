"""Networks of typed graphs that HeteSDG's paper compares with, as tasks without a guarantee.

RGCN, HGT, HANConv (for HGConv, which has attention within and across relations too) and metapath2vec, by the
layers of PyTorch Geometric. The first three are trained on the task itself, nodes by the classes that are
known, links by those that were seen; metapath2vec is trained on walks, and asked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.representations import row_classification, split_nodes, unit_features
from core.evaluation.tasks.node_classification import f1
from core.graphs.graph import Graph
from core.learning.devices import seeded

NAMES = ("RGCN", "HGT", "HANConv", "metapath2vec")
THERE = find_spec("torch_geometric") is not None
"""PyTorch Geometric is no part of the extra ``papers``: without it there are no such rows."""
WIDTH, HEADS, EPOCHS, RATE = 64, 4, 100, 0.005
WALK, CONTEXT, WALKS = 20, 5, 1
WALK_STEPS, WALK_BATCH, WALK_RATE, WALK_START = 200, 128, 0.02, 0.1
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Typed:
    """A typed graph as tensors: public features by type, links by (type, relation, type)."""

    counts: dict[str, int]
    features: dict[str, torch.Tensor]
    links: dict[Key, torch.Tensor]

    @classmethod
    def of(cls, graph: Graph, kind: str, features: np.ndarray) -> Typed:
        """Take untimed relations, each there and back; ``features`` are of the nodes of ``kind``."""
        counts = {name: table.count for name, table in graph.nodes.items()}
        links: dict[Key, torch.Tensor] = {}
        for each in graph.schema.edge_types:
            if not each.temporal:
                table = graph.edges[each.name]
                there = torch.from_numpy(np.stack([table.source, table.target]).astype(np.int64))
                links[each.source, each.name, each.target] = there
                links[each.target, f"{each.name}_back", each.source] = there.flip(0)
        used = {end for source, _, target in links for end in (source, target)}
        own = torch.from_numpy(unit_features(features)).float()
        return cls({name: counts[name] for name in used}, {kind: own}, links)


class Network(nn.Module):
    """Two layers of one sort over all types. Types without features have a row learned for each node."""

    def __init__(self, typed: Typed, sort: str) -> None:
        from torch_geometric.nn import HANConv, HGTConv, RGCNConv

        super().__init__()
        self.typed, self.sort = typed, sort
        self.inputs = nn.ModuleDict(
            {
                name: nn.Linear(typed.features[name].shape[1], WIDTH)
                if name in typed.features
                else nn.Embedding(count, WIDTH)
                for name, count in typed.counts.items()
            }
        )
        known = (list(typed.counts), list(typed.links))
        made: dict[str, Callable[[], nn.Module]] = {
            "RGCN": lambda: RGCNConv(WIDTH, WIDTH, len(typed.links)),
            "HGT": lambda: HGTConv(WIDTH, WIDTH, known, HEADS),
            "HANConv": lambda: HANConv(WIDTH, WIDTH, known, HEADS),
        }
        self.layers = nn.ModuleList([made[sort](), made[sort]()])
        starts = np.cumsum([0, *typed.counts.values()])
        self.starts = dict(zip(typed.counts, starts.tolist(), strict=False))
        ends = [
            torch.stack([at[0] + self.starts[source], at[1] + self.starts[target]])
            for (source, _, target), at in typed.links.items()
        ]
        self.every = torch.cat(ends, 1)
        self.relation = torch.repeat_interleave(torch.tensor([each.shape[1] for each in ends]))

    def forward(self) -> dict[str, torch.Tensor]:
        """Compute a row for every node, by type."""
        rows = {
            name: layer(self.typed.features[name]) if name in self.typed.features else layer.weight
            for name, layer in self.inputs.items()
        }
        for place, layer in enumerate(self.layers):
            if self.sort == "RGCN":
                whole = layer(torch.cat(list(rows.values())), self.every, self.relation)
                found = dict(zip(rows, whole.split([len(each) for each in rows.values()]), strict=True))
            else:
                found = layer(rows, self.typed.links)
            last = place + 1 == len(self.layers)
            rows = {
                name: rows[name] + (each if last else torch.relu(each)) if each is not None else rows[name]
                for name, each in found.items()
            }
        return rows


def trained(network: Network, loss: Callable[[dict[str, torch.Tensor]], torch.Tensor], *more: Any) -> None:
    """Train for EPOCHS whole passes; ``more``: parameters beside the network's."""
    optimiser = torch.optim.Adam([*network.parameters(), *more], lr=RATE)
    for _ in range(EPOCHS):
        optimiser.zero_grad()
        loss(network()).backward()
        optimiser.step()


def link_scores(
    sort: str, graph: Graph, kind: str, features: np.ndarray, relation: str, pairs: Any, seed: int
) -> np.ndarray:
    """Score pairs of a relation by what was seen of the graph; higher is likelier."""
    typed, declared = Typed.of(graph, kind, features), graph.schema.edge_type(relation)
    source, target = (torch.from_numpy(np.asarray(each, dtype=np.int64)) for each in pairs)
    with seeded(seed):
        if sort == "metapath2vec":
            rows = walked(typed, kind)
        else:
            network = Network(typed, sort)
            links = typed.links[declared.source, relation, declared.target]
            sizes = [typed.counts[end] for end in (declared.source, declared.target)]

            def loss(rows: dict[str, torch.Tensor]) -> torch.Tensor:
                wrong = torch.stack([torch.randint(size, (links.shape[1],)) for size in sizes])
                both = torch.cat([links, wrong], 1)
                logits = (rows[declared.source][both[0]] * rows[declared.target][both[1]]).sum(1)
                true = (torch.arange(both.shape[1]) < links.shape[1]).float()
                return functional.binary_cross_entropy_with_logits(logits / WIDTH**0.5, true)

            trained(network, loss)
            with torch.no_grad():
                rows = network()
    scores: np.ndarray = (rows[declared.source][source] * rows[declared.target][target]).sum(1).numpy()
    return scores.astype(np.float64)


def node_f1(
    sort: str, graph: Graph, kind: str, features: np.ndarray, classes: np.ndarray, share: float, seed: int
) -> float:
    """Macro F1 of the classes that were not told, of 1."""
    typed = Typed.of(graph, kind, features)
    with seeded(seed):
        if sort == "metapath2vec":
            return row_classification([walked(typed, kind)[kind].double().numpy()], classes, share, seed)[1]
        known, tested = split_nodes(classes, share, seed)
        network, last = Network(typed, sort), nn.Linear(WIDTH, int(classes.max()) + 1)
        told = torch.from_numpy(classes[known].astype(np.int64))

        def loss(rows: dict[str, torch.Tensor]) -> torch.Tensor:
            return functional.cross_entropy(last(rows[kind][known]), told)

        trained(network, loss, *last.parameters())
        with torch.no_grad():
            found = last(network()[kind]).argmax(1).numpy()
    return f1(classes[tested], found[tested])[1]


def walked(typed: Typed, kind: str) -> dict[str, torch.Tensor]:
    """Train skip-gram on walks there and back along every relation of ``kind`` in turn; rows by type."""
    from torch_geometric.nn import MetaPath2Vec

    path: list[Key] = []
    for source, name, target in typed.links:
        if source == kind and not (name.endswith("_back") and target == kind):
            back = name.removesuffix("_back") if name.endswith("_back") else f"{name}_back"
            path += [(source, name, target), (target, back, kind)]
    model = MetaPath2Vec(
        typed.links,
        WIDTH,
        path,
        max(WALK, len(path)),
        CONTEXT,
        WALKS,
        num_nodes_dict=typed.counts,
        sparse=True,
    )
    with torch.no_grad():
        model.embedding.weight *= WALK_START  # else chance outweighs what so few steps teach
    loader = model.loader(batch_size=WALK_BATCH, shuffle=True)
    optimiser = torch.optim.SparseAdam(list(model.parameters()), lr=WALK_RATE)
    for _ in range(-(-WALK_STEPS // len(loader))):
        for positive, negative in loader:
            optimiser.zero_grad()
            model.loss(positive, negative).backward()
            optimiser.step()
    return {
        name: model(name).detach() if name in model.start else torch.zeros(count, WIDTH)
        for name, count in typed.counts.items()
    }
