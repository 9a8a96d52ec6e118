"""The curators' comparison after publication: node by node, by suite, and never part of the release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.evaluation.compare import compared
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing.evaluate import run_evaluation
from core.publishing.release import run_release
from core.publishing.spec import EvaluationSpec
from core.reports.model import PublicPart, Report
from tests.support.publishing import (
    NANO,
    Fixed,
    evaluation,
    graph,
    public_of,
    publish,
    spec,
)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of graph 1 whose synthetic part is graph 2."""
    out = tmp_path_factory.mktemp("released")
    publish(Fixed(graph(2)), graph(1), out)
    return out


def evaluated(suite: Suite = Suite.QUICK) -> EvaluationSpec:
    """Of a release by a method that no worker knows any more: no shadows are made of it."""
    return evaluation(
        suite=suite, method="fixed", unit=Unit.EVENT, nano_epsilon=NANO, edge_types=("talks", "knows")
    )


def test_evaluation_compares_node_by_node_and_stays_with_the_curators(released, tmp_path):
    calls: list[tuple[str, int, int]] = []
    run_evaluation(
        graph_folder=released / "original",
        release_folder=released / "job",
        spec=evaluated(),
        out=tmp_path,
        progress=lambda *call: calls.append(call),
    )
    found = json.loads((tmp_path / "curator.json").read_text())
    report = Report(public=public_of(released), curator=found)
    assert Report.model_validate(report.model_dump(mode="json")) == report
    assert [t["name"] for t in found["comparison"]["edge_types"]] == ["talks", "knows"]
    # The figures are those of the graphs in their own order: the pseudonyms are undone.
    cells = graph(1).cell("talks", 0), graph(2).cell("talks", 0)
    expected = json.loads(json.dumps(compared(*(UndirectedView.of(cell) for cell in cells), Suite.QUICK, 0)))
    shown = found["comparison"]["edge_types"][0]["rows"][0]
    assert shown["distances"] == pytest.approx(expected["distances"])
    assert shown["scalars"]["triangles"] == expected["scalars"]["triangles"]
    assert {stage for stage, _, _ in calls} == {"load", "compare", "whole", "anchors", "shadow", "attack"}


def test_evaluation_of_a_perfect_copy_finds_no_difference(tmp_path):
    publish(Fixed(graph(1)), graph(1), tmp_path)
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=tmp_path / "job",
        spec=evaluated(),
        out=tmp_path,
        progress=lambda *_: None,
    )
    found = json.loads((tmp_path / "curator.json").read_text())
    distances = found["comparison"]["overall"]["distances"]
    assert distances["degree_total_variation"] == 0.0
    assert distances["top_eigenvector_overlap"] == 1.0
    attack = found["attacks"]["degree_signature"]
    assert attack["per_step"] == pytest.approx(attack["reference_per_step"])


@pytest.mark.parametrize(("unit", "window"), [(Unit.EVENT, None), (Unit.W_EVENT, 2)])
def test_psgraph_publishes_and_is_evaluated(tmp_path, unit, window):
    generator = registry.get("psgraph")
    original = graph(3)
    write_graph(original, tmp_path / "original")
    recorder = MemoryRecorder()
    asked = spec(generator, original.schema, unit=unit, window=window, formats=("csv", "parquet"))
    run_release(
        graph_folder=tmp_path / "original",
        task=asked,
        out=tmp_path / "job",
        recorder=recorder,
        progress=lambda *_: None,
    )
    part = PublicPart.model_validate(public_of(tmp_path))
    assert recorder.entries
    assert part.guarantee.kind == "pure"
    assert float(part.guarantee.epsilon) <= 1
    assert part.transcript.operations == len(recorder.entries)
    again = generator.load(tmp_path / "job" / "private" / "model")
    assert again is not None
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=tmp_path / "job",
        spec=evaluation(
            suite=Suite.STANDARD,
            method="psgraph",
            params=asked.release.params,
            unit=unit,
            window=window,
            nano_epsilon=asked.release.nano_epsilon,
            edge_types=asked.release.edge_types,
        ),
        out=tmp_path,
        progress=lambda *_: None,
    )
    report = Report(public=part, curator=json.loads((tmp_path / "curator.json").read_text()))
    assert report.curator.suite == "standard"
    ratio = [a for a in report.curator.attacks.inference if a.name == "likelihood_ratio"]
    assert ratio
    assert {a.edge_type for a in ratio} == set(asked.release.edge_types)
