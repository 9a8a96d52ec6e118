"""The ledger on PostgreSQL against a model that fits on a page, over random lives of an account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from core.db.session import Database
from core.errors import AccountBlocked, BudgetExceeded, GraphveilError, InvalidTransition
from core.ids import new_id
from core.ledger import audit, service
from tests.support.ledger import call, charge, give_back, open_account, reserve

CAPACITY, DELTA, WINDOW, BLOCK_AFTER = 12, 5, 3, 3
NEAR, FAR = range(7), (40, 41, 43)  # a stream's steps, and some in its future
STEPS = (*NEAR, *FAR)


@dataclass
class Model:
    """What the ledger promises, without a database. ``held`` maps a reservation to (amounts, state)."""

    stream: bool
    held: dict[str, tuple[dict[str, int], str]] = field(default_factory=dict)
    give_backs: int = 0
    blocked: bool = False

    def total(self, dimension: str, *states: str) -> int:
        return sum(amounts.get(dimension, 0) for amounts, state in self.held.values() if state in states)

    def windows(self, *states: str) -> list[int]:
        """What each window carries, untimed spend included."""
        untimed = self.total("untimed", *states)
        spans = [range(first, first + WINDOW) for first in range(max(STEPS) + 1)]
        return [untimed + sum(self.total(f"step/{t}", *states) for t in span) for span in spans]

    def fits(self, asked: dict[str, int]) -> bool:
        def after(dimension: str) -> int:
            return self.total(dimension, "open", "charge", "forfeit") + asked.get(dimension, 0)

        if not self.stream:
            return after("epsilon") <= CAPACITY and after("delta") <= DELTA
        spans = [range(first, first + WINDOW) for first in range(max(STEPS) + 1)]
        return all(after("untimed") + sum(after(f"step/{t}") for t in span) <= CAPACITY for span in spans)

    def expected_refusal(self, asked: dict[str, int]) -> type[GraphveilError] | None:
        if self.blocked:
            return AccountBlocked
        return None if self.fits(asked) else BudgetExceeded

    def end(self, reservation: str, kind: str) -> bool:
        """False when the ending is not allowed."""
        amounts, state = self.held[reservation]
        if state == "open":
            self.held[reservation] = (amounts, kind)
            self.give_backs = self.give_backs + 1 if kind == "release" else 0
            self.blocked = self.blocked or self.give_backs >= BLOCK_AFTER
        return state in ("open", kind)


BASIC = st.fixed_dictionaries({"epsilon": st.integers(1, 6)}, optional={"delta": st.integers(0, 3)})
STREAM = st.one_of(
    st.fixed_dictionaries(
        {f"step/{t}": st.integers(0, 4) for t in NEAR[::2]},
        optional={
            "untimed": st.integers(0, 2),
            **{f"step/{t}": st.integers(0, 5) for t in (*NEAR[1::2], *FAR)},
        },
    ),
    st.dictionaries(st.sampled_from([f"step/{t}" for t in STEPS]), st.integers(1, 5), max_size=2),
    st.fixed_dictionaries({"untimed": st.integers(1, 3)}),
)


class LedgerMachine(RuleBasedStateMachine):
    """Each rule asks the ledger and the model the same, and compares."""

    reservations = Bundle("reservations")
    database: Database
    stream: bool

    def __init__(self) -> None:
        super().__init__()
        terms = {"unit": "w-event", "window": WINDOW} if self.stream else {"delta_atto": DELTA}
        self.account = open_account(self.database, domain=new_id("domain"), nano_epsilon=CAPACITY, **terms)
        self.model = Model(self.stream)

    @rule(target=reservations, basic=BASIC, stream=STREAM)
    def reserve(self, basic: dict[str, int], stream: dict[str, int]) -> str:
        asked = stream if self.stream else basic
        expected = self.model.expected_refusal({d: a for d, a in asked.items() if a})
        if expected is not None and (any(asked.values()) or expected is AccountBlocked):
            with pytest.raises(expected):
                reserve(self.database, self.account, asked)
            return ""
        reservation = reserve(self.database, self.account, asked)
        self.model.held[reservation] = (asked, "open")
        return reservation

    def _end(self, reservation: str, kind: str, operation: Callable[[], object]) -> None:
        if not reservation:
            return
        if self.model.end(reservation, kind):
            operation()
            return
        with pytest.raises(InvalidTransition):
            operation()

    @rule(reservation=reservations)
    def charge(self, reservation: str) -> None:
        self._end(reservation, "charge", partial(charge, self.database, reservation))

    @rule(reservation=reservations)
    def forfeit(self, reservation: str) -> None:
        read = {"reason": "read", "actor": "worker"}
        self._end(reservation, "forfeit", partial(call, self.database, service.forfeit, reservation, **read))

    @rule(reservation=reservations)
    def give_back(self, reservation: str) -> None:
        self._end(
            reservation, "release", partial(give_back, self.database, reservation, block_after=BLOCK_AFTER)
        )

    @rule()
    def unblock(self) -> None:
        call(self.database, service.unblock, self.account.id, actor="curator", reason="looked into it")
        self.model.blocked, self.model.give_backs = False, 0

    @invariant()
    def agrees(self) -> None:
        found = call(self.database, service.statement, self.account.id)
        assert (found.blocked, found.consecutive_give_backs) == (self.model.blocked, self.model.give_backs)
        if not self.stream:
            assert found.charged.nano_epsilon == self.model.total("epsilon", "charge", "forfeit")
            assert found.reserved.nano_epsilon == self.model.total("epsilon", "open")
            assert found.charged.delta_atto == self.model.total("delta", "charge", "forfeit")
            return
        spend = zip(found.steps.steps, found.steps.charged_nano_epsilon, strict=True)
        assert {f"step/{t}": c for t, c in spend if c} == {
            f"step/{t}": c for t in STEPS if (c := self.model.total(f"step/{t}", "charge", "forfeit"))
        }
        committed = self.model.windows("open", "charge", "forfeit")
        assert found.remaining.nano_epsilon == CAPACITY - max(committed) >= 0
        if found.tightest_window is not None:
            first = found.tightest_window[1] - WINDOW + 1
            window = committed[first] if first >= 0 else committed[0]
            assert window == max(committed)
        assert call(self.database, audit.unsummed, self.account.id, WINDOW) == []

    def teardown(self) -> None:
        assert call(self.database, service.verify, self.account.id).violations == ()


@pytest.mark.parametrize("stream", [False, True], ids=["basic", "w-event"])
def test_the_ledger_is_its_model(module_database: Database, stream: bool) -> None:
    machine = type("Machine", (LedgerMachine,), {"database": module_database, "stream": stream})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=70,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
