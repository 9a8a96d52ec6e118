"""PPGSL's protocol: what is hidden, what is held out, and that a call makes missing cells only."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

from benchmarks.results_file import read
from core.evaluation.attacks.pairs import are_linked
from papers.ppgsl.benchmarks import tables as ppgsl_tables
from papers.ppgsl.benchmarks.data import again, case, random_graph
from papers.ppgsl.benchmarks.tables import ROWS, Cell, by_cell, cells, released, run_missing, tables

GRAPH = random_graph(300, 10)


def ends(given, places):
    return given.whole.u[places], given.whole.v[places]


@pytest.mark.parametrize("left", [False, True])
def test_sensitive_links_are_given_but_not_visible_and_tested_ones_as_asked(left):
    given = case(GRAPH, 1, left)
    assert len(given.sensitive) == len(given.tested) == given.whole.edge_count // 10
    assert not np.intersect1d(given.sensitive, given.tested).size
    assert not are_linked(given.visible, *ends(given, given.sensitive)).any()
    assert are_linked(given.visible, *ends(given, given.tested)).all() == left
    assert are_linked(given.visible, *ends(given, given.tested)).any() == left
    hidden = given.secret.of_relation("edge")
    assert len(hidden[0]) == len(given.sensitive)
    assert given.given.edges["edge"].count == given.visible.edge_count + len(given.sensitive)
    targets = given.targets(given.sensitive)
    assert (targets.positives, targets.negatives) == (len(given.sensitive),) * 2
    assert np.array_equal(given.sensitive, case(GRAPH, 1, not left).sensitive)


@pytest.mark.parametrize("label", ["original", "random_rewire", "edgerand"])
def test_nothing_sensitive_is_given_out(label):
    given = case(GRAPH, 2, left=False)
    published, _ = released(given, ROWS[label], ROWS[label].values[0])
    found = are_linked(published, *ends(given, given.sensitive)).sum()
    assert found == 0 or label == "edgerand"  # which adds pairs by chance, whatever they are
    assert published.edge_count > 0
    shadow = again(published, given, 1)
    assert shadow.whole.edge_count == published.edge_count


def test_a_guarantee_for_all_links_is_given_all_links():
    given = case(GRAPH, 2, left=False)
    row = ROWS["edgerand, all links"]
    assert row.whole
    published, _ = released(given, row, 30)
    assert are_linked(published, *ends(given, given.sensitive)).all()


def test_one_draw_of_the_links_comes_after_the_other():
    asked = Namespace(set=["cora"], only=["dice", "ppne"], value=[0.1], seeds=2, left=False)
    found = [(cell.seed, cell.label) for cell in cells(asked, ROWS)]
    assert found == [(0, "dice"), (0, "ppne"), (1, "dice"), (1, "ppne")]


def test_a_call_makes_the_missing_cells_only(tmp_path, monkeypatch):
    made = []

    def figures(given, row, value, thorough):
        made.append((row.method, value))
        found = dict.fromkeys(ppgsl_tables.COLUMNS, 1.0)
        return found | ({"attacks": {}} if thorough else {})

    monkeypatch.setattr(ppgsl_tables, "figures", figures)
    monkeypatch.setattr(ppgsl_tables, "load", lambda name, data: GRAPH)
    results = tmp_path / "results.jsonl"
    asked = Namespace(set=["cora"], only=["dice"], value=None, seeds=1, left=False, attacks="gae", data=None)
    asked.results = results
    run_missing(asked)
    run_missing(asked)
    assert made == [("dice", value) for value in ROWS["dice"].values]
    asked.attacks = "all"
    run_missing(asked)
    assert len(made) == 2 * len(ROWS["dice"].values)
    found = read(results)
    assert Cell("cora", "held", "dice", 0.1, 0) in by_cell(found)
    title, *rows = tables(found)
    assert title.strip() == "**cora**, test links held"
    assert len(rows) == 2 + len(ROWS["dice"].values)


def test_every_attacker_of_a_thorough_row_is_shown():
    place = {"set": "cora", "setting": "held", "label": "dice", "value": 0.5}
    rows = [{"attacks": {"seal": 80.0, "informed": 60.0 + seed}, "figure": 80.0} for seed in (0, 2)]
    lines = [place | {"seed": seed} | row for seed, row in enumerate(rows)]
    *_, shown = ppgsl_tables.attackers([*lines, place | {"seed": 2}])
    cells = [each.strip() for each in shown.strip("|").split("|")]
    assert cells[:4] == ["cora", "dice", "share 0.5", "2"]
    assert cells[4:] == ["", "", "", "", "", "", "", "80.0 ± 0.0", "", "61.0 ± 1.4", "", "80.0 ± 0.0"]
    assert not list(ppgsl_tables.attackers([place | {"seed": 2}]))
