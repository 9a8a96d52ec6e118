"""Which shares are chosen on the other graphs, and what that costs on the one that was left out."""

from __future__ import annotations

import pytest

from benchmarks.person_shares import chosen, error_of, regrets, tables

ERRORS = {"a": (0.1, 0.3), "b": (0.4, 0.2), "c": (0.3, 0.2)}


def lines() -> list[dict]:
    return [
        {
            "method": "profiles",
            "graph": graph,
            "label": label,
            "epsilon": 1.0,
            "run": run,
            "error": error + off,
        }
        for graph, errors in ERRORS.items()
        for label, error in zip(("default", "other"), errors, strict=True)
        for run, off in enumerate((-0.01, 0.01))
    ]


def test_regret_is_what_the_best_candidate_would_have_saved():
    found = regrets(lines(), "profiles")
    assert found["a"] == pytest.approx({"default": 0.0, "other": 0.2})
    assert found["b"] == pytest.approx({"default": 0.2, "other": 0.0})
    assert not regrets(lines(), "projection")
    begun = {"method": "profiles", "graph": "d", "label": "default", "epsilon": 1.0, "run": 0, "error": 0.1}
    assert regrets([*lines(), begun], "profiles") == found


def test_a_choice_does_not_look_at_the_graph_that_is_left_out():
    found = regrets(lines(), "profiles")
    assert chosen(found, "a") == "other"  # best on b and c, and .2 off on a
    assert chosen(found, "b") == "default"
    (row,) = (line for line in tables(lines()) if line.startswith("| a "))
    assert row == "| a | 0.000 | 0.200 | other | 0.200 |"


def test_an_error_is_the_mean_of_its_figures():
    things = {"TV persons": 0.1, "TV things": 0.2, "L1 things": 3.0, "AUC-items": 0.6, "best AUC": 0.8}
    assert error_of("profiles", things) == pytest.approx((0.1 + 0.2 + 1 + 0.2) / 4)
    people = {"degree TV": 0.1, "density RE": 0.0, "triangles RE": 0.2, "modularity": 0.6}
    assert error_of("projection", people | {"true modularity": 0.7}) == pytest.approx(0.1)
    del people["modularity"]
    assert error_of("projection", people) == pytest.approx(0.1)
