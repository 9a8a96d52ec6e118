"""The experiment on a graph of one's own, from the command line: what it makes, and makes once."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers.psgraph.benchmarks.reproduce import (
    ALONE,
    METRICS,
    SYSTEMS,
    claims,
    main,
    place_among,
    relation_of,
)
from papers.psgraph.benchmarks.sweeps import PUBLISHED

FLIGHTS = Path("examples/us-flights")
ASKED = [
    *("--quick", "--data", str(FLIGHTS / "edges.csv")),
    *("--schema", str(FLIGHTS / "schema.json"), "--nodes", str(FLIGHTS / "nodes.csv")),
]


def test_the_command_compares_all_systems_on_a_graph_of_ones_own(tmp_path):
    command = [sys.executable, "-m", "graphveil.cli.app", "reproduce", "psgraph", *ASKED]
    once = [*command, "--runs", "1", "--out", str(tmp_path)]
    first = subprocess.run(once, capture_output=True, text=True, check=True)
    assert len(first.stdout.splitlines()) == len(SYSTEMS)
    lines = [json.loads(line) for line in (tmp_path / "psgraph.jsonl").read_text().splitlines()]
    assert {line["system"] for line in lines} == set(SYSTEMS)
    assert all(len(line["steps"]) == 13 for line in lines)
    table = (tmp_path / "psgraph.md").read_text()
    assert all(f"| {system} | 1 |" in table for system in SYSTEMS)
    with (tmp_path / "psgraph.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13 * len(SYSTEMS)
    assert all(float(row["density_re"]) >= 0 for row in rows)
    assert (tmp_path / "psgraph.svg").read_text().startswith("<svg")
    again = subprocess.run(once, capture_output=True, text=True, check=True)
    assert not again.stdout
    assert (tmp_path / "psgraph.md").read_text() == table


def test_thresholds_windows_and_own_nodes_stand_beside(tmp_path, capsys):
    asked = [*ASKED, "--runs", "1", "--only", PUBLISHED, "--only", "PSGraph, our default"]
    swept = ["--own-nodes", "--threshold", "0.01", "--threshold", "1", "--window", "5", "--window", "10"]
    main([*asked, *swept, "--out", str(tmp_path)])
    runs = capsys.readouterr().out.splitlines()
    assert sum("own nodes" in each for each in runs) == 2  # the published form's, in two windows
    assert sum("threshold 0.01 n" in each for each in runs) == 2
    assert len(runs) == 8
    table = (tmp_path / "psgraph.md").read_text()
    own = table.index("own nodes")
    assert "without a guarantee over the node set" in table[own:]
    assert "our default" not in table[own:]
    assert all(
        f"| {window} | 1 | {factor} | 1 |" in table[:own] for window in (5, 10) for factor in (0.01, 1)
    )
    drawn = (tmp_path / "psgraph-sweeps.svg").read_text()
    assert "density RE, by threshold in nodes" in drawn
    assert "density RE, by window" in drawn
    assert "by epsilon" not in drawn
    main([*asked, *swept, "--out", str(tmp_path)])
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "give --data FILE with its --schema"),
        (["--stream", "as-days=nowhere"], "a path that exists"),
        (["--data", "nowhere.csv", "--schema", str(FLIGHTS / "schema.json")], "there is no file nowhere.csv"),
        ([*ASKED, "--relation", "located_in"], "between nodes of one type: flight"),
    ],
)
def test_what_cannot_be_read_is_said(given, told, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path / "none")])
    assert told in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_relation_keeps_its_edges_under_other_node_numbers():
    schema = GraphSchema(
        node_types=(NodeType(count=4),),
        edge_types=(EdgeType(name="met", temporal=True), EdgeType(name="kin")),
        time=TimeGrid(count=2),
    )
    met = EdgeTable(
        np.array([0, 1, 0], np.int32), np.array([1, 2, 3], np.int32), np.array([0, 0, 1], np.int32)
    )
    kin = EdgeTable(np.array([0], np.int32), np.array([2], np.int32))
    graph = Graph.build(schema, {"node": NodeTable(4)}, {"met": met, "kin": kin})
    found = relation_of(graph, None)
    assert found.nodes["node"].count == 4
    assert [len(found.cell("edge", step).source) for step in (0, 1)] == [2, 1]
    degrees = np.bincount(np.concatenate([found.edges["edge"].source, found.edges["edge"].target]))
    assert sorted(degrees) == [1, 1, 2, 2]


def test_claims_are_told_beside_what_was_found():
    rows = {
        PUBLISHED: {"overlap": [0.2, 0.4], "degree_kl": [0.1, 0.3], "density_re": [0.0]},
        "TmF": {"overlap": [0.1], "degree_kl": [0.5], "density_re": [0.1]},
        ALONE: {"overlap": [0.1, 0.3], "degree_kl": [0.5], "density_re": []},
    }
    told = list(claims(rows))
    assert any(f"the rival's above: {PUBLISHED}: +150.0 %" in each for each in told)
    assert told[-1].endswith("each step by itself (Reddit, epsilon 2). Found: +50.0 %.")
    assert len(list(claims({PUBLISHED: rows[PUBLISHED]}))) == 2


def test_a_place_is_by_what_is_better():
    assert place_among(0.3, [0.1, 0.4, 0.5], "overlap") == 3
    assert place_among(0.3, [0.1, 0.4, 0.5], "density_re") == 2
    assert set(METRICS) >= {"overlap", "density_re"}
