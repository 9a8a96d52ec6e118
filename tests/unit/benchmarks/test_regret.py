"""Regret follows from the runs that count; a choice is judged on a graph that had no say in it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks import regret_cells
from benchmarks.graphs import community_graph
from benchmarks.method_versions import digest, version_of
from benchmarks.regret import arguments, candidate, kept_of, named, structural
from benchmarks.regret_cells import MEASURES, Plan, Setting, errors_of, run_missing
from benchmarks.regret_tables import cells_of, leave_one_out, left_out, picture, regret, short, table
from benchmarks.results_file import read
from core.evaluation.view import UndirectedView

TV = "degree_total_variation"
OURS = Setting("ours", "dcsbm", {}, "v2")
OTHER = Setting("other", "dgg", {}, "v1")
MANY = Setting("many", "dcsbm", {"proposals": 60}, "v2")


def line(graph, setting, tv, epsilon=1.0, **more):
    return {
        "graph": graph,
        "epsilon": epsilon,
        "method": setting.method,
        "parameters": dict(setting.parameters),
        "version": setting.version,
        "errors": {TV: tv, **more},
        "cpu_seconds": 2.0,
    }


def over(graph, setting, seconds):
    kept = line(graph, setting, 0.0)
    return {k: v for k, v in kept.items() if k not in ("errors", "cpu_seconds")} | {
        "over_cpu_seconds": seconds
    }


LINES = [
    *(line("a", OURS, tv) for tv in (0.2, 0.4)),
    *(line("a", OTHER, tv) for tv in (0.1, 0.1)),
    line("b", OURS, 0.2),
    line("b", OTHER, 0.2),
    line("b", OURS, 0.9, epsilon=2.0),
]


def test_regret_is_the_mean_error_less_the_least_one():
    cells = cells_of(LINES, [OURS, OTHER], ["a", "b"], [1.0])
    assert list(cells) == [("a", 1.0), ("b", 1.0)]
    found = regret("ours", cells["a", 1.0], TV)
    assert (found.best, found.least) == ("other", 0.1)
    assert found.value == pytest.approx(0.2)
    assert found.spread == pytest.approx(0.1 * 2**0.5)
    tie = regret("ours", cells["b", 1.0], TV)
    assert (tie.value, tie.best, tie.spread) == (0, "ours", 0)
    assert regret("other", cells["a", 1.0], TV).value == 0
    text = list(table(cells, "ours", 1.0, [TV]))
    assert "2 graphs, 1 to 2 runs" in text[0]
    assert text[3] == "| a | .200 (.300 ± .141) | 2.00 |"
    assert text[5:7] == ["| **mean** | **.100** |  |", "| **worst** | **.200** |  |"]


def test_what_is_undefined_has_no_say():
    lines = [line("a", OURS, 0.2, transitivity=None), line("a", OURS, 0.4, transitivity=0.5)]
    cells = cells_of([*lines, line("a", OTHER, 0.1, transitivity=None)], [OURS, OTHER], ["a"], [1.0])
    assert regret("ours", cells["a", 1.0], "transitivity").value == 0
    assert regret("other", cells["a", 1.0], "transitivity") is None


def test_runs_of_other_code_or_other_parameters_do_not_count():
    old = Setting("ours", "dcsbm", {}, "v1")
    lines = [line("a", old, 0.9), line("a", MANY, 0.8), line("a", OURS, 0.2)]
    plan = Plan(["a"], [1.0], [OURS, OTHER], runs=3, limit=60)
    assert plan.missing(lines, "a", 1.0) == [(OURS, 2), (OTHER, 3)]
    assert cells_of(lines, [OURS], ["a"], [1.0])["a", 1.0]["ours"].errors == {TV: 0.2}


def test_a_method_that_is_kept_counts_at_its_last_version():
    newer = Setting("ours", "dcsbm", {}, "v3")
    lines = [line("a", OURS, 0.9), line("a", newer, 0.2), line("a", newer, 0.4)]
    now = Setting("ours", "dcsbm", {}, "v4")
    assert Plan(["a"], [1.0], [now], 2, 60).missing(lines, "a", 1.0) == [(now, 2)]
    assert Plan(["a"], [1.0], [now], 2, 60, frozenset({"dcsbm"})).missing(lines, "a", 1.0) == []
    found = cells_of(lines, [now], ["a"], [1.0], frozenset({"dcsbm"}))["a", 1.0]["ours"]
    assert found.errors[TV] == pytest.approx(0.3)


def test_what_took_too_long_is_left_out_and_said_until_more_is_allowed():
    lines = [over("a", OURS, 60)]
    assert Plan(["a"], [1.0], [OURS], 3, 60).missing(lines, "a", 1.0) == []
    assert Plan(["a"], [1.0], [OURS], 3, 61).missing(lines, "a", 1.0) == [(OURS, 3)]
    assert list(left_out(lines, [OURS, OTHER], frozenset())) == [
        "Left out: ours on a at epsilon 1, where a release takes more than 60 CPU seconds."
    ]


def test_a_graph_has_no_say_in_what_is_judged_on_it():
    """``many`` is better on two graphs and far worse on the third: only there does leaving it out tell."""

    def chosen(on_c):
        errors = {"a": (0.3, 0.1), "b": (0.3, 0.1), "c": on_c}
        lines = [line(g, s, e) for g, pair in errors.items() for s, e in zip((OURS, MANY), pair, strict=True)]
        cells = cells_of(
            [*lines, *(line(g, OTHER, 0.1) for g in errors)], [OURS, MANY, OTHER], [*errors], [1.0]
        )
        return leave_one_out(cells, ["ours", "many"], ["other"], [TV])

    worse = chosen((0.1, 0.9))
    assert {graph: choice for graph, (choice, _) in worse.items()} == {"a": "ours", "b": "ours", "c": "many"}
    assert worse["c"][1] == {TV: pytest.approx(0.8)}
    assert worse["a"][1] == {TV: pytest.approx(0.2)}
    assert chosen((0.9, 0.1))["c"][0] == "many"
    assert chosen((1.3, 9.0))["a"][0] == "many"  # relative errors of a true value near zero: both count as 1


def test_a_candidate_is_judged_against_the_others_and_itself_alone():
    """A candidate that was not chosen must not be what the chosen one's regret is measured by."""
    lines = [line(g, s, e) for g in "ab" for s, e in ((OURS, 0.2), (MANY, 0.1), (OTHER, 0.3))]
    cells = cells_of(lines, [OURS, MANY, OTHER], ["a", "b"], [1.0])
    assert leave_one_out(cells, ["ours"], ["other"], [TV])["a"] == ("ours", {TV: 0})


