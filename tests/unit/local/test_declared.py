"""A graph from declared facts alone: what is kept of them, how it is marked, and that no file is opened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import graphveil as gv
from core.reports.html.render import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from graphveil.problems import InvalidInput, NotAccepted

PEOPLE, PLACES = 900, 40
SEX = {"name": "sex", "protection": "protected", "kind": "category", "categories": ["f", "m", "x"]}
AGE = {"name": "age", "protection": "protected", "kind": "number", "bounds": [0, 100]}
SCHEMA: dict[str, Any] = {
    "node_types": [
        {"name": "person", "attributes": [SEX, AGE, {"name": "town", "protection": "public"}]},
        {"name": "place", "count": PLACES},
    ],
    "edge_types": [
        {"name": "knows", "source": "person", "target": "person"},
        {"name": "calls", "source": "person", "target": "person", "directed": True, "temporal": True},
        {"name": "born", "source": "person", "target": "place", "functional": True},
        {"name": "seen", "source": "person", "target": "place", "edge_bound": 100},
        {"name": "kin", "source": "person", "target": "person", "public": True},
    ],
    "time": {"count": 3},
}


def made(relations: Any = None, **given: Any) -> gv.Release:
    said = {"nodes": {"person": PEOPLE}, "parameters": {"relations": relations or {}}, "seed": 7}
    return gv.declared(SCHEMA, progress=False, **{**said, **given})


def edges(release: gv.Release, name: str) -> list[dict[str, Any]]:
    return pq.read_table(release.folder / "edges.parquet", filters=[("type", "=", name)]).to_pylist()


def test_declared_facts_are_kept_and_what_only_the_data_say_is_left_out() -> None:
    release = made()
    nodes = pq.read_table(release.folder / "nodes.parquet").to_pylist()
    people = [row for row in nodes if row["type"] == "person"]
    assert (len(people), len(nodes) - len(people)) == (PEOPLE, PLACES)
    assert {row["sex"] for row in people} == {"f", "m", "x"}
    assert all(0 <= row["age"] <= 100 for row in people)
    assert "town" not in people[0]
    assert not edges(release, "kin")
    assert len(edges(release, "knows")) == 2 * PEOPLE
    assert {row["step"] for row in edges(release, "calls")} == {0, 1, 2}
    born = edges(release, "born")
    assert len(born) == len({row["source"] for row in born}) == PEOPLE
    assert len(edges(release, "seen")) == 100


def degrees(release: gv.Release) -> np.ndarray:
    ends = [row[end] for row in edges(release, "knows") for end in ("source", "target")]
    return np.unique(ends, return_counts=True)[1]


def test_the_law_of_degrees_is_the_one_that_is_named() -> None:
    found = {
        law: degrees(made({"knows": {"mean_degree": 10, "degrees": law}}))
        for law in ("poisson", "exponential", "power_law")
    }
    for values in found.values():
        assert values.sum() == 10 * PEOPLE
    assert found["poisson"].var() < 20  # 10 for Poisson
    assert found["exponential"].var() > 60  # 110: mean and squared mean
    assert found["power_law"].max() > 2 * found["exponential"].max()


def test_nodes_meet_inside_their_groups_as_often_as_is_said() -> None:
    release = made({"knows": {"mean_degree": 10, "mixing": {"groups": "sex", "within": 0.7}}})
    sex = {row["id"]: row["sex"] for row in pq.read_table(release.folder / "nodes.parquet").to_pylist()}
    same = [sex[row["source"]] == sex[row["target"]] for row in edges(release, "knows")]
    assert np.mean(same) == pytest.approx(0.7 + 0.3 / 3, abs=0.03)


def test_it_is_marked_in_report_and_bundle_and_costs_nothing() -> None:
    release = made({"*": {"mean_degree": 2}}, formats=["csv"])
    part = PublicPart.model_validate(release.report)
    assert (part.guarantee.epsilon, part.transcript.operations, part.charge) == ("0", 0, None)
    assert part.guarantee.kind == "unread"
    mark = "Made from declarations; nothing was read."
    said = json.loads((release.folder / "declarations.json").read_text())
    assert said["note"] == mark
    assert said["relations"]["*"]["mean_degree"] == 2
    report = Report(public=part)
    for shown in (release.guarantee, render(report), markdown(report)):
        assert mark in shown
    named = {file.name for file in part.provenance.artifacts}
    assert named == {
        "declarations.json",
        "edges.parquet",
        "graph.csv",
        "nodes.csv",
        "nodes.parquet",
        "schema.json",
    }


def test_no_file_but_its_own_is_opened(tmp_path: Path) -> None:
    """The interpreter tells of every file that is opened; the data would lie in such a folder."""
    made()  # libraries are loaded
    opened: list[str] = []
    watching = [True]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if watching[0] and event == "open" and isinstance(arguments[0], str | bytes | Path):
            opened.append(str(arguments[0]))

    sys.addaudithook(hook)
    (tmp_path / "edges.parquet").write_bytes(b"the data")
    (tmp_path / "edges.parquet").read_bytes()
    assert str(tmp_path / "edges.parquet") in opened  # such a look would be told
    opened.clear()
    release = made()
    watching[0] = False
    outside = [name for name in opened if not Path(name).is_relative_to(release.folder.parent)]
    assert not [name for name in outside if name.endswith((".parquet", ".csv", ".npz"))]
    assert any(Path(name).is_relative_to(release.folder.parent) for name in opened)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"nodes": {}}, "parameters.nodes"),
        ({"nodes": {"person": 5, "nobody": 5}}, "parameters.nodes"),
        ({"parameters": {"relations": {"kin": {}}}}, "parameters.relations.kin"),
        ({"parameters": {"relations": {"knows": {"degrees": "bent"}}}}, "parameters.relations.knows.degrees"),
        (
            {"parameters": {"relations": {"knows": {"mixing": {"groups": "town", "within": 0.5}}}}},
            "parameters.relations.knows.mixing.groups",
        ),
        (
            {"parameters": {"relations": {"born": {"mixing": {"groups": 2, "within": 0.5}}}}},
            "parameters.relations.born.mixing",
        ),
        ({"nodes": {"person": 10**8}}, "parameters.relations"),
    ],
)
def test_what_is_not_declared_is_refused_with_its_field(changed: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(**changed)
    assert refused.value.members["field"] == field


def test_without_a_relation_that_is_protected_there_is_nothing_to_make() -> None:
    with pytest.raises(NotAccepted):
        gv.declared(
            {"node_types": [{"name": "node", "count": 5}], "edge_types": [{"name": "e", "public": True}]},
            progress=False,
        )
