"""The curators' two figures from 0 to 10. They are utility and protection, each from parts that are printed
with it.

A score is 10 times the weighted mean of its parts; 1 is best in every part. Both are functions of the private
graph. The public edition has no score: what a release is worth cannot be told without the original, and the
bound on an attacker is printed as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

from core.reports.comparison import Comparison
from core.reports.evidence import Attacks, AttackScore, DegreeSignature, Task
from core.reports.measured import measured_parts
from core.reports.model import GuaranteePart
from core.reports.scores import Score, ScorePart, Scores

MEASURED_PROTECTION = (
    "10 x the weighted mean of the parts. The guarantee weighs 1: 1 - (e^epsilon - 1 + 2 delta) / "
    "(e^epsilon + 1), or 0 without one. What the attacks found weighs 1 in all, so that a release without a "
    "guarantee never scores above 5."
)
MEASURED_UTILITY = (
    "10 x the mean of the parts. Each reads a distance from the original between that of a uniform random "
    "graph with as many edges (0) and that of the original with one edge in twenty drawn anew (1); of a "
    "family the worst member counts."
)
# Shares of the way from a random graph to the original, and what to expect there.
FAIR, GOOD = 0.4, 0.7
LEVELS = (
    (GOOD, math.inf, "Expect to find {} about as in the original."),
    (FAIR, GOOD, "Expect {} to be right in the rough, and not in detail."),
    (0.0, FAIR, "Do not rely on {}: a random graph would say hardly less."),
)
# Below this distance from guessing, the original itself teaches a task too little to lose.
SMALLEST_GAIN = 0.02
# Tells structures hardly apart: the original's own links carry the known labels (see its definition).
WEAK_TASKS = frozenset({"node_classification_transfer"})


def curator_scores(
    guarantee: GuaranteePart, comparison: Comparison, attacks: Attacks, tasks: Sequence[Task]
) -> Scores:
    """Compute both scores of the curators' edition; functions of the private graph.

    Protection: the guarantee's bound (weight 1) and what the attacks found (weight 1 in all). Utility: the
    mean of what was measured (:mod:`core.reports.measured`) and of the worst task; null where nothing was
    comparable, or the comparison has no anchors.
    """
    measured = [*measured_parts(comparison), *_tasks(tasks)] if comparison.anchors else []
    signature = attacks.degree_signature
    named = [] if signature is None else [_signature(signature, comparison)]
    attacked = [*_inference(attacks), *named]
    # However many attacks were run, together they weigh as much as the guarantee.
    shared = [part.model_copy(update={"weight": 1 / len(attacked)}) for part in attacked]
    return Scores(
        utility=_score(MEASURED_UTILITY, measured, expected(measured)) if measured else None,
        protection=_score(MEASURED_PROTECTION, [_bound(guarantee), *shared]),
    )


def expected(parts: Sequence[ScorePart]) -> str:
    """Say in words what utility's parts expect. The release is near, roughly, or not at all."""
    sentences = []
    for low, high, said in LEVELS:
        named = [part.title[:1].lower() + part.title[1:] for part in parts if low <= part.value < high]
        if named:
            listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
            sentences.append(said.format(listed))
    return " ".join(sentences)


def _score(formula: str, parts: Sequence[ScorePart], expects: str = "") -> Score:
    weight = math.fsum(part.weight for part in parts)
    mean = math.fsum(part.weight * part.value for part in parts) / weight
    # Weights are no whole numbers: their mean may come a hair above 1.
    return Score(value=min(10.0, 10 * mean), formula=formula, expects=expects, parts=tuple(parts))


def advantage(guarantee: GuaranteePart) -> float:
    """Bound TPR - FPR of any test of neighbours. It tells which of two it was; 1 without a guarantee."""
    if guarantee.kind == "none" or guarantee.epsilon is None:
        return 1.0
    epsilon, delta = float(Decimal(guarantee.epsilon)), float(Decimal(guarantee.delta or "0"))
    # (e^eps - 1 + 2 delta) / (e^eps + 1), the widest gap between the trade-off curve of (eps, delta)-DP and
    # guessing (Kairouz, Oh, Viswanath 2015); with tanh and e^-eps no epsilon overflows.
    falling = math.exp(-epsilon)
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta * falling / (1 + falling))


