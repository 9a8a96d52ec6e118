"""The experiment on a graph of one's own, from the command line: what it makes, and makes once."""

import csv
import json
from pathlib import Path

import pytest

from papers.thepuff.benchmarks.reproduce import (
    METRICS,
    PUBLISHED,
    SYSTEMS,
    WITHOUT_TYPES,
    main,
    markdown,
    printed_at,
)

FLIGHTS = Path("examples/us-flights")
ASKED = [
    *("--quick", "--data", str(FLIGHTS / "edges.csv")),
    *("--schema", str(FLIGHTS / "schema.json"), "--nodes", str(FLIGHTS / "nodes.csv")),
]


@pytest.fixture
def small(tmp_path):
    """A shop: users buy items of two kinds, in three months."""
    kinds = [f"i{item},k{item % 2}" for item in range(20)]
    bought = [
        f"u{user},i{(user * 3 + 2 * month * month + turn) % 20},{month}"
        for user in range(30)
        for month in range(3)
        for turn in range(2)
    ]
    rows = [f"buys,{each}" for each in bought] + [f"is,{each}," for each in kinds]
    (tmp_path / "edges.csv").write_text("type,source,target,time\n" + "\n".join(rows) + "\n")
    sizes = {"user": 30, "item": 20, "kind": 2}
    nodes = [f"{kind},{kind[0]}{number}" for kind, count in sizes.items() for number in range(count)]
    (tmp_path / "nodes.csv").write_text("type,id\n" + "\n".join(nodes) + "\n")
    schema = {
        "node_types": [{"name": "user"}, {"name": "item"}, {"name": "kind"}],
        "edge_types": [
            {"name": "buys", "source": "user", "target": "item", "temporal": True},
            {"name": "is", "source": "item", "target": "kind"},
        ],
        "time": {"count": 3, "start": 0, "width": 1},
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    names = {"--data": "edges.csv", "--schema": "schema.json", "--nodes": "nodes.csv"}
    return ["--quick", *(word for option, name in names.items() for word in (option, str(tmp_path / name)))]


def test_the_experiment_makes_tables_once(small, tmp_path, capsys):
    out = tmp_path / "out"
    main([*small, "--out", str(out)])
    assert len(capsys.readouterr().out.splitlines()) == len(SYSTEMS)
    lines = [json.loads(line) for line in (out / "thepuff.jsonl").read_text().splitlines()]
    assert {line["system"] for line in lines} == set(SYSTEMS)
    assert all(set(line["figures"]) == set(METRICS) for line in lines)
    guarantees = {line["system"]: line["guarantee"] for line in lines}
    assert {system for system, kind in guarantees.items() if kind != "none"} == {
        "THEPUFF, ours",
        "DPGGAN, ours",
    }
    assert all(len(line["without_relation"]) == 2 for line in lines if line["system"] in WITHOUT_TYPES)
    table = (out / "thepuff.md").read_text()
    assert "| the original |  | " in table
    assert f"| an unrelated graph |  | {100 / 52:.4f} |  | {100 / 30:.4f} |" in table
    assert all(f"| {system} | {guarantees[system]} | 1 |" in table for system in SYSTEMS)
    with (out / "thepuff.csv").open() as file:
        assert [row["system"] for row in csv.DictReader(file)] == [line["system"] for line in lines]
    picture = (out / "thepuff.svg").read_text()
    assert all(f"loss: {name}" in picture for name in ("utility", "privacy", "generator"))
    main([*small, "--out", str(out)])
    assert not capsys.readouterr().out
    assert (out / "thepuff.md").read_text() == table


def test_what_the_paper_prints_stands_beside_its_own_graphs():
    figures = dict.fromkeys(METRICS, 0.5) | {"TC": None}
    line = {"data": "ml-100k", "system": PUBLISHED, "epsilon": 8.0, "quick": False, "figures": figures}
    line |= {"guarantee": "none", "cpu_seconds": 1.0, "collapsed": True}
    told = "\n".join(markdown([line], "ml-100k", False))
    assert "| THEPUFF, as printed | | | 2.536e-3" in told
    assert "| without D_util, as printed | | | .468 |" in told
    assert "undefined" in told
    assert f"collapsed in a run or more: {PUBLISHED}" in told


def test_attacks_stand_printed_beside_found():
    """Tables 3, 9 and 10: DPGGAN's too, and what the attacks reach on the original."""
    figures = dict.fromkeys(METRICS, 0.5)
    line = {"data": "ml-100k", "system": "DPGGAN, variant paper", "epsilon": 8.0, "quick": False}
    line |= {"figures": figures, "original": {"attack": 4.1919, "attack on sources": 11.7255}}
    line |= {"unrelated": {"attack": 0.0375, "attack on sources": 0.106}}
    line |= {"guarantee": "none", "cpu_seconds": 1.0, "collapsed": None, "without_relation": [25, 100]}
    told = "\n".join(markdown([line], "ml-100k", False))
    assert "| the original | 4.192 | 4.1919 | 11.73 | 11.7255 |" in told
    assert "| an unrelated graph |  | 0.0375 |  | 0.1060 |" in told
    assert "| DPGGAN, variant paper | .037 | 0.5000 | .095 | 0.5000 |" in told
    assert "DPGGAN, variant paper: 25 % of its pairs" in told


def test_every_eps_minus_of_table_4_has_its_printed_row():
    assert [list(printed_at("ml-100k", each)) for each in (1.0, 7.0)] == [["THEPUFF, Table 4"]] * 2
    assert {"THEPUFF, Table 4", "THEPUFF", "DPGGAN"} <= set(printed_at("ml-100k", 8.0))
    assert not printed_at("mine", 8.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "give --data FILE with its --schema"),
        (["--graph", "ml-100k=nowhere"], "which holds ml-100k: "),
        (["--data", "nowhere.csv", "--schema", str(FLIGHTS / "schema.json")], "there is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_said(given, told, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path / "none")])
    assert told in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
