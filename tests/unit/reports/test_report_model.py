"""The report: closed, versioned, and free of comparisons in its public part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from pydantic import ValidationError

from core.evaluation import catalogue, suite
from core.evaluation.attacks.run import run_attacks
from core.evaluation.metric import Suite, of_suite
from core.evaluation.whole.definitions import LASTING, OVER_TIME
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.events import (
    Composed,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
)
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit
from core.reports import build
from core.reports.base import NANO
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report

SHIPPED = Path(__file__).resolve().parents[3] / "docs" / "report.schema.json"
SCHEMA = GraphSchema(
    node_types=(NodeType(count=20),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=2)
)
ORIGIN = build.Origin("job-1", "dataset-1", "version-1", "counts", "Counts", None)


def graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    edges = EdgeTable(rng.integers(0, 20, 80), rng.integers(0, 20, 80), rng.integers(0, 2, 80))
    return Graph.build(SCHEMA, {"node": NodeTable(20)}, {"edge": edges})


def paid() -> tuple[PrivacyPlan, Meter]:
    """Two snapshots: each pays for its edge count, then for a parallel group."""
    pairs = [(t, Pure(400_000_000, "laplace"), "edge count") for t in (0, 1)]
    pairs += [(t, Pure(600_000_000, "laplace"), "degrees") for t in (0, 1)]
    plan = PrivacyPlan(
        "counts", Unit.EVENT, None, 2, tuple(Allotment("edge", t, event, why) for t, event, why in pairs)
    )
    meter = Meter(plan, MemoryRecorder())
    for t in (0, 1):
        meter.charge("edge", t, Pure(400_000_000, "laplace"), "edge count")
        keys = meter.open_group("edge", t, 600_000_000, ("inside", "between"), "degrees")
        for key in keys:
            meter.charge_branch(key, "edge", t, Pure(600_000_000, "laplace"), "degrees")
    return plan, meter


def public(seed: int = 1) -> PublicPart:
    plan, meter = paid()
    return build.public_part(
        guarantee=guarantee_of(plan, meter.transcript, 0),
        assurance="proven",
        plan=plan,
        transcript=meter.transcript,
        schema=SCHEMA,
        parameters={"bins": 3},
        statistics=suite.public_statistics(graph(seed)),
        origin=ORIGIN,
        artifacts=[
            {
                "name": "release/edges.parquet",
                "role": "artifact",
                "media_type": "application/vnd.apache.parquet",
                "size_bytes": 12,
                "sha256": "0" * 64,
            }
        ],
    )


def report() -> Report:
    part = public()
    comparison = suite.compare(graph(1), graph(2), Suite.QUICK, lambda *_: None)
    return Report(
        public=part,
        curator=build.curator_part(
            part, comparison, run_attacks(graph(1), graph(2), Suite.QUICK, lambda *_: None)
        ),
    )


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_a_full_report_satisfies_its_json_schema_and_survives_json():
    full = report()
    document = json.loads(json.dumps(full.model_dump(mode="json"), allow_nan=False))
    schema = json.loads(SHIPPED.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert Report.model_validate(document) == full
    assert document["schema_version"] == "3.0"
    document["public"]["guarantee"]["kind"] = "certain"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)


def test_the_public_part_has_no_place_for_a_comparison():
    curator_only = {"original", "synthetic", "absolute_error", "relative_error", "comparison", "attacks"}
    curator_only |= {metric.name for metric in (*catalogue.DISTANCES, *OVER_TIME) if metric.better} | {
        "degree_signature",
        "per_step",
        "sequence",
        "overall",
        "warnings",
    }
    schema = PublicPart.model_json_schema()
    properties = set(keys(schema["properties"]))
    for definition in schema["$defs"].values():
        properties |= set(definition.get("properties", {}))
    assert not properties & curator_only
    assert not set(keys(public().model_dump(mode="json"))) & curator_only


def test_the_names_in_a_report_are_the_suites_names_and_every_one_is_explained():
    dumped = report().model_dump(mode="json")
    comparison = dumped["curator"]["comparison"]
    row = comparison["edge_types"][0]["rows"][0]
    scalars, distances = (
        [metric.name for metric in of_suite(kind, Suite.QUICK)]
        for kind in (catalogue.SCALARS, catalogue.DISTANCES)
    )
    assert list(row["scalars"]) == scalars
    assert list(row["distances"]) == distances
    assert set(comparison["metrics"]) >= {*scalars, *distances}
    statistics = dumped["public"]["statistics"]
    assert list(statistics["edge_types"][0]["means"]) == scalars
    lasting = [metric.name for metric in LASTING]
    assert list(statistics["metrics"]) == [*scalars, *lasting]
    assert list(statistics["over_steps"]["means"]) == lasting
    assert set(comparison["metrics"]) >= set(comparison["whole"]["over_steps"]["means"]["distances"])


def test_both_editions_show_what_stays_from_step_to_step():
    """The public one has the release's own figures; the original's and the distances are the curators'."""
    full = report()
    alone = Report(public=full.public)
    for written in (render, markdown):
        open_text, curated = written(alone), written(full)
        for text in (open_text, curated):
            assert "From step to step" in text
            assert "Edges that persist" in text
        assert "Lost rises" in curated
        assert "Lost rises" not in open_text
    assert "Edges that persist over time" in render(alone)


