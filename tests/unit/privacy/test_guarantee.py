import json

import pytest

from core.errors import InvalidInput, PlanExceeded, UnmeteredFit
from core.privacy.events import NANO, GaussianEvent, Pure, Unprotected
from core.privacy.guarantee import guarantee_of
from core.privacy.meter import TranscriptEntry
from core.privacy.plan import Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit


def made(event, *, unit=Unit.EDGE, window=None, steps=1, delta_atto=0, cell=("e", None)):
    plan = PrivacyPlan("test", unit, window, steps, (Allotment(*cell, event, "p"),), delta_atto)
    return plan, (TranscriptEntry(0, *cell, event, "p"),)


def test_the_plan_is_printed_even_when_less_was_spent():
    plan, _ = made(Pure(NANO, "laplace"))
    guarantee = guarantee_of(plan, [TranscriptEntry(0, "e", None, Pure(5, "laplace"), "p")], 0)
    assert (guarantee.kind, guarantee.epsilon, guarantee.delta) == (GuaranteeKind.PURE, 1.0, 0.0)
    assert "any one edge of the graph" in guarantee.statement
    assert "exp(1)" in guarantee.statement
    assert any("exact" in note for note in guarantee.assurance)
    json.dumps(guarantee.to_json(), allow_nan=False)


def test_w_event_names_its_window():
    plan, transcript = made(Pure(NANO // 4, "x"), unit=Unit.W_EVENT, window=7, steps=30, cell=("t", 3))
    guarantee = guarantee_of(plan, transcript, 0)
    assert guarantee.epsilon == 0.25
    assert "any 7 consecutive timestamps" in guarantee.statement
    assert "exp(0.25)" in guarantee.statement


def test_a_snapshot_of_a_stream_prints_what_a_window_of_the_stream_may_cost():
    """Its release follows from the snapshots before it too, so its own step's part would be too little."""
    plan, transcript = made(Pure(NANO // 20, "x"), unit=Unit.W_EVENT, window=10, cell=("t", 0))
    guarantee = guarantee_of(plan, transcript, 0, NANO)
    assert (guarantee.nano_epsilon, guarantee.window) == (NANO, 10)
    assert "any 10 consecutive timestamps" in guarantee.statement
    assert "exp(1)" in guarantee.statement
    assert "one edge at this timestamp alone by at most exp(0.05)" in guarantee.statement
    with pytest.raises(PlanExceeded):
        guarantee_of(plan, transcript, 0, NANO // 20 - 1)


def test_approximate_guarantees_name_their_delta():
    plan, transcript = made(GaussianEvent(4), delta_atto=10**12)
    guarantee = guarantee_of(plan, transcript, 10**12)
    assert guarantee.kind is GuaranteeKind.APPROXIMATE
    assert guarantee.nano_epsilon == plan.cost().nano_epsilon
    assert guarantee.delta == pytest.approx(1e-6)
    with pytest.raises(InvalidInput):
        guarantee_of(plan, transcript, 10**9)
    nameless, transcript = made(GaussianEvent(4))
    with pytest.raises(InvalidInput):
        guarantee_of(nameless, transcript, 0)


def test_unprotected_gives_none_with_its_reason():
    plan, transcript = made(Unprotected("follows the paper to the letter"), cell=("*", None))
    guarantee = guarantee_of(plan, transcript, 0)
    assert guarantee.kind is GuaranteeKind.NONE
    assert guarantee.epsilon is None
    assert guarantee.reasons == ("follows the paper to the letter",)
    assert "No privacy guarantee" in guarantee.statement


def test_no_guarantee_without_a_fitting_transcript():
    plan, transcript = made(Pure(10, "laplace"))
    with pytest.raises(UnmeteredFit):
        guarantee_of(plan, (), 0)
    with pytest.raises(PlanExceeded):
        guarantee_of(plan, [*transcript, TranscriptEntry(1, "e", None, Pure(1, "laplace"), "p")], 0)
