"""The client's arithmetic beside the engine's: two programs, one answer."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from core.errors import PlanExceeded
from core.ledger import hash_chain
from core.privacy.accounting.events import (
    Composed,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
    pure_nano_epsilon,
    to_json,
    unprotected_reasons,
)
from core.privacy.accounting.meter import TranscriptEntry, replay
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.units import Unit
from graphveil.errors import EvidenceRefused
from graphveil.evidence import chain, composition
from graphveil.local.composition import recompute

CASES = 300


def event(draw: random.Random, *, sampled: bool) -> Any:
    """Draw a pure event."""
    plain = Pure(draw.randint(1, 10**9), draw.choice(["laplace", "exponential"]))
    kinds: list[Any] = [
        plain,
        Repeated(plain, draw.randint(1, 5)),
        Composed((plain, Pure(7, "x"))),
        Parallel((plain, Pure(3, "y"))),
    ]
    if sampled:
        kinds.append(PoissonSampled(Fraction(1, draw.randint(1, 9)), plain))
    return draw.choice(kinds)


def plan_of(draw: random.Random, unit: Unit) -> PrivacyPlan:
    """Draw a plan of that unit."""
    steps = draw.randint(1, 5) if unit.temporal else 1
    cells: list[tuple[str, int | None]]
    if unit is Unit.NODE:
        cells = [(WHOLE_GRAPH, None)]
    else:
        cells = [(f"r{k}", draw.choice([None, *range(steps)]) if unit.temporal else None) for k in range(3)]
    allotments = tuple(
        Allotment(*draw.choice(cells), event(draw, sampled=unit is not Unit.NODE), "read")
        for _ in range(draw.randint(1, 6))
    )
    window = draw.randint(1, steps + 1) if unit is Unit.W_EVENT else None
    return PrivacyPlan("m", unit, window, steps, allotments, first_step=draw.randint(0, 3))


@pytest.mark.parametrize("unit", list(Unit))
def test_plans_cost_what_the_engine_says(unit: Unit):
    draw = random.Random(str(unit))
    for _ in range(CASES):
        plan = plan_of(draw, unit)
        told = plan.to_json()
        cells = composition.cells_of(told)
        assert cells is not None
        total, amounts = composition.amounts_of(told, cells)
        assert (total, amounts) == (plan.cost().nano_epsilon, plan.spend("basic"))
        assert composition.plan_digest(told) == plan.digest()


def test_transcripts_fit_where_the_engine_says():
    draw = random.Random(4)
    outcomes = set()
    for _ in range(CASES):
        plan = plan_of(draw, Unit.EDGE)
        entries = []
        for each in plan.allotments:
            if draw.random() < 0.3:
                nano = pure_nano_epsilon(each.event) or 0
                each = Allotment(
                    each.edge_type, each.step, Pure(nano + draw.choice([-1, 0, 1]) or 1, "z"), "r"
                )
            entries.append(TranscriptEntry(len(entries), each.edge_type, each.step, each.event, "read"))
            if isinstance(each.event, Parallel) and draw.random() < 0.8:
                paid = pure_nano_epsilon(each.event.branches[0]) or 0
                member = Pure(max(1, paid + draw.choice([-1, 0, 1])), "member")
                group = (entries[-1].sequence, draw.choice([0, 0, 0, 2]))
                entries.append(TranscriptEntry(len(entries), each.edge_type, None, member, "read", *group))
        assert _engine(plan, entries) == _client(plan, entries)
        outcomes.add(_engine(plan, entries))
    assert outcomes == {True, False}


def _engine(plan: PrivacyPlan, entries: list[TranscriptEntry]) -> bool:
    try:
        replay(plan, entries)
    except PlanExceeded:
        return False
    return True


def _client(plan: PrivacyPlan, entries: list[TranscriptEntry]) -> bool:
    cells = composition.cells_of(plan.to_json())
    assert cells is not None
    try:
        composition.check_within(cells, [each.to_json() for each in entries])
    except EvidenceRefused:
        return False
    return True


def test_what_is_not_pure_is_left_to_the_engine():
    gaussian = GaussianEvent(Fraction(5))
    for kind in (gaussian, PoissonSampled(Fraction(1, 2), gaussian), Unprotected("raw")):
        told = to_json(kind)
        assert composition.pure(told) is None
        assert composition.unprotected(told) == bool(unprotected_reasons(kind))
    nested = Composed((Pure(1, "x"), Repeated(Unprotected("raw"), 2)))
    assert composition.unprotected(to_json(nested))
    with pytest.raises(EvidenceRefused, match="not known"):
        composition.pure({"kind": "sum"})


@pytest.mark.parametrize(("filter", "orders"), [("basic", None), ("renyi", [2, 4, 8])])
def test_the_engine_answers_for_gaussian_plans(filter: str, orders: list[int] | None):
    allotment = Allotment("r", None, GaussianEvent(Fraction(5)), "read")
    plan = PrivacyPlan("m", Unit.EDGE, None, 1, (allotment,), delta_atto=10**12)
    entry = TranscriptEntry(0, "r", None, allotment.event, "read").to_json()
    amounts = plan.spend(filter, tuple(orders or ()))
    charge = {"filter": filter, "orders": orders, "amounts": amounts, "sample_of": None}
    assert recompute(plan.to_json(), [entry], charge) == plan.cost().nano_epsilon
    with pytest.raises(EvidenceRefused, match="the plan does not cover"):
        recompute(plan.to_json(), [entry, {**entry, "sequence": 1}], charge)
    name = next(iter(amounts))
    with pytest.raises(EvidenceRefused, match="other amounts"):
        recompute(plan.to_json(), [entry], charge | {"amounts": amounts | {name: 1}})


def test_entries_are_hashed_as_the_ledger_hashes_them():
    columns = {"id": "le_1", "amounts": {"epsilon": 10**18}, "reason": "Größe", "previous_hash": b"\x01" * 32}
    told = {name: hash_chain.plain(value) for name, value in columns.items()}
    assert chain.entry_hash({**told, "hash": "x"}) == hash_chain.entry_hash(columns).hex()
