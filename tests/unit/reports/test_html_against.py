"""Charts of methods side by side: every method shown, nothing outside the picture, texts escaped."""

from __future__ import annotations

import re

from graphveil.pages.against import Compared, Panel, Spread, against, comparison_page

HOSTILE = "<script>alert(1)</script>"


def panel(reference: float | None, *rows: tuple[float | None, ...], deviation: float | None = 0.1) -> Panel:
    spreads = {
        f"m{index}": [None if value is None else Spread(value, deviation, 3) for value in row]
        for index, row in enumerate(rows)
    }
    return Panel("Title", "What it means.", "lower is closer", reference, spreads)


def heights(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r"[ML][-0-9.]+ ([-0-9.]+)", svg)]


def test_lines_whiskers_and_the_original_stay_inside():
    for reference in (None, 7.0, -3.0):
        for rows in ([(0.5, 1.0, 2.0), (-1.0, None, 3.0)], [(1e-6, 2e-6, 3e-6)], [(0.0, 0.0, 0.0)]):
            figure = against(
                "u", panel(reference, *rows), ["0.1", "1", "10"], [f"m{i}" for i in range(len(rows))]
            )
            assert all(0 <= y <= 240 for y in heights(str(figure.svg)))


def test_the_table_holds_means_and_deviations():
    figure = against("u", panel(0.7, (0.5, None), (1.0, 2.0)), ["0.5", "2"], ["m0", "m1"])
    assert figure.header == ("Epsilon", "m0", "± sd", "m1", "± sd")
    assert figure.rows[0] == ("0.5", 0.5, 0.1, 1.0, 0.1)
    assert figure.rows[1] == ("2", None, None, 2.0, 0.1)
    assert figure.rows[2] == ("original", 0.7, None, 0.7, None)


def test_one_epsilon_and_one_run_are_drawn_without_line_or_whisker():
    figure = against("u", panel(None, (0.5,), deviation=None), ["1"], ["m0"])
    assert 'class="mark type-0"' in figure.svg
    assert 'class="line' not in figure.svg


def test_methods_differ_by_more_than_colour():
    rows = [(0.1 * k, 0.2 * k) for k in range(16)]
    figure = against("u", panel(None, *rows), ["1", "2"], [f"m{i}" for i in range(16)])
    assert len(set(figure.keys)) == 16


def test_the_page_escapes_and_leaves_empty_metrics_out():
    full, empty = panel(None, (0.5,)), panel(None, (None,))
    page = comparison_page(Compared(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], ["1"], ["m0"], [full, empty], 0))
    assert HOSTILE not in page
    assert page.count("<svg") == 1
    assert "have no release" not in page
    assert page == comparison_page(
        Compared(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], ["1"], ["m0"], [full, empty], 0)
    )
