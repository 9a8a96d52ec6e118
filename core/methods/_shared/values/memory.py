"""A live stream's accumulated tables of one attribute.

They are noisy tables of its steps added up, older ones less. Output already paid for, and degrees of graphs
sampled from it; nothing else. A table that is added to one of another division of values, or of other classes
of nodes, is first divided anew, as far as shares tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from core.methods._shared.frame.columns import Columns
from core.methods._shared.values.bins import Division

FORGETTING = 0.95
"""What a step still counts for when one more has come: twenty steps are heeded, about."""
OFTEN = 16
"""Values and classes are divided anew at steps 1, 2, 4 and 8 of a stream's, then at every 16th."""
_ENDS = ("source", "target")


class Nodes(NamedTuple):
    """What is measured of the nodes of one side.

    ``sums`` (nodes, columns) float64: noisy sums of scores, or counts of each bin. All others (nodes,)
    float64. ``noise``: the variance of the noise in each entry of a row. ``ends``: edges sampled, to match.
    ``chance``: the variance of a row where nodes are alike, as a multiple of a single edge's. ``drawn``:
    edges sampled, each step's only by its age.
    """

    sums: np.ndarray
    noise: np.ndarray
    ends: np.ndarray
    chance: np.ndarray
    drawn: np.ndarray

    @classmethod
    def read(cls, sums: np.ndarray, noise: float, degrees: np.ndarray) -> Nodes:
        """Make it of one read of all edges. ``degrees`` (nodes,) are of a sampled graph."""
        d = degrees.astype(np.float64)
        return cls(sums.astype(np.float64), np.full(len(d), noise), d, d, d)

    def weighed(self, spread: float) -> Nodes:
        """Weigh every node by its signal over noise.

        That is how much more its edges tell than noise does, ``spread`` each. A step in which a node has no
        edge adds nothing to its sums, where it would add noise.
        """
        signal = self.ends * spread
        weight = signal / (signal + self.noise)
        return Nodes(
            self.sums * weight[:, None],
            self.noise * weight**2,
            self.ends * weight,
            self.chance * weight**2,
            self.drawn,
        )

    def faded(self, f: float) -> Nodes:
        """Let all edges count for ``f``."""
        # Values go with the factor, variances with its square.
        squared = f * f
        return Nodes(
            f * self.sums, squared * self.noise, f * self.ends, squared * self.chance, f * self.drawn
        )

    def with_more(self, other: Nodes) -> Nodes:
        """Add what another step measured."""
        return Nodes(*(one + more for one, more in zip(self, other, strict=True)))


class Pairs(NamedTuple):
    """Noisy counts of kinds by pairs of classes.

    ``counts`` (source classes, target classes, kinds) float64; at either order of the ends where the relation
    is undirected, and once where both are of one class. ``noise``: the variance of an entry.
    """

    counts: np.ndarray
    noise: float


