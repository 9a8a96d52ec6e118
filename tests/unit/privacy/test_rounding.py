"""What rounding allows for is tied to the network's size, and printed as it is computed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from core.errors import PrivacyViolation
from core.privacy import rounding
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import gradients
from core.privacy.units import Unit

pytestmark = pytest.mark.papers

LONGEST = rounding.LONGEST_CHAIN
"""With one output more than a chain may have."""


@pytest.fixture(autouse=True)
def _float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def session(module: torch.nn.Module) -> gradients.DpSgdSession:
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    return gradients.DpSgdSession(
        DpSgd(Fraction(1), Fraction(2), 1), module, optimiser, clip=1.0, divisor=1.0
    )


def test_a_chain_is_as_long_as_its_products_are_wide() -> None:
    shapes = [(8, 500), (8,), (1, 8), ()]
    assert rounding.chain_of(shapes) == 508 + 8 + 9 + 1
    rounding.require_covered(shapes)


@pytest.mark.parametrize(("width", "taken"), [(LONGEST - 1, True), (LONGEST, False)])
def test_a_network_of_longer_sums_is_refused_off_the_cpu(width: int, taken: bool) -> None:
    """On a CPU nothing is made of the bound; off it a network that is not covered is never trained."""
    long = torch.nn.Linear(width, 1, bias=False)
    session(long)
    away = torch.nn.Linear(width, 1, bias=False, device="meta")
    if taken:
        session(away)
        return
    with pytest.raises(PrivacyViolation, match="terms one after another"):
        session(away)


def test_a_predictor_too_wide_for_a_gpu_is_trained_on_the_cpu() -> None:
    from papers.hetesdg.sound.topo import place_for

    assert place_for(60, 40) is None
    assert place_for(LONGEST, 40) == torch.device("cpu")


def test_a_network_of_more_tensors_is_refused_off_the_cpu() -> None:
    def deep(tensors: int) -> torch.nn.Module:
        return torch.nn.Sequential(*(torch.nn.Linear(1, 1, bias=False) for _ in range(tensors))).to("meta")

    session(deep(rounding.MOST_TENSORS))
    with pytest.raises(PrivacyViolation, match="tensors of parameters"):
        session(deep(rounding.MOST_TENSORS + 1))


@pytest.mark.parametrize("multiplier", [Fraction(2), Fraction(100)])
def test_the_assurance_prints_what_training_allows_for(multiplier: Fraction) -> None:
    event = DpSgd(Fraction(1, 2), multiplier, 3).event
    plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, event, "x"),), 10**12)
    (note,) = guarantee_of(plan, [TranscriptEntry(0, "edge", None, event, "x")], 10**12).assurance
    radius = rounding.radius_of(multiplier)
    cpu = rounding.place_slack(radius, "cpu", 1)
    assert f"at most {cpu} grid steps on a CPU" in note
    assert f"GPU by at most {rounding.place_slack(radius, 'cuda', 1)}," in note
    assert f"the clipping norm has {radius}" in note
    # The root of the number of trained values takes the cut's place, as the note says.
    more = rounding.place_slack(radius, "cuda", 10**6) - rounding.place_slack(radius, "cuda", 1)
    assert more == math.isqrt(10**6 - 1) + 1 - cpu
