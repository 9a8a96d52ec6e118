"""Values of both ends of a relation between two node types, from a release to its report and comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.graphs.graph import Graph
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing import release
from core.publishing.evaluate import run_evaluation
from core.publishing.measurements import LIST
from core.reports.evidence import CuratorPart
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from tests.support.publishing import evaluation, public_of, spec
from tests.support.two_types import rated

SHARE = {"node_attribute_share": 0.3, "evidence": "none"}
ASKED: dict[str, Any] = {
    "unit": Unit.EDGE,
    "edge_types": ("rated",),
    "nano_epsilon": 400 * 10**9,  # so that caps leave no edge out
    "params": SHARE,
}


def original() -> Graph:
    """Users of two countries, items of two topics: mostly a country rates one topic."""
    users, items = np.arange(40) % 2, np.arange(30) % 3 // 2
    chance = np.where(users[:, None] == items[None, :], 0.4, 0.05)
    edges = np.argwhere(np.random.default_rng(2).random((40, 30)) < chance)
    return rated([(int(user), int(item)) for user, item in edges], users.tolist(), items.tolist())


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, of = tmp_path_factory.mktemp("between"), original()
    write_graph(of, folder / "original")
    recorder, generator = MemoryRecorder(), registry.get("anchored")
    asked = spec(generator, of.schema, formats=(), **ASKED)
    release.publish(generator, folder / "original", asked, folder / "job", recorder, lambda *_: None)
    (folder / "job" / "schema.json").write_text(of.schema.model_dump_json())
    entries = [entry.to_json() for entry in recorder.entries]
    (folder / "job" / "transcript.json").write_text(json.dumps(entries))
    return folder / "job"


def test_the_report_counts_edges_by_what_both_types_carry(job: Path):
    part = public_of(job.parent)
    of = {(each["of"], each["attribute"]): each for each in part["carried"]}
    (table,) = of["user", "country"]["mixing"]
    assert not of["item", "topic"]["mixing"]
    assert (table["rows"], table["columns"]) == (["a", "b"], ["x", "y"])
    assert table["column_attribute"] == "topic of item"
    drawn, paid = np.array(table["released"]), np.array(table["paid"])
    truth = np.zeros((2, 2), dtype=int)
    edges = original().edges["rated"]
    np.add.at(truth, (edges.source % 2, edges.target % 3 // 2), 1)
    assert table["most_edges_of_a_node"] >= np.bincount(edges.source).max() - 1
    assert (np.abs(paid - truth) <= 5 * table["within"]).all()
    assert np.abs(drawn / drawn.sum() - truth / truth.sum()).sum() / 2 < 0.15
    page = render(Report(public=PublicPart.model_validate(part), curator=None))
    assert "by country of the source and topic of item" in page
    told = {each["code"]: each["text"] for each in part["caveats"]}
    assert "country of user; topic of item" in told["node_values_synthesised"]
    lines = {each["edge_type"]: each for each in part["precision"] if each["query"] == "two_sided_mixing"}
    assert set(lines) == {"rated"}


def test_paid_numbers_are_listed_with_the_groups_and_caps_of_both_ends(job: Path):
    listed = json.loads((job / "release" / LIST).read_text())["measurements"]
    (found,) = [each for each in listed if each["query"] == "two_sided_mixing"]
    assert found["keys"] == ["source bin group", "target bin group"]
    assert found["values"] == 4
    ends = found["ends"]
    assert {name: own["attribute"] for name, own in ends.items()} == {"source": "country", "target": "topic"}
    assert ends["source"]["bins"] == ["a", "b"]
    assert ends["target"]["bin_groups"] == [0, 1]
    assert ends["target"]["most_edges_of_a_node"] > 0


def test_curators_see_how_far_both_ends_values_are_from_the_originals(job: Path, tmp_path: Path):
    asked = {name: value for name, value in ASKED.items() if name != "params"}
    run_evaluation(
        graph_folder=job.parent / "original",
        release_folder=job,
        spec=evaluation(
            method="anchored", suite="standard", params=SHARE, shadows=1, shadow_links=10**6, **asked
        ),
        out=tmp_path / "evaluation",
        progress=lambda *_: None,
    )
    part = json.loads((tmp_path / "evaluation" / "curator.json").read_text())
    found = {each["name"]: each["row"] for each in part["comparison"]["edge_types"][0]["node_values"]}
    assert set(found) == {"country of user", "topic of item"}
    for row in found.values():
        assert 0.5 < row["scalars"]["node_value_association"]["original"] < 1
        assert row["distances"]["node_value_mixing_distance"] < 0.15
    paid = {each["query"]: each for each in part["paid"]}
    assert paid["two_sided_mixing"]["values"] == 4
    report = Report(
        public=PublicPart.model_validate(public_of(job.parent)), curator=CuratorPart.model_validate(part)
    )
    assert "What nodes carry: country of user" in render(report)
    assert "What nodes carry: topic of item" in markdown(report)
