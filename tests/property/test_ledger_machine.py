"""The ledger on PostgreSQL against its model, over random lives of an account and its quotas.

Every refusal of the model is a refusal of the ledger, and the other way round; after each life the statement
of an earlier moment is the one that was made then. After all lives every invariant holds in every account,
and every chain verifies: nobody writes to an account whose life is over.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db.session import Database
from core.errors import BudgetExceeded, Conflict, GraphveilError, InvalidTransition
from core.ids import new_id
from core.ledger import history, holdings, service
from core.ledger.invariants import INVARIANTS
from graphveil.models.ledger import Budget
from tests.support.ledger import call
from tests.support.ledger_model import (
    BLOCK_AFTER,
    DOMAIN,
    OPEN,
    ORDERS,
    SPENT,
    STEPS,
    WINDOW,
    Amounts,
    Line,
    Model,
    Name,
    Refusal,
)

BILLION = 10**9
TERMS: dict[str, dict[str, Any]] = {
    "basic": {"unit": "edge", "window": None, "filter": "basic"},
    "renyi": {"unit": "edge", "window": None, "filter": "renyi", "orders": ORDERS},
    "w-event": {"unit": "w-event", "window": WINDOW, "filter": "basic"},
}
CAPACITY = {"basic": (12, 5), "renyi": (16 * BILLION, 10**12), "w-event": (12, 5)}
EXAMPLES = {"basic": 150, "renyi": 65, "w-event": 115}
FEW = {shape: lives // 5 for shape, lives in EXAMPLES.items()}
MANY = {shape: 20 * lives for shape, lives in EXAMPLES.items()}
NOW = text("SELECT clock_timestamp()")
DIGESTS = [{"edges.parquet": letter * 64} for letter in "ab"]
QUOTAS = st.sampled_from([("team", "a"), ("team", "b"), ("project", "x")])
TEAMS, PROJECTS = st.sampled_from([None, "a", "b"]), st.sampled_from([None, "x"])
SHARE = st.integers(1, 12)
SMALL = st.integers(0, 3)
ENDINGS = st.sampled_from(["charge", "charge", "forfeit", "release", "release", "expire"])
EXPIRIES = st.sampled_from([None, 3600.0, 0.0, 0.0])


WHOLE = st.fixed_dictionaries({"epsilon": st.integers(1, 6), "delta": SMALL})
UNTIMED = st.fixed_dictionaries({"untimed": st.integers(0, 3), "delta": st.just(0)})
STEPPED = st.dictionaries(st.sampled_from([f"step/{t}" for t in STEPS]), st.integers(0, 5), max_size=4)
CURVE = st.fixed_dictionaries(
    {
        f"rdp/{ORDERS[0]}": st.integers(0, 9).map(lambda n: n * 10**8),
        f"rdp/{ORDERS[1]}": st.integers(0, 9).map(lambda n: n * 10**9),
    }
)
JOBS = {"basic": st.one_of(WHOLE, WHOLE, st.just({})), "renyi": CURVE}
JOBS["w-event"] = st.one_of(STEPPED, STEPPED, UNTIMED)
OUTSIDE = {"basic": st.one_of(WHOLE, st.just({"epsilon": 0})), "renyi": CURVE, "w-event": UNTIMED}
JOB = st.runner().flatmap(lambda machine: JOBS[machine.shape])
ADJUSTMENT = st.runner().flatmap(lambda machine: OUTSIDE[machine.shape])


class LedgerMachine(RuleBasedStateMachine):
    """Each rule asks the ledger and the model the same, and compares."""

    reservations = Bundle("reservations")
    database: Database
    shape: str

    def __init__(self) -> None:
        super().__init__()
        self.connection = self.database.engine.connect()
        self.session = Session(self.connection, expire_on_commit=False)
        epsilon, delta = CAPACITY[self.shape]
        terms = {**TERMS[self.shape], "nano_epsilon": epsilon, "delta_atto": delta}
        opening = {"tenant": "acme", "domain": new_id("domain"), "actor": "curator-a", "reason": "opened"}
        # A refusal expires what the session keeps: the id is kept apart.
        self.ids = {DOMAIN: self.call(service.open_account, **opening, **terms).id}
        self.model = Model(self.shape, {DOMAIN: CAPACITY[self.shape]})
        self.told: list[tuple[datetime, Budget, int]] = []

    def call(self, operation: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """One transaction on the example's own connection."""
        with self.session.begin():
            return operation(self.session, *arguments, **named)

    def asked(self, refusal: Refusal, operation: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """The ledger's answer, or its refusal, which must be the model's."""
        if refusal is None:
            return self.call(operation, *arguments, **named)
        with pytest.raises(GraphveilError) as refused:
            self.call(operation, *arguments, **named)
        assert type(refused.value) is refusal
        return refused.value

    @rule(name=QUOTAS, share=SHARE)
    def open_quota(self, name: Name, share: int) -> None:
        capacity = (share * BILLION, 10**12) if self.shape == "renyi" else (share, 3)
        refusal = None if self.model.capacity.get(name, capacity) == capacity else Conflict
        terms = {
            "nano_epsilon": capacity[0],
            "delta_atto": capacity[1],
            "actor": "curator-a",
            "reason": "share",
        }
        scope = {"scope": name[0], "name": name[1]}
        quota = self.asked(refusal, service.open_quota, self.ids[DOMAIN], **scope, **terms)
        if refusal is None:
            self.model.capacity[name] = capacity
            assert self.ids.setdefault(name, quota.id) == quota.id

    @rule(
        target=reservations,
        asked=JOB,
        team=TEAMS,
        project=PROJECTS,
        expiry=EXPIRIES,
        stray=st.integers(0, 19),
    )
    def reserve(self, **request: Any) -> tuple[str, Line]:
        return self._reserve(**request)

    @rule(target=reservations, asked=JOB, team=TEAMS, project=PROJECTS, expiry=EXPIRIES)
    def reserve_again(self, **request: Any) -> tuple[str, Line]:
        # Twice among the rules, so that a life has something to end.
        return self._reserve(**request)

    def _reserve(
        self, asked: Amounts, team: str | None, project: str | None, expiry: float | None, stray: int = 1
    ) -> tuple[str, Line]:
        accounts = self.model.spanned(asked, team, project)
        refusal = self.model.reserve_refusal(asked, accounts, bool(stray))
        answer = self.asked(
            refusal,
            service.reserve,
            self.ids[DOMAIN],
            amounts=asked,
            unit=TERMS[self.shape]["unit"] if stray else "pair",
            window=TERMS[self.shape]["window"],
            job_id="job_1",
            actor="requester",
            expires_in_seconds=expiry,
            team=team,
            project=project,
        )
        if refusal is not None:
            if refusal is BudgetExceeded:
                self._names_the_one_that_refuses(
                    answer, [a for a in accounts if not self.model.fits(a, asked)]
                )
            return "", Line([], {})
        line = Line(accounts, asked, overdue=expiry == 0.0)
        self.model.lines.append(line)
        return answer, line

    def _names_the_one_that_refuses(self, refusal: GraphveilError, full: list[Name]) -> None:
        names = {self.ids[name]: name for name in full}
        named = names[refusal.members["account_id"]]
        assert DOMAIN not in full or named == DOMAIN
        quota = None if named == DOMAIN else {"scope": named[0], "name": named[1]}
        assert refusal.members["quota"] == quota

    @rule(reservation=reservations, kind=ENDINGS, counts=st.booleans(), digests=st.integers(0, 1))
    def end(self, reservation: tuple[str, Line], kind: str, counts: bool, digests: int) -> None:
        if not reservation[0]:
            return
        how: dict[str, tuple[Any, dict[str, Any]]] = {
            "charge": (service.charge, {"digests": DIGESTS[digests], "free": not counts}),
            "forfeit": (service.forfeit, {"reason": "read"}),
            "release": (service.release, {"reason": "lost", "give_back": counts, "block_after": BLOCK_AFTER}),
            "expire": (service.expire, {"reason": "time"}),
        }
        operation, named = how[kind]
        moves = kind == "forfeit" or (counts and kind != "expire")
        refusal = self.model.end(
            reservation[1], kind, counts=moves, digests=digests if kind == "charge" else 0
        )
        self.asked(refusal, operation, reservation[0], actor="worker", **named)

    @rule(reservation=reservations)
    def keep(self, reservation: tuple[str, Line]) -> None:
        if reservation[0]:
            ended = reservation[1].state != "open"
            self.asked(InvalidTransition if ended else None, service.keep, reservation[0])
            reservation[1].kept = not ended

    @precondition(lambda self: self.model.lines)
    @rule(kind=st.sampled_from(["unblock", "unblock", "derive", "expose"]))
    def note(self, kind: str) -> None:
        if kind == "unblock":
            self.call(service.unblock, self.ids[DOMAIN], actor="curator-a", reason="looked into it")
            self.model.blocked, self.model.give_backs = False, 0
            return
        operation = service.derive if kind == "derive" else service.expose
        note = {"job_id": "job_1", "digests": DIGESTS[0], "actor": "worker", "reason": "another sample"}
        self.call(operation, self.ids[DOMAIN], **note)
        self.model.exposed = self.model.exposed or kind == "expose"

    @rule(name=st.one_of(st.just(DOMAIN), QUOTAS), asked=ADJUSTMENT)
    def adjust(self, name: Name, asked: Amounts) -> None:
        if name in self.ids:
            refusal = self.model.adjust_refusal(name, asked)
            named = {"amounts": asked, "actor": "curator-a", "reason": "a paper's table"}
            self.asked(refusal, service.adjust, self.ids[name], **named)
            if refusal is None:
                self.model.lines.append(Line([name], asked, "adjust"))

    @rule(name=st.one_of(st.just(DOMAIN), QUOTAS), epsilon=SMALL, delta=SMALL, alone=st.integers(0, 4))
    def grant(self, name: Name, epsilon: int, delta: int, alone: int) -> None:
        if name in self.ids:
            refusal = self.model.grant_refusal(epsilon, delta, bool(alone))
            persons = {"actor": "curator-a", "approver": "curator-b" if alone else "curator-a"}
            given = {"nano_epsilon": epsilon, "delta_atto": delta, "reason": "a second wave"}
            self.asked(refusal, service.grant, self.ids[name], **given, **persons)
            if refusal is None:
                before = self.model.capacity[name]
                self.model.capacity[name] = (before[0] + epsilon, before[1] + delta)

    @rule(name=st.one_of(st.just(DOMAIN), QUOTAS))
    def look(self, name: Name) -> None:
        if name in self.ids:
            self._told(name)

    def _told(self, name: Name) -> Budget:
        """The account's statement, which must be the model's."""
        with self.session.begin():
            found = service.statement(self.session, self.ids[name])
            give_backs = holdings.snapshot(self.session, self.ids[name])[0].consecutive_give_backs
            self.told.append((self.session.execute(NOW).scalar_one(), found, give_backs))
        model, (epsilon, delta) = self.model, self.model.capacity[name]
        if name == DOMAIN:
            standing = (found.blocked, found.exposed, give_backs)
            assert standing == (model.blocked, model.exposed, model.give_backs)
        assert (found.capacity.nano_epsilon, found.capacity.delta_atto) == (epsilon, delta)
        if self.shape == "renyi":
            curve = model.capacities(name).items()
            assert found.remaining.nano_epsilon == max(
                c - model.total(name, d, OPEN + SPENT) for d, c in curve
            )
            return found
        assert found.charged.delta_atto == model.total(name, "delta", SPENT)
        assert found.reserved.delta_atto == model.total(name, "delta", OPEN)
        if self.shape == "basic":
            assert found.charged.nano_epsilon == model.total(name, "epsilon", SPENT)
            assert found.reserved.nano_epsilon == model.total(name, "epsilon", OPEN)
            return found
        committed = model.windows(name, OPEN + SPENT)
        assert found.remaining.nano_epsilon == epsilon - max(committed) >= 0
        spend = zip(found.steps.steps, found.steps.charged_nano_epsilon, strict=True)
        charged = {t: model.total(name, f"step/{t}", SPENT) for t in STEPS}
        assert {t: c for t, c in spend if c} == {t: c for t, c in charged.items() if c}
        return found

    def teardown(self) -> None:
        try:
            for name in self.ids:
                self._told(name)
            moment, then, give_backs = self.told[len(self.told) // 2]
            again = self.call(service.statement_at, then.account_id, as_of=moment)
            assert again.model_copy(update={"as_of": None}) == then
            account, _ = self.call(history.snapshot, then.account_id, moment)
            assert account.consecutive_give_backs == give_backs
        finally:
            self.connection.close()


def live(database: Database, shape: str, lives: int) -> None:
    machine = type("Machine", (LedgerMachine,), {"database": database, "shape": shape})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=lives,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    # Once for all lives, where one at a time would cost a quarter of the whole.
    for each in INVARIANTS:
        assert call(database, each.check) == []


@pytest.mark.timeout(600)  # half a minute where nothing else runs
@pytest.mark.parametrize(
    "lives", [pytest.param(FEW, id="few"), pytest.param(EXAMPLES, marks=pytest.mark.faults, id="more")]
)
@pytest.mark.parametrize("shape", EXAMPLES)
def test_the_ledger_is_its_model(database: Database, shape: str, lives: dict[str, int]) -> None:
    live(database, shape, lives[shape])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape", MANY)
def test_the_ledger_is_its_model_for_many_lives(database: Database, shape: str) -> None:
    live(database, shape, MANY[shape])