@dataclass(frozen=True)
class Memory:
    """``step``: the stream's last; ``told``: how many were read. ``histogram`` (fine,): noisy counts.

    ``nodes``, ``classes`` (nodes,): one for each side that the reads know, in their order.
    """

    step: int
    told: int
    histogram: np.ndarray
    division: Division
    nodes: tuple[Nodes, ...]
    classes: tuple[np.ndarray, ...]
    pairs: Pairs

    def renews(self) -> bool:
        """Tell whether the step after this one divides anew. Depends only on the number of steps."""
        coming = self.told + 1
        # A power of two shares no bit with the number before it.
        return coming & self.told == 0 or coming % OFTEN == 0

    def faded(self, step: int) -> Memory:
        """Return what it counts for at a later ``step``. Steps between may be missing."""
        if step <= self.step:
            raise ValueError("a stream's snapshots come in the order of time")
        f = FORGETTING ** (step - self.step)
        return replace(
            self,
            step=step,
            histogram=f * self.histogram,
            nodes=tuple(each.faded(f) for each in self.nodes),
            pairs=Pairs(f * self.pairs.counts, f * f * self.pairs.noise),
        )

    def divided_by(self, division: Division, histogram: np.ndarray) -> Memory:
        """Convert the tables to another division of bins.

        They are as if they had been read by it; ``histogram`` (fine,) shares.
        """
        old = self.division
        kinds = _moved(old.kinds[old.bins], division.kinds[division.bins], histogram)
        # What one old kind had is divided among new ones, as the histogram says: so is the noise.
        pairs = Pairs(self.pairs.counts @ kinds, self.pairs.noise * _most(kinds))
        if not len(old.score):
            bins = _moved(old.bins, division.bins, histogram)
            nodes = tuple(
                each._replace(sums=each.sums @ bins, noise=each.noise * _most(bins)) for each in self.nodes
            )
            return replace(self, division=division, nodes=nodes, pairs=pairs)
        before, after = old.score[old.bins], division.score[division.bins]
        mean = histogram @ before, histogram @ after
        # New scores by a linear fit of old ones, over the histogram: sums of scores can be moved no better.
        spread = float(histogram @ (before - mean[0]) ** 2)
        slope = float(histogram @ ((before - mean[0]) * (after - mean[1]))) / spread if spread > 0 else 0.0
        start = float(mean[1] - slope * mean[0])
        nodes = tuple(
            each._replace(sums=start * each.ends[:, None] + slope * each.sums, noise=slope**2 * each.noise)
            if slope > 0  # else scores told nothing
            else each.faded(0.0)
            for each in self.nodes
        )
        return replace(self, division=division, nodes=nodes, pairs=pairs)

    def classed_by(self, classes: tuple[np.ndarray, ...]) -> Memory:
        """Convert the pairs to other classes of nodes.

        They are as if nodes had been of these ones; both sides' where there are two.
        """
        moves = [
            _moved(old, new, each.drawn)
            for old, new, each in zip(self.classes, classes, self.nodes, strict=True)
        ]
        rows, columns, undirected = moves[0], moves[-1], len(moves) == 1
        counts = self.pairs.counts.copy()
        own = np.arange(min(counts.shape[:2]))
        if undirected:  # inside a class every edge has two orders of its ends
            counts[own, own] *= 2
        counts = np.einsum("ac,abk,bd->cdk", rows, counts, columns)
        if undirected:
            own = np.arange(len(counts))
            counts[own, own] /= 2
        return replace(
            self, classes=classes, pairs=Pairs(counts, self.pairs.noise * _most(rows) * _most(columns))
        )

    def columns(self) -> Columns:
        """Lay it out as one-dimensional columns."""
        none = np.empty(0)
        state = [self.step, self.told, len(self.nodes), *self.pairs.counts.shape, self.pairs.noise]
        found = {
            "state": np.array(state, dtype=np.float64),
            "histogram": self.histogram,
            "bins": self.division.bins.astype(np.int32),
            "kinds": self.division.kinds.astype(np.int32),
            "score": self.division.score,
            "pairs": self.pairs.counts.ravel(),
        }
        for place, name in enumerate(_ENDS):
            held = place < len(self.nodes)
            for field in Nodes._fields:
                column = getattr(self.nodes[place], field).ravel() if held else none
                found[f"{name}_{field}"] = column
            classes = self.classes[place] if held else none
            found[f"{name}_classes"] = classes.astype(np.int32)
        return found


def remembered(columns: Columns) -> Memory:
    """Read what :meth:`Memory.columns` laid out."""
    step, told, sides, *shape = (int(each) for each in columns["state"][:6])
    division = Division(
        columns["bins"].astype(np.int64), columns["kinds"].astype(np.int64), columns["score"].copy()
    )
    width = 1 if len(division.score) else len(division.kinds)
    nodes, classes = [], []
    for name in _ENDS[:sides]:
        sums, *others = (columns[f"{name}_{field}"] for field in Nodes._fields)
        nodes.append(Nodes(sums.reshape(-1, width), *others))
        classes.append(columns[f"{name}_classes"].astype(np.int64))
    pairs = Pairs(columns["pairs"].reshape(shape), float(columns["state"][6]))
    return Memory(step, told, columns["histogram"], division, tuple(nodes), tuple(classes), pairs)


def _moved(old: np.ndarray, new: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute which share of each old group is of each new one, by weights; (old groups, new groups)."""
    found = np.zeros((int(old.max()) + 1, int(new.max()) + 1))
    np.add.at(found, (old, new), weights)
    total = found.sum(axis=1, keepdims=True)
    whole = found.sum(axis=0) / max(float(total.sum()), 1e-300)  # of a group that weighs nothing
    moved: np.ndarray = np.where(total > 0, found / np.maximum(total, 1e-300), whole)
    return moved


def _most(moved: np.ndarray) -> float:
    """Bound what independent noise of variance 1 becomes, when it is divided like that."""
    return float((moved**2).sum(axis=0).max())
