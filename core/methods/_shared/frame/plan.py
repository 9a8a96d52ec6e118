"""The division of epsilon over cells, and inside one. Public facts only."""

from __future__ import annotations

from collections.abc import Iterable

from core import errors
from core.methods.base import PublicFacts
from core.privacy.accounting.events import Event, Pure
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit, record_is_unit

SMALLEST_STEP_NANO_EPSILON = 1_000  # below a millionth of epsilon per step every share rounds to nothing


def parts_of_window(public: PublicFacts) -> int:
    """Count the equal parts that a window's epsilon has.

    One for each of its steps, where a relation has time, and one more for relations without.

    A window of a live stream always has all of its steps; one of a finished grid, those of the grid at most.
    """
    temporal = [public.schema.edge_type(name).temporal for name in public.edge_types]
    window = public.window or 1
    # A live stream goes on, so that a window is filled some day, whatever the grid has so far.
    reach = window if public.tick is not None else min(window, public.schema.steps)
    return (reach if any(temporal) else 0) + (0 if all(temporal) else 1)


def step_nano_epsilon(public: PublicFacts) -> int:
    """Compute the epsilon of one cell, in nano-epsilon.

    A cell is a relation and step. EDGE and EVENT: all of it, as cells hold disjoint edges. W_EVENT: an equal
    part for each step of a window, and one more part for relations without time where both sorts occur, since
    those count in every window (:func:`parts_of_window`). Raises ``errors.NotAccepted`` when too little is
    left to divide.
    """
    share = public.nano_epsilon // (parts_of_window(public) if public.unit is Unit.W_EVENT else 1)
    if share < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon per step is too small to be divided", field="epsilon")
    return share


def cell_nano_epsilon(public: PublicFacts) -> int:
    """Compute what one cell may spend, in nano-epsilon, rounded down.

    EDGE, EVENT: everything, as cells hold disjoint edges. W_EVENT: an equal part for each step of a window
    (and one for relations without time). PAIR: an equal part for each cell, as a pair may be in all of them.
    Raises ``errors.NotAccepted`` where too little is left to divide.
    """
    if public.unit is not Unit.PAIR:
        return step_nano_epsilon(public)
    share = public.nano_epsilon // sum(len(public.schema.steps_of(name)) for name in public.edge_types)
    if share < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon per step is too small to be divided", field="epsilon")
    return share


def require_parts(nano_epsilon: int, parts: int, field: str) -> None:
    """Raise NotAccepted where a part would round to nothing. It names the parameter to mend."""
    if nano_epsilon < parts * SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted(
            f"{field} leaves too little of epsilon to be divided; give it more, or 0", field=field
        )


def together_nano_epsilon(public: PublicFacts, relation: str) -> int:
    """Compute a charged cell's budget for a relation's joint reads.

    They are of all its steps together; in nano-epsilon. As :func:`cell_nano_epsilon`; under PAIR, where one
    cell is charged for all, the parts of all its cells.
    """
    cells = public.schema.steps_of(relation) if public.unit is Unit.PAIR else (None,)
    return cell_nano_epsilon(public) * len(cells)


def besides(public: PublicFacts, *own: Event) -> tuple[Event, ...]:
    """List what a cell pays for outside solved noise.

    It is ``own`` events, and other reads' epsilon. With noise that keeps all of this to
    ``public.whole_nano_epsilon`` and delta, the job is (epsilon, delta) however that pure epsilon is split
    up, and whatever is requested with it once the rest is known: pure epsilons of a cell are added before
    they are composed, and composition is adaptive (:mod:`core.privacy.accounting.accountant`). Were it left
    out, the cell could cost a little more in all than the sum of both: a pure event adds no more than its
    epsilon to a guarantee, but to a bound on one it may.
    """
    return (*own, Pure(public.beside_nano_epsilon, "beside")) if public.beside_nano_epsilon else own


def cell_plan(method: str, public: PublicFacts, mechanism: str, purpose: str) -> PrivacyPlan:
    """Plan one pure allotment for every cell of protected relations. Each is of :func:`cell_nano_epsilon`."""
    event = Pure(cell_nano_epsilon(public), mechanism)  # one for all cells: what they share is checked once
    allotments = [
        Allotment(name, step, event, purpose)
        for name in public.edge_types
        for step in public.schema.steps_of(name)
    ]
    return plan_of(method, public, allotments)


def plan_of(
    method: str, public: PublicFacts, allotments: Iterable[Allotment], delta_atto: int = 0
) -> PrivacyPlan:
    """Make the method's plan of ``allotments``. Unit, window and steps are the public facts'.

    NotAccepted where the unit knows no records by themselves, and a relation declares them apart.
    """
    relations = [relation for relation in public.schema.edge_types if relation.name in public.edge_types]
    return PrivacyPlan(
        method=method,
        unit=public.unit,
        window=public.window if public.unit is Unit.W_EVENT else None,
        steps=public.schema.steps,
        allotments=tuple(allotments),
        delta_atto=delta_atto,
        first_step=public.tick or 0,
        accountant=public.accountant,
        apart=tuple(sorted(relation.name for relation in relations if record_is_unit(public.unit, relation))),
    )


def divide(total: int, *shares: float) -> tuple[int, ...]:
    """Cut ``total`` into the named shares and the rest.

    They are integers of at least 1 that sum to ``total``.

    ``shares`` sum to less than 1; ``total`` is far above their number, as every cell's share is.
    """
    parts = [max(1, int(total * share)) for share in shares]
    # What rounding leaves goes to the rest: all parts sum to the total.
    return (*parts, total - sum(parts))
