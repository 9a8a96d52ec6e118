"""The experiment on networks of one's own, from the command line: what it makes, and makes once."""

import csv
import json

import numpy as np
import pytest

from benchmarks.graphs import static_graph
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers.dpggan.benchmarks import reproduce
from papers.dpggan.benchmarks.reproduce import (
    ALL,
    METRICS,
    PUBLISHED,
    SYSTEMS,
    UNPAID,
    Cell,
    main,
    markdown,
    measured,
    networks_of,
)
from papers.dpggan.benchmarks.rows import release
from tests.support.generating import random_pairs

SHORT = ["--only", PUBLISHED, "--only", "as many edges at random", "--only", "DPGGAN, ours"]


@pytest.fixture
def own(tmp_path):
    """Who is whose friend, and who lives beside whom: two networks of 24 people; who likes whom has a way."""
    rows = [f"friends,p{u},p{v}" for u, v in random_pairs(24, 0.25)]
    rows += [f"beside,p{u},p{v}" for u, v in random_pairs(24, 0.15)] + ["likes,p1,p0"]
    (tmp_path / "edges.csv").write_text("type,source,target\n" + "\n".join(rows) + "\n")
    (tmp_path / "nodes.csv").write_text("type,id\n" + "".join(f"person,p{each}\n" for each in range(24)))
    person = {"source": "person", "target": "person"}
    schema = {
        "node_types": [{"name": "person"}],
        "edge_types": [
            {"name": "friends", **person},
            {"name": "beside", **person},
            {"name": "likes", "directed": True, **person},
        ],
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    names = {"--data": "edges.csv", "--schema": "schema.json", "--nodes": "nodes.csv"}
    return ["--quick", *(word for option, name in names.items() for word in (option, str(tmp_path / name)))]


def test_the_experiment_makes_tables_once(own, tmp_path, capsys):
    out = tmp_path / "out"
    main([*own, "--out", str(out)])
    assert len(capsys.readouterr().out.splitlines()) == len(ALL)
    lines = [json.loads(line) for line in (out / "dpggan.jsonl").read_text().splitlines()]
    assert {(line["system"], line["network"]) for line in lines} == {(s, n) for s in ALL for n in (0, 1)}
    assert {line["system"]: line["epsilon"] for line in lines} == dict.fromkeys(SYSTEMS, 1.0) | dict.fromkeys(
        UNPAID, 0.0
    )
    sound = {line["system"] for line in lines if line["guarantee"] != "none"}
    assert sound == {"DPGGAN, ours", "DPGVAE, ours"}
    for line in lines:
        lacking = {"hidden links"} if line["system"] == "as many edges at random" else set()
        assert set(line["figures"]) == set(METRICS) - lacking
        assert line["figures"]["true edges"] == 1 or line["system"] != "original"
    table = (out / "dpggan.md").read_text()
    assert all(f"| {system} | " in table for system in ALL)
    with (out / "dpggan.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(lines)
    assert "hidden links" in (out / "dpggan.svg").read_text()
    main([*own, "--out", str(out)])
    assert not capsys.readouterr().out
    assert (out / "dpggan.md").read_text() == table


def test_a_run_that_was_cut_short_goes_on(own, tmp_path, capsys):
    out = tmp_path / "out"
    main([*own, *SHORT, "--out", str(out)])
    kept = (out / "dpggan.jsonl").read_text().splitlines()
    (out / "dpggan.jsonl").write_text("\n".join(kept[:-1]) + "\n")
    capsys.readouterr()
    main([*own, *SHORT, "--out", str(out)])
    assert capsys.readouterr().out.strip().endswith("1 networks")
    assert (out / "dpggan.jsonl").read_text().splitlines()[:-1] == kept[:-1]


def test_what_the_paper_prints_stands_beside_its_own_networks():
    line = {"data": "dblp", "system": PUBLISHED, "epsilon": 1.0, "quick": False, "run": 0, "network": 0}
    line |= {"guarantee": "none", "cpu_seconds": 1.0, "figures": dict.fromkeys(METRICS, 0.5)}
    told = "\n".join(markdown([line], "dblp", False))
    assert (
        "| *paper, DPGGAN* | | | | 12.38 | 70.97 | 0.2643 | 0.0353 | 0.0117 | 0.6092 | 0.415 |  | | |" in told
    )
    rows = [row.count("|") for row in told.splitlines() if row.startswith("| *paper") or PUBLISHED in row]
    assert set(rows) == {len(METRICS) + 6}


def test_networks_are_the_undirected_relations_of_one_type(own):
    pairs = random_pairs(12, 0.4)
    graph = static_graph(12, EdgeTable(pairs[:, 0], pairs[:, 1]))
    (found,) = networks_of(graph)
    degrees = [
        np.bincount(np.concatenate([each.edges["edge"].source, each.edges["edge"].target]))
        for each in (graph, found.graph)
    ]
    assert sorted(degrees[0]) == sorted(degrees[1])
    assert found.shares == 1
    with pytest.raises(ValueError, match="10 nodes"):
        networks_of(static_graph(5, EdgeTable(np.array([0]), np.array([1]))))


def timed():
    """Eight people and four things: who took what at which of three steps, the second without any."""
    schema = GraphSchema(
        node_types=(NodeType(name="person", count=8), NodeType(name="thing", count=4)),
        edge_types=(EdgeType(name="took", source="person", target="thing", temporal=True),),
        time=TimeGrid(count=3),
    )
    source, target = np.array([0, 1, 2, 7], np.int32), np.array([0, 0, 1, 3], np.int32)
    took = EdgeTable(source, target, np.array([0, 0, 0, 2], np.int32))
    return Graph.build(schema, {"person": NodeTable(8), "thing": NodeTable(4)}, {"took": took})


def test_a_relation_with_time_between_types_is_a_network_a_step():
    first, last = networks_of(timed())
    assert [each.graph.nodes["node"].count for each in (first, last)] == [12, 12]
    assert [each.graph.edges["edge"].count for each in (first, last)] == [3, 1]
    edges = first.graph.edges["edge"]
    degrees = np.bincount(np.concatenate([edges.source, edges.target]), minlength=12)
    assert sorted(degrees) == [*[0] * 7, 1, 1, 1, 1, 2]


def test_steps_divide_epsilon(monkeypatch):
    asked = []

    def noted(row, network, epsilon):
        asked.append(epsilon)
        return release(row, network, epsilon)

    monkeypatch.setattr(reproduce, "release", noted)
    for one in networks_of(timed()):
        measured(one, Cell("own", "DPGGAN, ours", 3.0, quick=True), links=False)
    assert asked == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "give --data FILE with its --schema"),
        (["--networks", "dblp=nowhere"], "a file that exists and a name of dblp, imdb"),
        (["--data", "nowhere.csv", "--schema", "nowhere.json"], "there is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_said(given, told, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path / "none")])
    assert told in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
