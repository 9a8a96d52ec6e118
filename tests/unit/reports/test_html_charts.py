"""Charts and numbers: what is drawn is where its value says, and no number is rounded to another meaning."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.reports.html import charts
from core.reports.statistics import Drawing
from graphveil.pages.numbers import nano, number, percent_text, plain, relative, size, tick
from graphveil.pages.svg import Plot, n, nice_ticks

finite = st.floats(-1e12, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (1234567.0, "1,234,567"),
        (12345.678, "12,346"),
        (0.03124, "0.0312"),
        (-0.0394, "−0.0394"),
        (999.96, "1000"),
        (2.1e-7, "2.1×10⁻⁷"),
        (-3e20, "−3×10²⁰"),
    ],
)
def test_numbers_have_three_digits_and_separators(value, text):
    assert plain(value) == text


@given(finite)
def test_a_shown_number_is_within_half_a_percent(value):
    text = plain(value).replace("−", "-").replace(",", "")
    if "×10" in text:
        mantissa, power = text.split("×10")
        signs = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
        read = float(f"{mantissa}e{power.translate(signs)}")
    else:
        read = float(text)
    assert read == pytest.approx(value, rel=0.0051, abs=0)


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_no_share_is_rounded_to_never_or_to_always(share):
    assert percent_text(share) not in ("0\N{NO-BREAK SPACE}%", "100\N{NO-BREAK SPACE}%")


def test_other_numbers():
    assert percent_text(0.5).replace("\N{NO-BREAK SPACE}", " ") == "50 %"
    assert [tick(v) for v in (0, 20000, 1.5e6, 0.25, -3000)] == ["0", "20k", "1.5M", "0.25", "−3k"]
    assert [size(v) for v in (12, 12345, 5_000_000)] == ["12 B", "12.3 kB", "5 MB"]
    assert [nano(v) for v in (None, 0, 1, 10**9, 1_500_000_000)] == ["–", "0", "0.000000001", "1", "1.5"]
    assert 'value="0.1234567"' in number(0.1234567)
    assert "undefined" in number(None)
    assert "12.5×" in relative(12.5)
    assert "&gt; 10⁶" in relative(1e15) or "> 10⁶" in relative(1e15)


@given(finite, finite)
def test_ticks_are_few_even_and_enclose_the_values(one, other):
    low, high = min(one, other), max(one, other)
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    slack = 1e-6 * max(abs(low), abs(high), 1e-300) + 1e-9
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert ticks == sorted(set(ticks))


def squares(svg: str) -> list[tuple[float, float]]:
    """The centres of the square markers."""
    data = "".join(re.findall(r'class="mark synthetic" d="([^"]*)"', svg))
    found = re.findall(r"M([\d.-]+) ([\d.-]+)h([\d.]+)", data)
    return [(float(x) + float(w) / 2, float(y) + float(w) / 2) for x, y, w in found]


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_a_curve_goes_where_its_values_are(values):
    figure = charts.curves("u", "t", "d", list(range(len(values))), {"synthetic": values})
    assert figure is not None
    top = nice_ticks(0, max(values))[-1]
    plot = Plot()
    for (x, y), step, value in zip(squares(figure.svg), range(len(values)), values, strict=True):
        assert x == pytest.approx(plot.x(step / (len(values) - 1)), abs=0.11)
        assert y == pytest.approx(plot.y(value / top), abs=0.11)


def test_a_gap_breaks_a_curve_and_a_lonely_point_is_marked():
    values = [1.0, 2.0, None, 4.0, None, 6.0, 7.0]
    figure = charts.curves("u", "t", "d", range(7), {"synthetic": values})
    assert figure is not None
    assert re.findall(r'class="line synthetic" d="([^"]*)"', figure.svg)[0].count("M") == 2
    assert len(squares(figure.svg)) == 5
    long = [None if i % 2 else float(i) for i in range(100)]
    lonely = charts.curves("u", "t", "d", range(100), {"synthetic": long})
    assert lonely is not None
    assert len(squares(lonely.svg)) == 50


@pytest.mark.parametrize("values", [[None, None], [3.0]])
def test_nothing_to_draw_is_no_figure(values):
    assert charts.curves("u", "t", "d", range(len(values)), {"synthetic": values}) is None


def test_a_long_table_is_thinned_and_keeps_both_ends():
    figure = charts.curves("u", "t", "d", range(366), {"synthetic": [float(i) for i in range(366)]})
    assert figure is not None
    assert figure.thinned == 366
    assert len(figure.rows) == charts.MAX_ROWS
    assert (figure.rows[0], figure.rows[-1]) == ((0, 0.0), (365, 365.0))


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e7)), min_size=1, max_size=24))
def test_degrees_stand_on_a_logarithmic_axis_and_empty_bins_at_its_foot(nodes):
    bins = [(2**k, 2 ** (k + 1) - 1) for k in range(len(nodes))]
    figure = charts.degrees("u", "t", "d", bins, {"synthetic": nodes})
    if not any(nodes):
        assert figure is None
        return
    assert figure is not None
    found = squares(figure.svg)
    assert len(found) == len(nodes)
    order = sorted(range(len(nodes)), key=lambda k: nodes[k])
    heights = [found[k][1] for k in order]
    assert all(above <= below + 0.11 for below, above in pairwise(heights))
    foot = Plot().y(0)
    assert all((abs(y - foot) < 0.11) for (_, y), v in zip(found, nodes, strict=True) if v == 0)


def test_bars_are_as_long_as_their_shares():
    figure = charts.bars("u", "t", "d", ["a", "b"], {"synthetic": [0.5, 0.25]})
    assert figure is not None
    lengths = [float(v) for v in re.findall(r'class="bar synthetic" d="M\d+ \d+h([\d.]+)', figure.svg)]
    assert lengths[0] == pytest.approx(2 * lengths[1], abs=0.1)
    assert charts.bars("u", "t", "d", ["a"], {"synthetic": [None]}) is None


def test_dots_and_their_intervals_lie_on_one_scale():
    dot = charts.Dot("synthetic", 0.75, 0.5, 1.0)
    figure = charts.dots("u", "t", "d", [("label", [dot])], 0.5)
    plot = Plot(left=10, right=14)
    ((x, _),) = squares(figure.svg)
    assert x == pytest.approx(plot.x(0.75), abs=0.1)
    low, high = re.findall(r'class="line synthetic" d="M([\d.]+) [\d.]+H([\d.]+)"', figure.svg)[0]
    assert (float(low), float(high)) == pytest.approx((plot.x(0.5), plot.x(1.0)), abs=0.1)
    assert re.findall(r'class="guessing" d="M([\d.]+)', figure.svg) == [n(plot.x(0.5))]


def test_a_drawing_holds_every_edge_and_every_node():
    drawn = Drawing.model_validate(
        {
            "nodes": [{"type": kind, "x": i / 4, "y": 0.5} for i, kind in enumerate("aabbc")],
            "edges": [[0, 1], [1, 2], [3, 4]],
        }
    )
    figure = charts.drawing("u", "t", "d", drawn, ["a", "b", "c"])
    assert re.findall(r'class="edge" d="([^"]*)"', figure.svg)[0].count("M") == 3
    counts = [data.count("M") for data in re.findall(r'class="node type-\d" d="([^"]*)"', figure.svg)]
    assert counts == [2, 2, 1]
    assert len({charts.type_style(k) for k in range(16)}) == 16


@pytest.mark.parametrize("value", [0.0, 0.1, 4.9, 5.0, 9.99, 10.0])
def test_a_dial_is_filled_in_proportion(value):
    svg = charts.dial("u", "Utility", value, "fair")
    arc = re.findall(r'class="fill fair" d="M60 10A50 50 0 ([01]) 1 ([\d.]+) ([\d.]+)"', svg)
    if value == 0:
        assert not arc
        return
    large, x, y = arc[0]
    turn = math.atan2(float(x) - 60, 60 - float(y)) % (2 * math.pi)
    assert turn == pytest.approx(2 * math.pi * value / 10, abs=0.01)
    assert int(large) == (value > 5)
