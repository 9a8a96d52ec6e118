"""Recomputation of plans by the engine's accountants.

They are plans with Gaussian noise, or of a Rényi account: what integers cannot compose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphveil.errors import EvidenceRefused
from graphveil.local.engine import part


def recompute(
    plan: Mapping[str, Any], transcript: Sequence[Mapping[str, Any]], charge: Mapping[str, Any]
) -> int | None:
    """Return the plan's epsilon in 1e-9, if consistent.

    Its transcript is within it and its amounts are those charged. EvidenceRefused otherwise. EngineMissing
    where there is no engine.
    """
    plans, meter, errors = part("privacy.accounting.plan"), part("privacy.accounting.meter"), part("errors")
    try:
        planned = plans.PrivacyPlan.from_json(plan)
        meter.replay(planned, [meter.TranscriptEntry.from_json(each) for each in transcript])
        amounts = planned.spend(charge["filter"], tuple(charge["orders"] or ()))
        cost = planned.cost()
    except errors.GraphveilError as error:
        raise EvidenceRefused("transcript.json", error.message) from error
    expected = {} if charge["sample_of"] else {name: each for name, each in amounts.items() if each}
    if {name: each for name, each in charge["amounts"].items() if each} != expected:
        raise EvidenceRefused("charge.json", "other amounts were charged than the plan comes to")
    nano_epsilon: int | None = cost.nano_epsilon
    return nano_epsilon
