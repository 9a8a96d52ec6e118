"""Phases are timed without counting anything twice, and tables show what the results hold."""

from __future__ import annotations

import json
import sys
import types
from argparse import Namespace

import pytest

from benchmarks import anchored_scale
from benchmarks.anchored_scale import Clock, growth
from benchmarks.results_file import read
from benchmarks.typed_graphs import Sizes, shaped
from core.methods.registry import get
from papers.thepuff.benchmarks.report import tables
from papers.thepuff.benchmarks.tables import ROWS, Cell, drawn, run_missing

spent = [0.0]
"""The seconds on the clock of the tests."""


def burn(seconds: float) -> None:
    spent[0] += seconds


@pytest.fixture
def phases(monkeypatch):
    """A module with an outer function that calls an inner method, both of which take time."""
    module = types.ModuleType("benchmark_phases")
    monkeypatch.setattr(anchored_scale, "time", types.SimpleNamespace(process_time=lambda: spent[0]))

    class Inner:
        def work(self) -> int:
            burn(0.05)
            return 7

    def outer() -> int:
        burn(0.02)
        return Inner().work()

    module.Inner, module.outer = Inner, outer
    monkeypatch.setitem(sys.modules, "benchmark_phases", module)
    return module


def test_time_in_an_inner_phase_is_not_the_outer_ones(phases):
    clock, before = Clock(), phases.outer
    burn(0.03)  # before the context: counted nowhere
    with clock.over({"outer": ("benchmark_phases", "outer"), "inner": ("benchmark_phases", "Inner.work")}):
        assert phases.outer() == 7
        burn(0.01)
    assert phases.outer is before
    assert clock.seconds == pytest.approx({"inner": 0.05, "outer": 0.02, "rest": 0.01})


def test_an_unknown_phase_is_an_error_and_leaves_the_others_as_they_were(phases):
    before = phases.outer
    with (
        pytest.raises(KeyError),
        Clock().over({"outer": ("benchmark_phases", "outer"), "none": ("benchmark_phases", "missing")}),
    ):
        raise AssertionError("the phases must not start")
    assert phases.outer is before


def test_growth_is_the_exponent_from_one_size_to_the_next():
    assert growth([(100, 1.0), (1000, 10.0), (10_000, 1000.0)]) == [
        None,
        pytest.approx(1.0),
        pytest.approx(2.0),
    ]


def test_every_row_names_parameters_that_its_method_takes():
    for label, row in ROWS.items():
        extra = {row.of_epsilon: 4.0} if row.of_epsilon else {}
        params = get(row.method).Params.model_validate(row.parameters | extra)
        assert all(getattr(params, name) == value for name, value in row.parameters.items()), label


def test_a_baseline_says_what_it_guarantees():
    graph = shaped(Sizes(("user", "movie", "genre"), 40, 30, 3, 200, 2, once=True))
    assert drawn("original", graph, 0.0).graph is graph
    assert drawn("original", graph, 0.0).kind == "none"
    assert sum(table.count for table in drawn("empty", graph, 0.0).graph.edges.values()) == 0
    assert drawn("typed-random", graph, 4.0).kind == "pure"
    released = drawn("perturbation", graph, 4.0)
    assert released.kind == "pure"
    assert released.fit_seconds >= 0


def row(label, epsilon, **figures):
    names = ("Cluster", "TC", "LCC", "Degree", "Meta-2", "Meta-3", "EO-Rate", "attack", "attack_focus")
    names += ("cycles", "chain_tv", "active_tv", "auc", "auc_new")
    sides = [f"{what} u-m-timed {side}" for what in ("degree_tv", "node_l1") for side in ("source", "target")]
    statics = ["node_l1 m-g-static target", "node_l1 u-o-static target"]
    found = dict.fromkeys([*names, *sides, *statics, "cpu_seconds", "peak_megabytes"], 0.5)
    return Cell("ml-100k", label, epsilon)._asdict() | {"kind": "pure", "figures": found | figures}


def test_tables_give_means_spreads_and_the_printed_rows():
    found = tables(
        [
            row("anchored", 4.0, auc=0.7, Degree=0.25),
            row("anchored", 4.0, auc=0.8, Degree=-0.25, **{"node_l1 m-g-static target": 0.1}),
            row("original", 0.0, auc_new=None),
        ]
    )
    lines = list(found)
    paper = next(line for line in lines if line.startswith("| THEPUFF, as printed"))
    assert ".3547 ± .0128" in paper
    structure = [line for line in lines if line.startswith("| anchored | 4 | pure | 2 |")]
    assert ".0000 ± .2500" in structure[0]
    assert ".750 ± .050" in structure[1]
    assert ".400 ± .100" in structure[1]  # untimed relations: (.5 + .5) / 2 and (.1 + .5) / 2
    assert any(line.startswith("| original |  | pure | 1 |") and " - |" in line for line in lines)


def test_only_missing_runs_are_made(tmp_path, monkeypatch):
    results = tmp_path / "results.jsonl"
    assert read(results) == []
    results.write_text("".join(json.dumps(row("anchored", 4.0)) + "\n" for _ in range(3)))

    def refuse(*_args, **_kwargs):
        raise AssertionError("nothing is missing")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor.submit", refuse)
    asked = Namespace(
        results=results,
        graph=["ml-100k"],
        only=["anchored"],
        epsilon=[4.0],
        runs=3,
        data=tmp_path,
        processes=1,
    )
    run_missing(asked)
    assert len(read(results)) == 3
