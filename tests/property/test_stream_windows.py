"""Streams and whole-graph jobs on one account, in any order: no window ever carries more than its total.

The oracle adds up every window by brute force, steps beyond every grid included; the amounts come from the
plans that the service itself would reserve.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.db.session import Database
from core.errors import BudgetExceeded
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.snapshots import tick_schema
from core.ids import new_id
from core.ledger import service
from core.methods import registry
from core.methods.base import PublicFacts
from core.privacy.units import Unit
from tests.support.groups import examples
from tests.support.ledger import call, charge, give_back, open_account, reserve

CAPACITY, REACH = 4 * 10**9, 12
SCHEMA = GraphSchema(
    node_types=(NodeType(name="node", count=10),),
    edge_types=(EdgeType(name="contact", temporal=True), EdgeType(name="family")),
    time=TimeGrid(count=4),
)
EVEN, KEYED = "edgerand", "keyframe"
"""A method whose steps cost the same, and one that buys a key frame once a window."""


@dataclass
class Oracle:
    """What every dimension carries, and what may still come back."""

    window: int
    steps: dict[str, int] = field(default_factory=dict)

    def add(self, amounts: dict[str, int], sign: int = 1) -> None:
        for name, amount in amounts.items():
            self.steps[name] = self.steps.get(name, 0) + sign * amount

    def fullest(self, amounts: dict[str, int] | None = None) -> int:
        """The most that any window of consecutive steps would carry with the amounts added."""
        extra = amounts or {}

        def held(name: str) -> int:
            return self.steps.get(name, 0) + extra.get(name, 0)

        spans = [range(first, first + self.window) for first in range(-self.window, REACH + 1)]
        return held("untimed") + max(sum(held(f"step/{t}") for t in span) for span in spans)


def tick(window: int, step: int, nano_epsilon: int, method: str) -> dict[str, int]:
    """What one step of a stream with that method and epsilon a window reserves."""
    generator = registry.get(method)
    schema = tick_schema(SCHEMA, ["contact"], step)
    facts = PublicFacts(schema, Unit.W_EVENT, window, nano_epsilon, 0, ("contact",), tick=step)
    return generator.plan(generator.Params(), facts).spend("basic")


def whole(window: int, nano_epsilon: int, names: tuple[str, ...]) -> dict[str, int]:
    """What a job on the finished grid reserves."""
    generator = registry.get(EVEN)
    facts = PublicFacts(SCHEMA, Unit.W_EVENT, window, nano_epsilon, 0, names)
    return generator.plan(generator.Params(), facts).spend("basic")


NANO = st.integers(1, 4).map(lambda n: n * 10**9)
TICKS = st.tuples(st.just("tick"), st.integers(0, REACH - 1), NANO, st.sampled_from([EVEN, KEYED]))
WHOLE = st.tuples(st.just("whole"), NANO, st.sampled_from([("contact",), ("family",), ("contact", "family")]))
ENDS = st.tuples(st.just("end"), st.integers(0, 30), st.sampled_from(["charge", "forfeit", "release"]))


@given(
    window=st.integers(1, 5),
    story=st.lists(st.one_of(TICKS, TICKS, WHOLE, ENDS), min_size=4, max_size=24),
)
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_window_passes_its_total(module_database: Database, window: int, story: list[tuple]) -> None:
    account = open_account(
        module_database, domain=new_id("domain"), nano_epsilon=CAPACITY, unit="w-event", window=window
    )
    oracle, held = Oracle(window), []
    for kind, *what in story:
        if kind == "end":
            place, ending = what
            if not held:
                continue
            reservation, amounts = held.pop(place % len(held))
            if ending == "charge":
                charge(module_database, reservation)
            elif ending == "forfeit":
                call(module_database, service.forfeit, reservation, reason="read", actor="worker")
            else:
                give_back(module_database, reservation, counts=False)
                oracle.add(amounts, -1)
        else:
            amounts = tick(window, *what) if kind == "tick" else whole(window, *what)
            if oracle.fullest(amounts) > CAPACITY:
                with pytest.raises(BudgetExceeded):
                    reserve(module_database, account, amounts)
                continue
            held.append((reserve(module_database, account, amounts), amounts))
            oracle.add(amounts)
        assert oracle.fullest() <= CAPACITY
    found = call(module_database, service.statement, account.id)
    assert found.charged.nano_epsilon + found.reserved.nano_epsilon == oracle.fullest()
    assert call(module_database, service.verify, account.id).violations == ()


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_tick_costs_what_a_whole_window_of_them_may(window: int) -> None:
    amounts = tick(window, 7, 10**9, EVEN)
    assert set(amounts) == {"untimed", "delta", "step/7"}
    assert (amounts["untimed"], window * amounts["step/7"]) == (0, window * (10**9 // window))


@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_key_frames_come_once_a_window_and_leave_no_window_above_epsilon(window: int) -> None:
    spent = [tick(window, step, 10**9, KEYED)[f"step/{step}"] for step in range(4 * window)]
    assert len(set(spent)) == min(window, 3)  # a frame, the steps that pay for what was kept, and others
    for first in range(3 * window):
        assert 10**9 - window <= sum(spent[first : first + window]) <= 10**9
