"""Where a line is ahead of others; what stands alone as a picture; who defends against whom."""

from __future__ import annotations

from argparse import Namespace
from xml.etree import ElementTree

import pytest

from benchmarks.line_plots import panels
from benchmarks.results_file import read
from papers.ppgsl.benchmarks import cost as ppgsl_cost
from papers.ppgsl.benchmarks import sweeps as ppgsl_sweeps
from papers.ppgsl.benchmarks.curves import compared, ended, kept, means, picture, statement
from papers.ppgsl.benchmarks.data import case, random_graph
from papers.ppgsl.benchmarks.sweeps import KINDS, matrix, mismatched, reached
from papers.ppgsl.benchmarks.tables import ORIGINAL


def at(attack, links, nodes=50.0):
    return {"attack": attack, "links": links, "nodes": nodes}


ROWS = {
    ORIGINAL: [at(90, 90)],
    "ppgsl": [at(40, 60), at(50, 70), at(70, 80)],
    "dice": [at(80, 88), at(82, 60)],  # the attack grows again where little is left
    "dcsbm": [at(55, 76)],
}


def test_a_line_keeps_the_most_that_is_within_a_level_either_way_round():
    line = [at(30, 95), at(50, 70), at(70, 80)]
    assert kept(line, "links", 50) == pytest.approx(70)
    assert kept(line, "links", 60) == pytest.approx(82.5, abs=0.5)  # at 40, turned round
    assert kept(line, "links", 70) == pytest.approx(95)
    assert kept([at(60, 60)], "links", 59) == float("-inf")


def test_lines_end_at_the_undefended_graph_where_their_methods_do():
    lines = ended(ROWS)
    assert lines["ppgsl"][-1] == lines["dice"][0] == ROWS[ORIGINAL][0]
    assert lines["dcsbm"] == ROWS["dcsbm"]


def test_levels_are_won_and_lost():
    found = {level: (ours > best, name) for level, ours, name, best in compared(ROWS, "links")}
    assert list(found) == list(range(50, 91))
    assert found[52][0]  # the only one that reaches it
    assert found[55] == (False, "dcsbm")  # 72.5 against 76
    assert found[70][0]  # 80 against 76
    assert not found[82][0]  # dice: 88.4, ppgsl: 86
    ours, theirs, share, where, names = statement(ROWS, "links")
    assert (ours, theirs) == ("50 to 90", "55 to 90")
    assert where.startswith("55 to 6")
    assert names == "dcsbm, dice"
    assert 0 < int(share.split()[0]) < 100
    alone = {name: line for name, line in ROWS.items() if name in (ORIGINAL, "ppgsl")} | {
        "dcsbm": [at(95, 99)]
    }
    assert statement(alone, "links") == ("50 to 90", "", "", "nowhere", "")


def test_means_are_over_seeds_and_in_the_order_of_settings():
    lines = [
        {"set": "cora", "setting": "held", "label": "dice", "value": value, "seed": seed}
        | at(60 + seed, links)
        for value, links in ((0.3, 60.0), (0.1, 80.0))
        for seed in (0, 2)
    ]
    assert means([*lines, {"surrogate": "gcn cosine"}], "cora", "held") == {"dice": [at(61, 80), at(61, 60)]}


def test_a_picture_stands_alone_and_shows_every_line():
    root = ElementTree.fromstring(picture("a & b", ROWS))
    words = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert set(ROWS) <= set(words)
    assert words.count("attack AUC on sensitive links, %") == 2
    assert "href" not in panels("t", "d", [("h", "x", "y", {"one": [(0.0, 1.0)]})])


def test_every_kind_of_attacker_learns_a_release_and_a_line_has_them_all(tmp_path, monkeypatch):
    graph = random_graph(150, 8)
    given = case(graph, 0, left=True)
    targets = given.targets(given.tested)
    for kind in KINDS:
        assert reached(given, given.whole, kind, targets) > 75  # these links it has seen
    monkeypatch.setattr(ppgsl_sweeps, "load", lambda name, data: graph)
    monkeypatch.setattr(ppgsl_sweeps, "judged", lambda given, published: {"links": 1.0, "nodes": 2.0})
    monkeypatch.setattr(ppgsl_sweeps, "KINDS", KINDS[:1])
    asked = Namespace(results=tmp_path / "lines", data=None, seeds=1)
    mismatched(asked)
    mismatched(asked)
    found = read(asked.results)
    assert [line["surrogate"] for line in found] == [ORIGINAL, "gcn cosine"]
    assert len(list(matrix(found))) == 5


def test_a_run_is_estimated_from_its_steps(monkeypatch):
    def seconds(graph, params):
        return 3 + 0.5 * params["surrogate_steps"] + 0.2 * params["steps"], 0.0

    monkeypatch.setattr(ppgsl_cost, "seconds", seconds)
    said = ppgsl_cost.estimate(random_graph(50, 4), {"steps": 500, "interval": 50})
    assert said.startswith("50 nodes, ")
    assert "0.500 CPU s a step of the surrogate, 0.200 of the learner, 3.0 beside" in said
    assert "; 603 CPU s in all" in said  # 3 + 10 * 100 * 0.5 + 500 * 0.2
