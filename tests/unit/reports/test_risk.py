"""What somebody can learn of one unit: a bound that no mechanism passes, and that one reaches."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from core.reports import risk
from core.reports.html.render import render
from core.reports.html.wording import right_at_most
from core.reports.markdown import markdown
from core.reports.model import Charge, Report
from graphveil.cli import console
from graphveil.cli.render_report import report as terminal
from graphveil.pages.numbers import at_most
from tests.support.reports import static


@pytest.mark.parametrize("prior", [0.001, 0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_reaches_the_bound(prior: float, epsilon: float):
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    posterior = prior * kept / (prior * kept + (1 - prior) * (1 - kept))
    assert risk.posterior_at_most(prior, epsilon, 0) == pytest.approx(posterior)


def test_no_mechanism_of_that_epsilon_and_delta_passes_it():
    """Random pairs of laws over five outcomes, every set of them, each prior."""
    draw = random.Random(7)
    tight = 0.0
    for _ in range(2000):
        first, second = _law(draw), _law(draw)
        sets = [s for size in range(1, 6) for s in itertools.combinations(range(5), size)]
        sums = [(sum(first[i] for i in s), sum(second[i] for i in s)) for s in sets]
        epsilon = draw.uniform(0.05, 2)
        delta = max(0.0, *(max(p - math.exp(epsilon) * q, q - math.exp(epsilon) * p) for p, q in sums))
        for prior in (0.01, 0.1, 0.5):
            bound = risk.posterior_at_most(prior, epsilon, delta)
            for p, q in sums:
                if q >= risk.RAREST:
                    after = prior * p / (prior * p + (1 - prior) * q)
                    assert after <= bound + 1e-12
                    tight = max(tight, after / bound)
    assert tight > 0.9


def _law(draw: random.Random) -> list[float]:
    weights = [draw.expovariate(1) + 0.05 for _ in range(5)]
    return [weight / sum(weights) for weight in weights]


def test_ends():
    assert risk.posterior_at_most(0, 900, 0) == 0
    assert risk.posterior_at_most(1, 0.1, 0) == 1
    assert risk.posterior_at_most(0.5, 900, 0) == 1
    assert risk.posterior_at_most(0.5, 1, 0) == pytest.approx(right_at_most(1, 0))
    assert risk.posterior_at_most(0.1, 0, 0) == pytest.approx(0.1)


def _charged(exposed: bool = False) -> Charge:
    return Charge(
        account_id="acc_1",
        filter="basic",
        charged={"epsilon": 10**9},
        remaining={"epsilon": 2 * 10**9, "delta": 0},
        charged_epsilon="1",
        remaining_epsilon="2",
        spent_epsilon="2",
        spent_delta="0",
        capacity_epsilon="4",
        capacity_delta="0",
        exposed=exposed,
    )


def test_a_row_each_for_the_release_for_all_of_them_and_for_the_whole_budget():
    public = static().model_copy(update={"charge": _charged()})
    rows = risk.learned(public)
    assert [row.epsilon for row in rows] == [public.guarantee.epsilon, "2", "4"]
    assert [row.after for row in rows] == sorted(row.after for row in rows)
    page = render(Report(public=public))
    assert 'id="risk"' in page
    assert "ε 2 remains for others" in page
    assert "All that was paid for until now" in markdown(Report(public=public))


def test_what_the_account_comes_to_is_not_said_where_nothing_bounds_it():
    public = static().model_copy(update={"charge": _charged(exposed=True)})
    assert len(risk.learned(public)) == 1
    assert "nothing bounds what all of its releases tell" in render(Report(public=public))


def test_without_a_guarantee_there_is_no_bound():
    public = static()
    none = public.guarantee.model_copy(update={"kind": "none", "epsilon": None, "delta": None})
    public = public.model_copy(update={"guarantee": none, "charge": _charged()})
    assert risk.learned(public) == []
    assert 'id="risk"' not in render(Report(public=public))


def test_under_a_delta_the_page_says_of_which_claims_it_holds():
    public = static()
    approximate = public.guarantee.model_copy(update={"kind": "approximate", "delta": "0.000001"})
    page = render(Report(public=public.model_copy(update={"guarantee": approximate})))
    assert "of rarer ones delta says less" in page


def test_a_terminal_shows_the_same_rows_as_the_page(monkeypatch: pytest.MonkeyPatch):
    public = static().model_copy(update={"charge": _charged()})
    monkeypatch.setattr(console.out, "width", 200, raising=False)
    with console.out.capture() as shown:
        terminal({"public": public.model_dump(mode="json")})
    lines = shown.get().splitlines()
    for row in risk.learned(public):
        (line,) = (each for each in lines if row.title in each)
        assert f"epsilon {row.epsilon}" in line
        assert all(at_most(share) in line for share in row.after)
    with console.out.capture() as shown:
        terminal({"public": public.model_copy(update={"charge": None}).model_dump(mode="json")})
    assert "Once the whole budget" not in shown.get()
