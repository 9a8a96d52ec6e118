"""The experiment on a graph of one's own, from the command line: what it makes, and makes once."""

import csv
import json

import numpy as np
import pytest

from papers.ppgsl.benchmarks.data import case
from papers.ppgsl.benchmarks.reproduce import (
    EVERY,
    METRICS,
    PUBLISHED,
    SYSTEMS,
    likeness,
    loaded,
    main,
    markdown,
    parser,
)

SHORT = ["--only", "undefended", "--only", "random_rewire"]


@pytest.fixture
def own(tmp_path):
    """Sixty people of two groups, with a public number and team: friends are mostly of one group."""
    rng = np.random.default_rng(1)
    low, high = np.triu_indices(60, 1)
    met = rng.random(len(low)) < np.where(low % 2 == high % 2, 0.25, 0.02)
    rows = [f"friends,p{u},p{v}" for u, v in zip(low[met], high[met], strict=True)] + ["likes,p1,p0"]
    (tmp_path / "edges.csv").write_text("type,source,target\n" + "\n".join(rows) + "\n")
    people = [f"person,p{each},{each % 2 + rng.normal():.2f},t{each % 2}" for each in range(60)]
    (tmp_path / "nodes.csv").write_text("type,id,size,team\n" + "\n".join(people) + "\n")
    public = {"protection": "public"}
    size = {"name": "size", "kind": "number", **public}
    person = {"source": "person", "target": "person"}
    schema = {
        "node_types": [{"name": "person", "attributes": [size, {"name": "team", "label": True, **public}]}],
        "edge_types": [
            {"name": "friends", **person},
            {"name": "likes", "directed": True, **person},
        ],
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    names = {"--data": "edges.csv", "--schema": "schema.json", "--nodes": "nodes.csv"}
    return ["--quick", *(word for option, name in names.items() for word in (option, str(tmp_path / name)))]


def test_the_experiment_makes_tables_once(own, tmp_path, capsys):
    out = tmp_path / "out"
    main([*own, "--out", str(out)])
    assert len(capsys.readouterr().out.splitlines()) == len(SYSTEMS) - 1
    lines = [json.loads(line) for line in (out / "ppgsl.jsonl").read_text().splitlines()]
    assert {line["system"] for line in lines[1:]} == set(SYSTEMS) - {EVERY}
    for line in lines[1:]:
        assert all(0 <= line["figures"][metric] <= 100 for metric in METRICS)
    table = (out / "ppgsl.md").read_text()
    assert all(f"| {line['system']} | " in table for line in lines[1:])
    assert "| sensitive links | " in table
    with (out / "ppgsl.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(lines) - 1
    assert "links AUC" in (out / "ppgsl.svg").read_text()
    main([*own, "--out", str(out)])
    assert not capsys.readouterr().out
    assert (out / "ppgsl.md").read_text() == table


def test_a_run_that_was_cut_short_goes_on_and_attackers_are_added(own, tmp_path, capsys):
    out = tmp_path / "out"
    main([*own, *SHORT, "--out", str(out)])
    kept = (out / "ppgsl.jsonl").read_text().splitlines()
    (out / "ppgsl.jsonl").write_text("\n".join(kept[:-1]) + "\n")
    capsys.readouterr()
    main([*own, *SHORT, "--out", str(out)])
    assert capsys.readouterr().out == "seed 0 of 1: random_rewire, 0.7\n"
    main([*own, "--only", "undefended", "--attacks", "--out", str(out)])
    assert "Every attacker" in (out / "ppgsl.md").read_text()
    assert "| undefended |  | 1 |" in (out / "ppgsl.md").read_text()


def test_what_pairs_are_like_before_a_release(own):
    _, graph = loaded(parser().parse_args(own))
    found = likeness(case(graph, 0, left=False))
    assert found["pairs"]["visible links"][:2] == [1.0, 0.0]
    assert found["pairs"]["sensitive links"][0] > 1
    assert found["hidden"] == graph.edges["edge"].count // 10
    assert found["pairs"]["sensitive links"][3] > found["pairs"]["no link"][3]
    few = likeness(case(subject(4), 0, left=False))
    assert few["bits"] == pytest.approx(np.log2(6 * 5 // 2 - 10 + 1))  # one hidden of the pairs not visible


def subject(extra):
    """Six nodes and eleven links, of which one is sensitive and one tested."""
    from benchmarks.graphs import static_graph
    from core.graphs.graph import EdgeTable

    u, v = np.triu_indices(6, 1)
    return static_graph(6, EdgeTable(u[extra:], v[extra:]))


def test_what_the_paper_prints_stands_beside_its_own_graphs():
    figures = dict.fromkeys((*METRICS, "deleted", "added", "cpu_s"), 50.0)
    line = {"data": "cora", "system": PUBLISHED, "value": 0.01, "quick": False, "seed": 0, "figures": figures}
    seen = {"pairs": {"sensitive links": [3.1, 0.1, None, 0.7]}, "bits": 100.0, "hidden": 5}
    told = "\n".join(markdown([{"data": "cora", "likeness": seen}, line], "cora", False))
    assert "| sensitive links, as printed | 3.206 | 0.164 | 0.011 | 0.702 |" in told
    assert "links at 81 and nodes at 73" in told
    assert "probability 0.9900 at least, and whoever learns half of the bits with 0.4900" in told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "give --data FILE with its --schema"),
        (["--set", "cora=nowhere"], "which holds cora: cora"),
        (["--data", "nowhere.csv", "--schema", "nowhere.json"], "there is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_said(given, told, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path / "none")])
    assert told in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_relation_with_a_way_is_refused(own, capsys):
    with pytest.raises(SystemExit):
        main([*own, "--relation", "likes"])
    assert "inside a type: friends" in capsys.readouterr().err