@pytest.mark.parametrize("place", [(), ("public",), ("public", "guarantee"), ("public", "statistics")])
def test_an_unknown_field_is_refused(place):
    document = report().model_dump(mode="json")
    inner = document
    for name in place:
        inner = inner[name]
    inner["surprise"] = 1
    with pytest.raises(ValidationError):
        Report.model_validate(document)


def test_nan_and_infinity_are_refused():
    for value in (float("nan"), float("inf")):
        document = report().model_dump(mode="json")
        document["curator"]["comparison"]["overall"]["distances"]["degree_kl_divergence"] = value
        with pytest.raises(ValidationError):
            Report.model_validate(document)


def test_a_report_is_frozen():
    with pytest.raises(ValidationError):
        report().curator = None  # type: ignore[misc]


def test_the_guarantee_is_the_plans_in_exact_decimals():
    part = public()
    assert (part.guarantee.kind, part.guarantee.epsilon, part.guarantee.delta) == ("pure", "1", "0")
    assert part.guarantee.unit is Unit.EVENT
    assert "P[S] <= e^1 P'[S]" in part.guarantee.statement
    assert part.provenance.plan_digest == paid()[0].digest()
    assert part.transcript.per_step_nano_epsilon == (NANO, NANO)


def test_the_transcript_is_summed_by_purpose_and_paid_groups_are_marked():
    rows = {(r.purpose, r.mechanism): r for r in public().transcript.by_purpose}
    assert public().transcript.operations == 8
    assert rows["edge count", "laplace"].nano_epsilon == 800_000_000
    assert (rows["edge count", "laplace"].operations, rows["edge count", "laplace"].within_group) == (
        2,
        False,
    )
    assert rows["degrees", "parallel group"].nano_epsilon == 1_200_000_000
    assert rows["degrees", "laplace"].within_group


def test_a_transcript_of_very_many_purposes_is_told_as_one():
    event = Pure(1, "laplace")
    many = [Allotment("edge", t % 2, event, f"purpose {t}") for t in range(200)]
    plan = PrivacyPlan("counts", Unit.EVENT, None, 2, tuple(many))
    meter = Meter(plan, MemoryRecorder())
    for allotment in many:
        meter.charge("edge", allotment.step, event, allotment.purpose)
    found = build.transcript_summary(plan, meter.transcript)
    assert [(row.purpose, row.operations, row.nano_epsilon) for row in found.by_purpose] == [
        ("200 purposes", 200, 200)
    ]


def test_a_release_without_guarantee_prints_no_epsilon():
    event = Unprotected("the method reads the raw graph")
    plan = PrivacyPlan("raw", Unit.EVENT, None, 2, (Allotment("*", None, event, "unprotected access"),))
    meter = Meter(plan, MemoryRecorder())
    meter.charge("*", None, event, "unprotected access")
    part = build.guarantee_part(guarantee_of(plan, meter.transcript, 0), "experimental")
    assert (part.kind, part.epsilon, part.delta) == ("none", None, None)
    assert part.reasons == ("the method reads the raw graph",)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (GaussianEvent(2.0), "gaussian"),
        (Repeated(PoissonSampled(0.5, GaussianEvent(1.0)), 3), "repeated poisson-sampled gaussian"),
        (Composed((Pure(1, "laplace"),)), "composed"),
        (Parallel((Pure(1, "laplace"),)), "parallel group"),
        (Pure(1, "exponential"), "exponential"),
        (Unprotected("x"), "unprotected"),
    ],
)
def test_every_event_has_a_name(event, name):
    assert build.mechanism_name(event) == name