def test_a_version_is_of_the_code_and_not_of_the_prose():
    code = 'x = 1\n"""Of x."""\ndef f():\n    """Of f."""\n    return x\n'
    prose = "x = 1  # one\n\ndef f():\n    return x\n"
    assert digest([("m", code)]) == digest([("m", prose)])
    assert digest([("m", code)]) != digest([("m", prose.replace("1", "2"))])
    assert digest([("m", code)]) != digest([("n", code)])
    assert version_of("dcsbm") != version_of("dgg")


def test_methods_and_candidates_are_named_as_tables_show_them():
    assert {"dcsbm", "dgg", "psgraph", "anchored"} <= set(structural())
    assert not {"dpggan", "dice", "thepuff"} & set(structural())
    assert named("dgg").label == "dgg"
    found = named('dcsbm:{"preset": "small"}')
    assert (found.label, found.parameters) == ('dcsbm:{"preset": "small"}', {"preset": "small"})
    assert candidate('few={"proposals": 15}', "dcsbm").label == "few"
    with pytest.raises(ValueError, match="proposal"):
        named('dcsbm:{"proposal": 15}')


def test_versions_count_unless_methods_are_kept():
    kept = {
        args: kept_of(arguments().parse_args(["runs", *args]))
        for args in ((), ("--kept", "dgg"), ("--kept",))
    }
    assert kept[()] == frozenset()
    assert kept["--kept", "dgg"] == {"dgg"}
    assert set(structural()) <= kept[("--kept",)]


def test_an_original_has_no_error():
    view = UndirectedView.of(community_graph(60, 200).cell("edge", None))
    assert errors_of(view, view) == pytest.approx(dict.fromkeys(MEASURES, 0.0))


def test_figures_are_short_and_pictures_show_every_method():
    assert [short(v) for v in (0.1234, 0, 0.9996, 12.3456, 0.0004)] == [
        ".123",
        ".000",
        "1.00",
        "12.35",
        ".000",
    ]
    cells = cells_of(LINES, [OURS, OTHER], ["a", "b"], [1.0])
    root = ElementTree.fromstring(picture(cells, "ours", [TV] * 3))
    assert root.get("viewBox").split()[3] == "600"  # three charts in two rows
    assert {"ours", "other"} <= {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}


def endless(name):
    """A graph for a child process, in which one method never ends and one has a fault."""

    def release(method, graph, epsilon, parameters):
        while method == "dgg" and name == "slow":
            pass
        if method == "tmf" and graph.nodes["node"].count == 100:
            raise ArithmeticError("planted")
        return graph, 0.25

    regret_cells.release = release
    return community_graph(100, 300)


@pytest.mark.faults
def test_a_release_over_the_limit_ends_and_what_comes_behind_it_goes_on(tmp_path):
    results, told = tmp_path / "new" / "runs.jsonl", []
    settings = [Setting.of(method) for method in ("edgerand", "dgg", "lapgraph", "tmf")]
    plan = Plan(["slow"], [1.0], settings, runs=2, limit=1)
    run_missing(plan, results, endless, told.append)
    lines = read(results)
    assert [each["method"] for each in lines] == ["edgerand"] * 2 + ["dgg"] + ["lapgraph"] * 2
    assert lines[2]["over_cpu_seconds"] == 1
    for each in lines[:2] + lines[3:]:
        assert each["errors"] == pytest.approx(dict.fromkeys(MEASURES, 0.0))
        assert (each["nodes"], each["cpu_seconds"]) == (100, 0.25)
        assert each["scoring_cpu_seconds"] >= 0
    assert told == [
        "slow epsilon 1 edgerand: 2 runs, 0.25 CPU s",
        "slow epsilon 1 dgg: left out, a release took over 1 CPU s",
        "slow epsilon 1 lapgraph: 2 runs, 0.25 CPU s",
        "slow epsilon 1 tmf: failed, the child ended with 1",
    ]
    assert plan.missing(lines, "slow", 1.0) == [(settings[3], 2)]


def test_code_that_changes_meanwhile_ends_the_call(tmp_path, monkeypatch):
    """The child may have imported either: what it measured stands under no version."""
    plan = Plan(["quick"], [1.0], [Setting.of("edgerand")], runs=2, limit=60)
    monkeypatch.setattr(regret_cells, "version_of", lambda method: "another")
    with pytest.raises(RuntimeError, match="edgerand has changed"):
        run_missing(plan, tmp_path / "runs.jsonl", endless)
    assert read(tmp_path / "runs.jsonl") == []
