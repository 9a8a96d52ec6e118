"""What reports say of attacks on hidden links. A defence hid these. Curators only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from core.reports.base import Notice
from core.reports.evidence import SensitiveAttacks

NOTABLE = 0.55
"""A figure whose interval lies above it is more than chance among so many attackers."""

_KINDS: Mapping[bool, str] = MappingProxyType(
    {
        True: "No guarantee stands behind these figures: they are what these attackers found.",
        False: "The links were drawn at random, for evaluation: nobody named them.",
    }
)


def said_of(found: SensitiveAttacks) -> str:
    """Say what was attacked, in a sentence."""
    hidden = ", ".join(f"{count:,} of {name}" for name, count in found.hidden.items()) or "none"
    worst = "no attack was run"
    if found.figure is not None:
        worst = f"the best of all attackers gets {found.figure:.3f} (0.5 is guessing)"
    return f"Links that the release hides: {hidden}; {worst}. {_KINDS[found.list_id is not None]}"


def found_out(found: SensitiveAttacks | None) -> Iterator[Notice]:
    """Warn where hidden links can be inferred. It warns, too, where there was none to hide."""
    if found is None:
        return
    if not found.hidden:
        yield Notice(
            code="nothing_hidden",
            text="The list of sensitive links has none of the relations that the method takes: no link was "
            "hidden, and the release is the original altered for nothing.",
        )
    by_relation: dict[str, list[str]] = {}
    for attack in found.attacks:
        # Either way round: an attacker may invert its answer.
        if attack.auc is not None and max(attack.auc.low, 1 - attack.auc.high) > NOTABLE:
            by_relation.setdefault(attack.edge_type, []).append(f"{attack.title} ({attack.figure:.3f})")
    for relation, titles in by_relation.items():
        yield Notice(
            code="sensitive_links_found",
            text="Beyond doubt, these attackers tell hidden links from pairs without one: "
            f"{', '.join(titles)}. The figure is max(AUC, 1 - AUC).",
            edge_type=relation,
        )
