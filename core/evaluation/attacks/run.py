"""Every attack of a suite on a release.

Each is measured too as if the original had been published. Attacks on links take the protected relations one
by one, each over all time as one static graph, and suppose an attacker who knows which released node is which
person: the worst case, since releases carry pseudonyms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.evaluation.attacks import heuristics, learned, scoring, semantic
from core.evaluation.attacks.degree_alignment import DegreeAlignment
from core.evaluation.attacks.degree_signature import degree_signature
from core.evaluation.attacks.likelihood_ratio import LikelihoodRatio
from core.evaluation.attacks.projection import protected_relations, static_view
from core.evaluation.attacks.targets import LinkScorer, LinkTargets, draw_targets
from core.evaluation.metric import Suite
from core.evaluation.steps import evaluated_steps
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

Progress = Callable[[str, int, int], None]
ShadowGraphs = Sequence[tuple[Graph, Graph]]

FEWEST_LINKS = 20
# Public and fixed: the same release and original give the same figures.
TARGET_SEED = 20_170_615
SCORE_SEED = 20_170_616

_TOO_SMALL = f"The relation has fewer than {FEWEST_LINKS} links."
FEWEST_NEGATIVES = 20
_NO_NEGATIVES = (
    f"The relation has fewer than {FEWEST_NEGATIVES} pairs without a link whose ends have a link's degrees: "
    "there is nothing to tell links from."
)


@dataclass(frozen=True)
class Attack:
    """A scorer of the release, and of the published original.

    It is the same attacker had the original been published.
    """

    against_release: LinkScorer
    against_original: LinkScorer


def run_attacks(
    original: Graph, synthetic: Graph, suite: Suite, progress: Progress, shadows: ShadowGraphs = ()
) -> dict[str, Any]:
    """Run the attacks, for curators only.

    They are ``degree_signature`` and ``inference`` of the report's Attacks. Nodes of both graphs are aligned
    by index. ``shadows`` are pairs (graph an attacker holds, its release by the method), for the likelihood
    ratio. Progress counts attacks x relations under the stage ``attack``. Deterministic for given shadows,
    whose noise is the operating system's. Time: at most 20 000 targets an attack, fewer where degrees are
    very great, each reading its ends' neighbourhoods, in addition to the degree signature; learned attacks
    state their own limits.
    """
    relations = protected_relations(original, synthetic)
    trained = learned.SCORERS if suite.includes(Suite.FULL) else ()
    plain = (*heuristics.SCORERS, DegreeAlignment, LikelihoodRatio)
    each = sum(suite.includes(attack.suite) for attack in plain)
    total = 1 + len(relations) * (each + len(trained)) + suite.includes(Suite.FULL)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress("attack", done, total)

    progress("attack", 0, total)
    steps: tuple[int | None, ...] = (None,)
    if original.schema.temporal:
        steps = evaluated_steps(original.schema, suite)
    signature = degree_signature(original, synthetic, steps)
    advance()
    rows: list[dict[str, Any]] = []
    for relation in relations:
        rows += attacked(original, synthetic, relation, suite, trained, shadows, advance)
    if suite.includes(Suite.FULL):
        rows += semantic.entries(original, synthetic, relations, TARGET_SEED)
        advance()
    return {"degree_signature": signature, "inference": rows}


def attacked(
    original: Graph,
    synthetic: Graph,
    relation: EdgeType,
    suite: Suite,
    learned: Sequence[LinkScorer],
    shadows: ShadowGraphs,
    advance: Callable[[], None],
) -> list[dict[str, Any]]:
    """Make one relation's Attack entries, in a fixed order."""
    truth, release = static_view(original, relation), static_view(synthetic, relation)
    views = [
        (static_view(held, relation), static_view(released, relation))
        for held, released in shadows
        if relation.name in held.edges and relation.name in released.edges
    ]
    rows = []
    drawn: dict[int, LinkTargets] = {}
    # Both graphs are attacked on the same targets, so that the dearer one decides.
    most = min(heuristics.affordable(truth), heuristics.affordable(release))
    for attack in link_attacks(truth, views, learned):
        scorer = attack.against_release
        if not suite.includes(scorer.suite):
            continue
        limit = min(scorer.max_targets, most)
        if limit not in drawn:
            drawn[limit] = draw_targets(truth, limit, TARGET_SEED)
        rows.append(measured(attack, relation.name, truth, release, drawn[limit]))
        advance()
    return rows


def link_attacks(
    truth: UndirectedView,
    shadows: Sequence[tuple[UndirectedView, UndirectedView]],
    learned: Sequence[LinkScorer] = (),
) -> list[Attack]:
    """List every attack on the links of ``truth``.

    Had the original been published, the method would have been "publish it", and shadows their own releases.
    """
    aligning = DegreeAlignment(truth.degrees)
    own = [(held, held) for held, _ in shadows]
    return [
        *(Attack(scorer, scorer) for scorer in heuristics.SCORERS),
        Attack(aligning, aligning),
        Attack(LikelihoodRatio(shadows), LikelihoodRatio(own)),
        *(Attack(scorer, scorer) for scorer in learned),
    ]


def measured(
    attack: Attack, edge_type: str, truth: UndirectedView, release: UndirectedView, targets: LinkTargets
) -> dict[str, Any]:
    """Make one Attack entry. It has both scores on the same targets, or why it was not run."""
    scorer = attack.against_release
    reason = None
    if truth.edge_count < FEWEST_LINKS:
        reason = _TOO_SMALL
    elif targets.negatives < FEWEST_NEGATIVES:
        reason = _NO_NEGATIVES
    else:
        # On both graphs or on neither: a figure without its reference says little.
        reason = scorer.applies(truth) or scorer.applies(release)
    entry = {
        "name": scorer.name,
        "title": scorer.title,
        "knowledge": scorer.knowledge,
        "edge_type": edge_type,
        "control": scorer.name in heuristics.CONTROLS,
        "positives": targets.positives,
        "negatives": targets.negatives,
        "published": None,
        "reference": None,
        "not_run": reason,
    }
    if reason is None:
        for field, by, graph in (
            ("published", scorer, release),
            ("reference", attack.against_original, truth),
        ):
            found = by.score(graph, targets.source, targets.target, SCORE_SEED)
            entry[field] = scoring.score(found, targets.label)
    return entry
