"""The experiment on a graph of one's own: what it makes, and makes once."""

import csv
import json

import numpy as np
import pytest

from papers.hetesdg.benchmarks.reproduce import (
    ALL,
    METRICS,
    NETWORKS,
    ON_RELEASES,
    PAID,
    PUBLISHED,
    UNPAID,
    main,
    markdown,
    printed,
    subject_of,
)
from papers.hetesdg.tests.toys import typed

QUICK = ["--quick", "--epsilon", "1"]


@pytest.fixture
def own(tmp_path):
    """Papers with public numbers and a class, and their authors."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 60)
    nodes = [f"paper,p{p},{group[p] + rng.normal():.3f},{rng.normal():.3f},c{group[p]}" for p in range(60)]
    nodes += [f"author,a{a},,," for a in range(40)]
    (tmp_path / "nodes.csv").write_text("type,id,size,age,area\n" + "\n".join(nodes) + "\n")
    links = {(int(p), int(a)) for p in range(60) for a in rng.integers(0, 20, 3) + 20 * group[p]}
    rows = [f"wrote,p{p},a{a}" for p, a in sorted(links)]
    (tmp_path / "edges.csv").write_text("type,source,target\n" + "\n".join(rows) + "\n")
    public = {"protection": "public"}
    schema = {
        "node_types": [
            {
                "name": "paper",
                "attributes": [
                    {"name": "size", "kind": "number", **public},
                    {"name": "age", "kind": "number", **public},
                    {"name": "area", "label": True, **public},
                ],
            },
            {"name": "author"},
        ],
        "edge_types": [{"name": "wrote", "source": "paper", "target": "author"}],
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    names = {"--data": "edges.csv", "--schema": "schema.json", "--nodes": "nodes.csv"}
    return [word for option, name in names.items() for word in (option, str(tmp_path / name))]


def test_the_experiment_makes_tables_once(own, tmp_path, capsys):
    out = tmp_path / "out"
    main([*QUICK, *own, "--out", str(out)])
    assert len(capsys.readouterr().out.splitlines()) == len(ALL)
    lines = [json.loads(line) for line in (out / "hetesdg.jsonl").read_text().splitlines()]
    epsilons = {line["system"]: line["epsilon"] for line in lines}
    assert epsilons == dict.fromkeys(PAID, 1.0) | dict.fromkeys(UNPAID, 0.0)
    for line in lines:
        lacking = {"latents", "vectors"} if line["system"] == "ours" else set()  # below 2 it adds nothing
        lacking = {"latents", "beside"} if line["system"] in {**NETWORKS, **ON_RELEASES} else lacking
        assert set(line["figures"]) == set(METRICS) - lacking
        assert all(0 <= value <= 100 for value in line["figures"].values())
    table = (out / "hetesdg.md").read_text()
    assert all(f"| {system} | 1 |" in table for system in ALL)
    assert "The split in the first run. Epsilon 1: 0." in table
    with (out / "hetesdg.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(ALL)
    picture = (out / "hetesdg.svg").read_text()
    assert "AUC of links" in picture
    assert "loss of links" in picture
    main([*QUICK, *own, "--out", str(out)])
    assert not capsys.readouterr().out
    assert (out / "hetesdg.md").read_text() == table


def test_what_the_paper_prints_stands_beside_its_own_sets():
    assert printed("acm", PUBLISHED, 1.0) == {"links": 80.13, "nodes": 89.31}
    assert printed("acm", "HeteDP", 0.01) == {"links": 71.92, "nodes": 67.33}
    assert printed("acm", "HANConv", 0.0) == {"links": 82.15, "nodes": 88.89}
    assert printed("acm", "metapath2vec", 0.0) == {"nodes": 73.69}
    assert printed("acm", "HeteDP, pure", 0.0) == {"links": 85.44, "nodes": 87.5}
    assert printed("acm", PUBLISHED, 0.1) == printed("mine", PUBLISHED, 1.0) == {}
    line = {"data": "acm", "system": PUBLISHED, "epsilon": 1.0, "quick": False, "notes": []}
    told = "\n".join(markdown([line | {"figures": {"leaky": 50.0}, "cpu_seconds": 1.0}], "acm", False))
    assert f"| {PUBLISHED} | 1 | 50.0 |  |  |  |  | 80.13 | 89.31 | 1.0 |" in told


def test_the_subject_is_the_type_with_public_columns():
    found = subject_of(typed(), None)
    assert (found.kind, found.focus, found.classes) == ("paper", "writes", None)
    assert subject_of(typed(), "about").focus == "about"
    with pytest.raises(ValueError, match="without time of 'paper'"):
        subject_of(typed(), "knows")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "give --data FILE with its --schema"),
        (["--set", "acm=nowhere"], "which holds acm: acm_heco"),
        (["--data", "nowhere.csv", "--schema", "nowhere.json"], "there is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_said(given, told, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path / "none")])
    assert told in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
