import json
import math
import re
from decimal import Decimal

import pytest

from core.errors import InvalidInput, PlanExceeded, UnmeteredFit
from core.privacy.accounting.events import NANO, GaussianEvent, Pure, Unprotected
from core.privacy.accounting.guarantee import MARK, guarantee_of
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import DECLARED, Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit


def made(event, *, unit=Unit.EDGE, window=None, steps=1, delta_atto=0, cell=("e", None)):
    plan = PrivacyPlan("test", unit, window, steps, (Allotment(*cell, event, "p"),), delta_atto)
    return plan, (TranscriptEntry(0, *cell, event, "p"),)


def test_the_plan_is_printed_even_when_less_was_spent():
    plan, _ = made(Pure(NANO, "laplace"))
    guarantee = guarantee_of(plan, [TranscriptEntry(0, "e", None, Pure(5, "laplace"), "p")], 0)
    assert (guarantee.kind, guarantee.epsilon, guarantee.delta) == (GuaranteeKind.PURE, 1.0, 0.0)
    assert "any one edge of the graph" in guarantee.statement
    assert "P[S] <= e^1 P'[S] for every set S" in guarantee.statement
    assert "P[S] <= e^2 P'[S]" in guarantee.statement
    assert "+" not in guarantee.statement
    assert any("exact" in note for note in guarantee.assurance)
    json.dumps(guarantee.to_json(), allow_nan=False)


def test_w_event_names_its_window():
    plan, transcript = made(Pure(NANO // 4, "x"), unit=Unit.W_EVENT, window=7, steps=30, cell=("t", 3))
    guarantee = guarantee_of(plan, transcript, 0)
    assert guarantee.epsilon == 0.25
    assert "any 7 consecutive timestamps" in guarantee.statement
    assert "P[S] <= e^0.25 P'[S] for every set S" in guarantee.statement


def test_a_snapshot_of_a_stream_prints_what_a_window_of_the_stream_may_cost():
    """Its release follows from the snapshots before it too, so its own step's part would be too little."""
    plan, transcript = made(Pure(NANO // 20, "x"), unit=Unit.W_EVENT, window=10, cell=("t", 0))
    guarantee = guarantee_of(plan, transcript, 0, NANO)
    assert (guarantee.nano_epsilon, guarantee.window) == (NANO, 10)
    assert "any 10 consecutive timestamps" in guarantee.statement
    assert "P[S] <= e^1 P'[S] for every set S" in guarantee.statement
    assert "one edge at this timestamp alone: P[S] <= e^0.05 P'[S]" in guarantee.statement
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


def added(statement: str) -> list[str]:
    """What the statement's inequalities add to e^epsilon P'[S], in order."""
    return re.findall(r"P\[S\] <= e\^[0-9.]+ P'\[S\] \+ ([0-9.e-]*[0-9])", statement)


def test_an_approximate_guarantee_is_an_inequality_and_no_bound_on_a_tail():
    """Where the loss passes epsilon with a probability above delta, "except with" would be false.

    One Gaussian read, at the epsilon of its own conversion: P[loss > eps] against the sentence as it stands.
    """
    sigma, delta_atto = 4.0, 10**17
    plan, transcript = made(GaussianEvent(sigma), delta_atto=delta_atto)
    guarantee = guarantee_of(plan, transcript, delta_atto)
    assert "except with" not in guarantee.statement
    assert "factor" not in guarantee.statement
    epsilon = guarantee.nano_epsilon / NANO
    assert f"P[S] <= e^{epsilon:.9f}".rstrip("0") in guarantee.statement
    assert added(guarantee.statement)[0] == "0.1"
    beyond = gaussian_tail(epsilon * sigma + 0.5 / sigma)
    passes = gaussian_tail(epsilon * sigma - 0.5 / sigma)
    assert passes - math.exp(epsilon) * beyond <= 0.1  # the sentence
    assert passes > 0.1  # "with probability at most delta the loss is larger" is not what it says


@pytest.mark.parametrize("delta_atto", [1_234_000_000_001, 1_230_000_000_001, 999_900_000_000_000, 7, 10**12])
def test_a_printed_delta_is_never_below_the_true_one(delta_atto: int):
    """``:.3g`` of 1.234000000001e-6 is 1.23e-6: a smaller delta than the job was charged for."""
    plan, transcript = made(GaussianEvent(30), delta_atto=delta_atto)
    guarantee = guarantee_of(plan, transcript, delta_atto)
    true, epsilon = Decimal(delta_atto).scaleb(-18), Decimal(guarantee.nano_epsilon).scaleb(-9)
    one, two = (Decimal(text) for text in added(guarantee.statement))
    assert true <= one <= true * Decimal("1.01")
    doubled = (1 + epsilon.exp()) * true
    assert doubled <= two <= doubled * Decimal("1.01")
    assert f"P[S] <= e^{2 * epsilon.normalize():f} P'[S]" in guarantee.statement


def test_two_changes_of_which_nothing_is_said_are_told_so():
    plan, transcript = made(GaussianEvent(0.5), delta_atto=10**17)
    guarantee = guarantee_of(plan, transcript, 10**17)
    assert (1 + math.exp(guarantee.nano_epsilon / NANO)) * 0.1 > 1
    assert len(added(guarantee.statement)) == 1
    assert "of which this says nothing" in guarantee.statement


def gaussian_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


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


@pytest.mark.parametrize("unit", list(Unit))
def test_what_plans_no_read_has_a_guarantee_of_its_own_and_takes_none(unit):
    window = 2 if unit is Unit.W_EVENT else None
    plan = PrivacyPlan(DECLARED, unit, window, 3, ())
    assert PrivacyPlan.from_json(plan.to_json()) == plan
    guarantee = guarantee_of(plan, (), 0)
    assert (guarantee.kind, guarantee.nano_epsilon, guarantee.delta_atto) == (GuaranteeKind.UNREAD, 0, 0)
    assert guarantee.statement.startswith(MARK)
    assert not any(plan.spend("basic").values())
    if unit is not Unit.W_EVENT:
        assert plan.spend("renyi", (2, 8)) == {"rdp/2": 0, "rdp/8": 0}
    for event in (Pure(1, "laplace"), Unprotected("why")):
        with pytest.raises(PlanExceeded):
            guarantee_of(plan, [TranscriptEntry(0, "e", None, event, "p")], 0)


def test_no_method_but_declarations_plans_nothing_and_they_plan_nothing_else():
    read = Allotment("e", None, Pure(1, "laplace"), "p")
    for method, allotments, delta in (("dcsbm", (), 0), (DECLARED, (read,), 0), (DECLARED, (), 1)):
        with pytest.raises(InvalidInput):
            PrivacyPlan(method, Unit.EDGE, None, 1, allotments, delta)
