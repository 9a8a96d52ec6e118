"""A learned model's curves and notes: what of them reaches a report, and how it is shown."""

from __future__ import annotations

import math

from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart
from core.reports.training import MAX_CURVES, MAX_POINTS, training_part
from tests.support import report_parts as parts


def learned(**changes) -> PublicPart:
    told = {
        "curves": {"generator loss": [3.0, 2.5, 2.25]},
        "notes": ("Short cells: none.",),
        "collapsed": False,
    }
    part = parts.public_part([parts.relation("knows", None, 120)])
    return part.model_copy(update={"training": training_part(**{**told, **changes})})


def test_a_long_curve_is_thinned_evenly_and_keeps_its_ends():
    (curve,) = training_part({"loss": [float(x) for x in range(5_000)]}, (), None).curves
    assert len(curve.values) == len(curve.steps) == MAX_POINTS
    assert (curve.steps[0], curve.steps[-1]) == (0, 4_999)
    assert max(b - a for a, b in zip(curve.steps, curve.steps[1:], strict=False)) <= 6
    assert list(curve.values) == [float(step) for step in curve.steps]


def test_what_is_not_finite_is_left_out_and_said():
    part = training_part({"loss": [1.0, math.nan, math.inf, 4.0]}, ("first",), None)
    assert (part.curves[0].steps, part.curves[0].values) == ((0, 3), (1.0, 4.0))
    assert part.notes == ("first", "2 points of 'loss' were not finite.")


def test_more_curves_than_a_report_shows_are_counted():
    part = training_part({f"loss {i}": [1.0, 2.0] for i in range(MAX_CURVES + 3)}, (), None)
    assert len(part.curves) == MAX_CURVES
    assert part.notes == ("3 more curves are not shown.",)


def test_the_page_draws_every_curve_and_tells_a_collapse():
    page = render(parts.report(learned()))
    assert "Generator loss" in page
    assert "Short cells: none." in page
    assert "degenerate" not in page
    assert "degenerate" in render(parts.report(learned(collapsed=True)))
    assert 'id="training"' not in render(parts.report(parts.public_part([])))


def test_the_markdown_tells_first_and_last_of_every_curve():
    text = markdown(parts.report(learned(collapsed=True)))
    assert "| generator loss | 3 | 3 | 2.25 |" in text
    assert "degenerate" in text
    assert "- Short cells: none." in text
    assert "## Training" not in markdown(parts.report(parts.public_part([])))
