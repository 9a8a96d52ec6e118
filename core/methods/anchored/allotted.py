"""Allotments of ``anchored``, by relation and for directions.

What a plan grants its relations, and how directions get their part. Public facts only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from core import errors
from core.graphs.schema import EdgeType, GraphSchema
from core.methods._shared.frame.plan import besides
from core.methods.anchored import passes
from core.methods.base import PublicFacts
from core.privacy.accounting.events import MAX_NANO_EPSILON, GaussianEvent, Pure, Repeated, pure_nano_epsilon
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit

SHARE = 0.4
"""Of epsilon for the directions of a relation, where they are asked for."""
MOST_NODES = 2**20
"""Most nodes of a relation that has directions, on either side: a noisy sum is a row of numbers for each."""

NAME = "anchored"


@dataclass(frozen=True)
class Granted:
    """What a relation's steps may spend.

    Each of ``steps`` has pure ``nano_epsilon``, and directions with noise of that multiplier; None where it
    pays for none.
    """

    steps: tuple[int | None, ...]
    nano_epsilon: int
    directions: Fraction | None


def granted(plan: PrivacyPlan) -> dict[str, Granted]:
    """Return what a plan of this method grants, by relation."""
    found: dict[str, Granted] = {}
    for each in plan.allotments:
        now = found.setdefault(each.edge_type, Granted((), MAX_NANO_EPSILON, None))
        match each.event:
            case Repeated(GaussianEvent(multiplier), _):
                now = replace(now, directions=multiplier)
            case event:
                least = min(now.nano_epsilon, pure_nano_epsilon(event) or 0)
                now = replace(now, steps=(*now.steps, each.step), nano_epsilon=least)
        found[each.edge_type] = now
    return found


def has_directions(relation: EdgeType) -> bool:
    """Tell whether the relation may have directions.

    It has time and two sides, and its sources may have several targets.
    """
    sided = relation.directed or not relation.homogeneous
    return relation.temporal and sided and not relation.functional


def require_room(grants: Mapping[str, Granted], schema: GraphSchema, counts: Mapping[str, int]) -> None:
    """Raise NotAccepted where directions need too many sums. ``counts``: universes whose size is known."""
    for name, grant in grants.items():
        relation = schema.edge_type(name)
        most = max(counts.get(relation.source, 0), counts.get(relation.target, 0))
        if grant.directions is not None and most > MOST_NODES:
            raise errors.NotAccepted(
                f"spectral=true takes relations of at most {MOST_NODES} nodes a side; {name} has more",
                field="spectral",
            )


def with_directions(plan: PrivacyPlan, public: PublicFacts) -> PrivacyPlan:
    """Plan directions out of what their relations' cells may spend.

    An edge lies in one cell, and each cell of the relation pays for every pass. Pure and Gaussian events of a
    cell are composed and converted once. Raises ``errors.NotAccepted`` with the field to
    mend: another unit than event, no delta, no such relation, or one with too many nodes.
    """
    if public.unit is not Unit.EVENT:
        raise errors.NotAccepted("spectral=true reads several steps at once: unit event only", field="unit")
    if not public.delta_atto:
        raise errors.NotAccepted("spectral=true needs a delta; spectral=false needs none", field="delta")
    rows: list[Allotment] = []
    for each in plan.allotments:
        if not (isinstance(each.event, Pure) and has_directions(public.schema.edge_type(each.edge_type))):
            rows.append(each)
            continue
        nano = each.event.nano_epsilon
        rest = Pure(nano - int(nano * SHARE), each.event.mechanism)
        # Solved for with all that the cell pays besides, as pure and Gaussian events are converted together.
        noise = passes.noise_multiplier(
            nano + public.beside_nano_epsilon, public.delta_atto, public.accountant, besides(public, rest)
        )
        rows.append(replace(each, event=rest))
        rows.append(replace(each, event=passes.event(noise), purpose=passes.DIRECTIONS))
    if len(rows) == len(plan.allotments):
        raise errors.NotAccepted(
            "spectral=true asks for a relation with time between two sides", field="spectral"
        )
    paying = replace(plan, allotments=tuple(rows), delta_atto=public.delta_atto, accountant=public.accountant)
    known = {kind.name: kind.count for kind in public.schema.node_types if kind.count is not None}
    require_room(granted(paying), public.schema, known)
    return paying