def _bound(guarantee: GuaranteePart) -> ScorePart:
    """Score 1 - the bound on any attacker's advantage."""
    bound = advantage(guarantee)
    if guarantee.kind == "none":
        explanation = "No guarantee: nothing bounds what an attacker learns."
    else:
        delta = "" if guarantee.delta in (None, "0") else f", delta {guarantee.delta}"
        question = (
            "which of two lists of edges one person has"
            if guarantee.unit.replaced
            else f"whether one unit ({guarantee.unit}) is present"
        )
        explanation = (
            f"1 - A at epsilon {guarantee.epsilon}{delta}: in telling {question}, an attacker's hits exceed "
            f"the false alarms by at most {bound:.3%}."
        )
    return ScorePart(
        name="guarantee", title="Guaranteed bound", value=1 - bound, weight=1.0, explanation=explanation
    )


def _inference(attacks: Attacks) -> Iterator[ScorePart]:
    """Score 1 - the worst advantage among the attacks that were run: a point estimate, not an upper bound."""
    controls = _controls(attacks)
    scored = [
        (_beyond(a.published, controls.get(a.edge_type, 0.0)), a)
        for a in attacks.inference
        if a.published is not None and not a.control
    ]
    if not scored:
        return
    worst, attack = max(scored, key=lambda pair: pair[0])
    assert attack.published is not None
    where = f" on {attack.edge_type}" if attack.edge_type else ""
    control = controls.get(attack.edge_type, 0.0)
    less = f", less the {control:.3f} that degrees alone reach on these targets" if control else ""
    yield ScorePart(
        name="inference",
        title="Measured inference attacks",
        value=1 - worst,
        weight=0.5,
        explanation=f"1 - |2 AUC - 1| of the worst of {len(scored)} attacks: {attack.title}{where}, AUC "
        f"{attack.published.auc.value:.3f} (0.5 is guessing){less}. A point estimate.",
    )


def _controls(attacks: Attacks) -> dict[str | None, float]:
    """Measure what the choice of targets gives away, per relation: the control's |2 AUC - 1|."""
    return {
        a.edge_type: abs(2 * a.published.auc.value - 1)
        for a in attacks.inference
        if a.control and a.published is not None
    }


def _beyond(score: AttackScore, control: float) -> float:
    """Compute |2 AUC - 1| beyond the control's, as a share of what is left, in [0, 1]; all at control 1."""
    # Either way round: an attacker may invert its answer.
    advantage = abs(2 * score.auc.value - 1)
    return min(1.0, max(0.0, (advantage - control) / (1 - control))) if control < 1 else advantage


def _signature(signature: DegreeSignature, comparison: Comparison) -> ScorePart:
    """Score 1 - the share of victims that a degree (or degree sequence) finds beyond guessing among nodes."""
    best, nodes = max(signature.per_step, signature.sequence), _nodes(comparison)
    # So often a node that is picked at random is the victim's, without any release.
    guess = 1 / nodes if nodes > 1 else 0.0
    excess = max(0.0, best - guess) / (1 - guess)
    return ScorePart(
        name="degree_signature",
        title="Measured degree signature",
        value=1 - min(1.0, excess),
        weight=0.5,
        explanation="1 - excess over guessing: whoever knows a degree finds its node with probability "
        f"{best:.3%}, whoever guesses with {guess:.3%}.",
    )


def _nodes(comparison: Comparison) -> int:
    """Count the nodes of the comparison's largest relation; 0 where it has no degrees."""
    totals = [0.0]
    for relation in comparison.edge_types:
        sides = {side.side: math.fsum(b.original for b in side.bins) for side in relation.degrees}
        apart = {"source", "target"} <= sides.keys()  # two node types; else both sides are the same nodes
        totals.append(sum(sides.values()) if apart else max(sides.values(), default=0.0))
    return round(max(totals))


def _tasks(tasks: Sequence[Task]) -> Iterator[ScorePart]:
    """Score the share of what the original teaches beyond guessing that the release does too: the worst."""
    kept = []
    for task in tasks:
        if task.name in WEAK_TASKS:
            continue
        original, synthetic, guess = task.trained_on_original, task.trained_on_synthetic, task.baseline
        if original is None or synthetic is None or guess is None or original - guess < SMALLEST_GAIN:
            continue
        # Better than the original, and worse than guessing, count as the ends.
        share = min(1.0, max(0.0, (synthetic - guess) / (original - guess)))
        kept.append((share, f"{task.title} on {task.subject}"))
    if kept:
        worst, called = min(kept)
        yield ScorePart(
            name="tasks",
            title="Learning tasks",
            value=worst,
            weight=1.0,
            explanation="(synthetic - guessing) / (original - guessing), tested on the original: "
            f"{called}, the worst of {len(kept)} in which the original beats "
            "guessing.",
        )
