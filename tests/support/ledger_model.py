"""What the ledger promises, without a database: facts in lists, added up anew for every question."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from core.errors import (
    AccountBlocked,
    AccountExposed,
    BudgetExceeded,
    Conflict,
    GraphveilError,
    InvalidInput,
    InvalidTransition,
    UnitMismatch,
)

DOMAIN = ("domain", "")
WINDOW = 3
STEPS = (0, 1, 2, 3, 4, 40, 41)  # a stream's steps, and some in its future
ORDERS = (2, 32)
BLOCK_AFTER = 2
OPEN, SPENT = ("open",), ("charge", "forfeit", "adjust")
Refusal = type[GraphveilError] | None
Amounts = dict[str, int]
Name = tuple[str, str]


@dataclass
class Line:
    """One amount in some accounts: a reservation with its ``state``, or an adjustment."""

    accounts: list[Name]
    amounts: Amounts
    state: str = "open"
    overdue: bool = False
    kept: bool = False
    digests: int = 0


@dataclass
class Model:
    """One domain's account and its quotas. Every ``..._refusal`` says how the ledger must refuse, or None."""

    shape: str
    capacity: dict[Name, tuple[int, int]]
    lines: list[Line] = field(default_factory=list)
    give_backs: int = 0
    blocked: bool = False
    exposed: bool = False

    def total(self, account: Name, dimension: str, states: tuple[str, ...]) -> int:
        mine = (line for line in self.lines if account in line.accounts and line.state in states)
        return sum(line.amounts.get(dimension, 0) for line in mine)

    def capacities(self, account: Name) -> Amounts:
        epsilon, delta = self.capacity[account]
        if self.shape == "renyi":
            toll = math.log(len(ORDERS) * 1e18 / delta)
            return {f"rdp/{a}": math.floor(epsilon - 1e9 * toll / (a - 1)) for a in ORDERS}
        return {"epsilon" if self.shape == "basic" else "untimed": epsilon, "delta": delta}

    def windows(self, account: Name, states: tuple[str, ...], asked: Amounts | None = None) -> list[int]:
        """What each window carries, untimed spend included."""

        def after(dimension: str) -> int:
            return self.total(account, dimension, states) + (asked or {}).get(dimension, 0)

        carried = {t: after(f"step/{t}") for t in STEPS}
        return [
            after("untimed") + sum(a for t, a in carried.items() if first <= t < first + WINDOW)
            for first in range(max(STEPS) + 1)
        ]

    def fits(self, account: Name, asked: Amounts) -> bool:
        room = {
            d: c - self.total(account, d, OPEN + SPENT) - asked.get(d, 0)
            for d, c in self.capacities(account).items()
        }
        if self.shape == "renyi":
            return any(left >= 0 for left in room.values())
        if self.shape == "w-event":
            epsilon = self.capacity[account][0]
            return room["delta"] >= 0 and max(self.windows(account, OPEN + SPENT, asked)) <= epsilon
        return all(left >= 0 for left in room.values())

    def spanned(self, asked: Amounts, team: str | None, project: str | None) -> list[Name]:
        named = [("team", team), ("project", project)] if any(asked.values()) else []
        return [DOMAIN, *(name for name in named if name in self.capacity)]

    def reserve_refusal(self, asked: Amounts, accounts: list[Name], unit_fits: bool) -> Refusal:
        if not unit_fits:
            return UnitMismatch
        if self.blocked:
            return AccountBlocked
        if not any(asked.values()):
            return None
        if self.exposed:
            return AccountExposed
        return None if all(self.fits(account, asked) for account in accounts) else BudgetExceeded

    def end(self, line: Line, kind: str, *, counts: bool = False, digests: int = 0) -> Refusal:
        """The line has ended so, unless that is refused. ``counts``: it moves the count of give-backs,
        as every charge does but one that is free, of nothing.
        """
        if line.state != "open":
            same = line.state == kind and line.digests == digests
            return None if same else InvalidTransition
        if kind == "charge" and any(line.amounts.values()):
            if not counts:
                return InvalidTransition
            if self.exposed:
                return AccountExposed
        if kind == "expire" and (line.kept or not line.overdue):
            return InvalidTransition
        line.state, line.digests = kind, digests
        if counts:
            self.give_backs = self.give_backs + 1 if kind == "release" else 0
            self.blocked = self.blocked or self.give_backs >= BLOCK_AFTER
        return None

    def adjust_refusal(self, account: Name, asked: Amounts) -> Refusal:
        if not any(asked.values()):
            return InvalidInput
        return None if self.fits(account, asked) else BudgetExceeded

    def grant_refusal(self, epsilon: int, delta: int, second_person: bool) -> Refusal:
        if not (epsilon or delta) or not second_person:
            return InvalidInput
        return Conflict if self.shape == "renyi" else None
