"""Attacks on the links that a release was to hide.

Some attackers know of the defence. The eight attackers of PPGSL (section V-A2: three that count common
neighbours, five that learn from the release), the one among them who turns scores round where that serves
best, and one who has run the defence on graphs of their own. Each looks for the hidden links among as many
pairs, uniform among all that are no links of the original (V-A3), knowing which released node is which
person, and nodes' public features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.evaluation.attacks import heuristics, learned, scoring
from core.evaluation.attacks.knowing import TURNED, Informed, Shadow, privacy_figure
from core.evaluation.attacks.pairs import Pairs
from core.evaluation.attacks.projection import MOST_OF_COLLECTION, static_view
from core.evaluation.attacks.targets import MAX_TARGETS, LinkScorer, LinkTargets, draw_targets
from core.evaluation.metric import Suite
from core.evaluation.tasks.subjects import public_features
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.views.sensitive import SensitiveLinks

Progress = Callable[[str, int, int], None]

FEWEST_HIDDEN = 5
TARGET_SEED, SCORE_SEED = 20_250_915, 20_250_916  # public and fixed, as those of the other attacks
_TOO_FEW = f"Fewer than {FEWEST_HIDDEN} links of the relation are hidden: a figure would say little."
_NO_ROOM = "The relation has too few pairs without a link to tell hidden links from."


@dataclass(frozen=True, eq=False)
class DefenceShadow:
    """A defended graph of an attacker, with its hidden links.

    It is one that an attacker holds, what the defence made of it, and the links that it hid there.
    """

    held: Graph
    released: Graph
    hidden: SensitiveLinks = field(repr=False)


def attacked_links(
    original: Graph,
    synthetic: Graph,
    hidden: SensitiveLinks,
    suite: Suite,
    progress: Progress,
    shadows: Sequence[DefenceShadow] = (),
) -> dict[str, Any]:
    """Attack the hidden links, for the report's SensitiveAttacks.

    The worst attack comes first, those not run last. Curators only. Nodes of both graphs are aligned by
    index. Links of relations that were not released are not counted. ``before``: the same attack on the
    original with the hidden links taken out, had that been published. Progress counts attacks x relations
    under the stage ``sensitive``. Time: that of the suite's other attacks; in the full one five models and
    the informed attacker's, each for the release and for the original.
    """
    relations = _relations(original, synthetic, hidden)
    attackers = {each.name: _attackers(original, each, suite, shadows) for each in relations}
    done, steps = 0, sum(len(each) for each in attackers.values())
    progress("sensitive", 0, steps)
    rows: list[dict[str, Any]] = []
    for relation in relations:
        asked = _Asked.of(original, synthetic, relation, hidden.of_relation(relation.name))
        for scorer in attackers[relation.name]:
            rows.append(asked.scored(scorer))
            done += 1
            progress("sensitive", done, steps)
        rows += asked.turned(rows)
    # What was not run has no figure: it comes last.
    rows.sort(key=lambda row: -1.0 if row["figure"] is None else row["figure"], reverse=True)
    run = [row["auc"]["value"] for row in rows if row["auc"] is not None]
    return {
        "list_id": hidden.list_id,
        "hidden": {
            name: len(source) for name, (source, _) in hidden.pairs.items() if name in synthetic.edges
        },
        "figure": privacy_figure(run) if run else None,
        "attacks": rows,
    }


def _relations(original: Graph, synthetic: Graph, hidden: SensitiveLinks) -> list[EdgeType]:
    """Choose the released relations that defences take; of a collection what hides most, then by size."""
    released = [
        each
        for each in original.schema.edge_types
        if each.name in synthetic.edges and each.homogeneous and not each.public
    ]
    if original.schema.collection is None:
        return released
    released.sort(key=lambda t: (-len(hidden.of_relation(t.name)[0]), -original.nodes[t.source].count))
    return released[:MOST_OF_COLLECTION]


def _attackers(
    original: Graph, relation: EdgeType, suite: Suite, shadows: Sequence[DefenceShadow]
) -> list[LinkScorer]:
    """Choose the plain ones; in the full suite also learned and informed ones, who know public features."""
    counting = [each for each in heuristics.SCORERS if isinstance(each, heuristics.Proximity)]
    plain: list[LinkScorer] = [each for each in counting if suite.includes(each.suite)]
    if not suite.includes(Suite.FULL):
        return plain
    features = public_features(original, (relation.source,))
    seen = [
        Shadow(
            static_view(each.held, relation),
            static_view(each.released, relation),
            each.hidden.of_relation(relation.name),
            features,
        )
        for each in shadows
        if len(each.hidden.of_relation(relation.name)[0]) >= FEWEST_HIDDEN
    ]
    return [*plain, *learned.scorers(features), Informed(seen, features)]


@dataclass(frozen=True, eq=False)
class _Asked:
    """The targets of one relation, and the two graphs that attackers are given."""

    relation: EdgeType
    release: UndirectedView
    before: UndirectedView
    targets: LinkTargets

    @classmethod
    def of(cls, original: Graph, synthetic: Graph, relation: EdgeType, hidden: Pairs) -> _Asked:
        truth, release = static_view(original, relation), static_view(synthetic, relation)
        limit = min(heuristics.affordable(truth), heuristics.affordable(release), MAX_TARGETS)
        # The list may name a pair either way round, and twice.
        low, high = np.minimum(*hidden), np.maximum(*hidden)
        keys = np.unique(low * truth.node_count + high)
        pairs = keys // max(truth.node_count, 1), keys % max(truth.node_count, 1)
        targets = draw_targets(truth, limit, TARGET_SEED, "uniform", pairs)
        return cls(relation, release, _without(truth, keys), targets)

    def scored(self, scorer: LinkScorer) -> dict[str, Any]:
        """Make one row: the attack on the release and on the original without hidden links, or why not."""
        reason = None
        if self.targets.positives < FEWEST_HIDDEN:
            reason = _TOO_FEW
        elif self.targets.negatives < FEWEST_HIDDEN:
            reason = _NO_ROOM
        else:
            reason = scorer.applies(self.release) or scorer.applies(self.before)
        auc = before = None
        if reason is None:
            auc = self._auc(scorer, self.release)
            # The informed one would need shadows of "leave the links out", which is no defence of its own.
            before = None if isinstance(scorer, Informed) else self._auc(scorer, self.before)
        value = None if auc is None else auc["value"]
        return {
            "name": scorer.name,
            "title": scorer.title,
            "knowledge": scorer.knowledge,
            "edge_type": self.relation.name,
            "positives": self.targets.positives,
            "negatives": self.targets.negatives,
            "auc": auc,
            "advantage": None if value is None else abs(2 * value - 1),
            "figure": None if value is None else max(value, 1 - value),
            "before": before,
            "not_run": reason,
        }

    def turned(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Turn round the relation's attacker whose scores serve best so; none where all were not run."""
        mine = [r for r in rows if r["edge_type"] == self.relation.name and r["auc"] is not None]
        if not mine:
            return []
        # Turned round, the worst attacker is the best.
        lowest = min(mine, key=lambda row: row["auc"]["value"])
        before = lowest["before"]
        return [
            {
                **lowest,
                "name": f"{lowest['name']}_inverted",
                "title": f"{lowest['title']}, inverted",
                "knowledge": f"{lowest['knowledge']} {TURNED}",
                "auc": _flipped(lowest["auc"]),
                "before": None if before is None else _flipped(before),
            }
        ]

    def _auc(self, scorer: LinkScorer, view: UndirectedView) -> dict[str, float]:
        found = scorer.score(view, self.targets.source, self.targets.target, SCORE_SEED)
        auc: dict[str, float] = scoring.score(found, self.targets.label)["auc"]
        return auc


def _without(view: UndirectedView, keys: np.ndarray) -> UndirectedView:
    """Remove the pairs of the sorted keys ``low * nodes + high`` from the graph."""
    own = np.minimum(view.u, view.v) * view.node_count + np.maximum(view.u, view.v)
    kept = ~np.isin(own, keys)
    return UndirectedView.of_pairs(view.node_count, view.u[kept], view.v[kept])


def _flipped(interval: dict[str, float]) -> dict[str, float]:
    return {"value": 1 - interval["value"], "low": 1 - interval["high"], "high": 1 - interval["low"]}
