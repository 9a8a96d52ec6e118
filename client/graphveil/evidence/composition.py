"""The cost and the check of pure plans, in integers.

What a plan costs and whether a transcript lies within it. Written apart from the engine, so that a pack's
arithmetic is done twice. Plans with Gaussian noise are converted only by the engine:
:mod:`graphveil.local.composition`.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from graphveil.errors import EvidenceRefused
from graphveil.evidence.signatures import canonical

PLAN, TRANSCRIPT = "plan.json", "transcript.json"
NANO = 10**9
Event = Mapping[str, Any]
Cell = tuple[str, "int | None"]


def plan_digest(plan: Mapping[str, Any]) -> str:
    """Compute the digest that reservation, report and job name."""
    return hashlib.sha256(canonical(plan)).hexdigest()


def unprotected(event: Event) -> bool:
    """Tell whether the event hands the raw graph out."""
    inner = [*event.get("events", ()), *event.get("branches", ()), *filter(None, [event.get("event")])]
    return event["kind"] == "unprotected" or any(map(unprotected, inner))


def pure(event: Event) -> int | None:
    """Compute the event's pure epsilon in 1e-9. None where it has none. EvidenceRefused: unknown event."""
    match event["kind"]:
        case "pure":
            return int(event["nano_epsilon"])
        case "gaussian" | "unprotected":
            return None
        case "poisson_sampled":
            inner = pure(event["event"])
            return None if inner is None else _amplified(inner, Fraction(event["rate"]))
        case "repeated":
            inner = pure(event["event"])
            return None if inner is None else inner * int(event["times"])
        case "composed":
            parts = [pure(each) for each in event["events"]]
            return None if None in parts else sum(part or 0 for part in parts)
        case "parallel":
            parts = [pure(each) for each in event["branches"]]
            return None if None in parts else max(part or 0 for part in parts)
        case other:
            raise EvidenceRefused(PLAN, f"it holds an event that is not known: {other}")


def _amplified(nano: int, rate: Fraction) -> int:
    """Compute ln(1 + q (e^eps - 1)), rounded up: what sampling at rate q leaves of a pure epsilon."""
    epsilon = nano / NANO
    if epsilon > 500:
        return nano
    amplified = math.log1p(float(rate) * math.expm1(epsilon)) * (1 + 1e-12)
    return min(nano, max(1, math.ceil(amplified * NANO)))


def cells_of(plan: Mapping[str, Any]) -> dict[Cell, int] | None:
    """Sum each cell's allotments, in 1e-9. None where an allotment is not pure."""
    sums: dict[Cell, int] = defaultdict(int)
    for each in plan["allotments"]:
        amount = pure(each["event"])
        if amount is None:
            return None
        sums[each["edge_type"], each["step"]] += amount
    return dict(sums)


def amounts_of(plan: Mapping[str, Any], cells: Mapping[Cell, int]) -> tuple[int, dict[str, int]]:
    """Compute the plan's epsilon and charged amounts, in 1e-9.

    The amounts are what a basic account is charged, by the rules of its unit.
    """
    steps = [0] * int(plan["steps"])
    untimed = 0
    for (_, step), amount in cells.items():
        if step is None:
            untimed = max(untimed, amount)
        else:
            steps[step] = max(steps[step], amount)
    match plan["unit"]:
        case "edge" | "event":
            total = max(untimed, *steps)
        case "pair" | "node":
            total = sum(cells.values())
        case "w-event":
            first, window = int(plan["first_step"]), int(plan["window"])
            ends = range(max(1, len(steps) - window + 1))
            total = untimed + max(sum(steps[end : end + window]) for end in ends)
            by_step = {f"step/{first + t}": amount for t, amount in enumerate(steps)}
            return total, {"untimed": untimed, **by_step, "delta": 0}
        case other:
            raise EvidenceRefused(PLAN, f"it is of a unit that is not known: {other}")
    return total, {"epsilon": total, "delta": 0}


def check_within(cells: Mapping[Cell, int], transcript: Sequence[Mapping[str, Any]]) -> None:
    """Check that no cell's reads exceed its allotment.

    EvidenceRefused otherwise. A member of a parallel group is paid by the group's own entry, up to its
    branch's share.
    """
    left = dict(cells)
    branches: dict[tuple[int, int], int] = {}
    for expected, entry in enumerate(transcript):
        place = f"{TRANSCRIPT}, line {expected}"
        if entry["sequence"] != expected:
            raise EvidenceRefused(place, "it is out of sequence")
        amount = pure(entry["event"])
        cell = (entry["edge_type"], entry["step"])
        group, branch = entry["group"], entry["branch"]
        if amount is None:
            raise EvidenceRefused(place, "it reads in a way that the plan does not allow")
        if group is None:
            if amount > left.get(cell, 0):
                raise EvidenceRefused(place, "it reads more of its cell than the plan allots")
            left[cell] -= amount
        else:
            payer = transcript[group] if 0 <= group < expected else None
            if payer is None or (payer["edge_type"], payer["step"]) != cell:
                raise EvidenceRefused(place, "its group has not paid for it")
            if amount > branches.get((group, branch), 0):
                raise EvidenceRefused(place, "it reads more of its branch than its group has paid for")
            branches[group, branch] -= amount
        if entry["event"]["kind"] == "parallel":
            shares = [pure(each) or 0 for each in entry["event"]["branches"]]
            branches.update({(expected, index): share for index, share in enumerate(shares)})
