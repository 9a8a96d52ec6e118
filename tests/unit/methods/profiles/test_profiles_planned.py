"""What ``profiles`` says beforehand of its noise is the noise that its reads have."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.methods.base import PublicFacts
from core.methods.profiles import GENERATOR, ProfilesParams
from core.methods.profiles.budget import noises
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.reports.precision import planned
from core.workflows.jobs.questions import told
from tests.support.replaced_persons import CLASS, TIMED, built, schema_of, some_records

SCHEMA = schema_of(TIMED, CLASS)
NODES = {kind.name: kind.count or 0 for kind in SCHEMA.node_types}
PLAN = GENERATOR.plan(
    ProfilesParams(), PublicFacts(SCHEMA, Unit.NODE, None, 2 * NANO, 10**12, ("rates", "works"))
)
READS = {
    (each.query, each.edge_type): each
    for each in GENERATOR.planned_reads(ProfilesParams(), PLAN, SCHEMA, NODES)
}


def test_every_count_and_sum_is_told() -> None:
    assert set(READS) == {
        *((query, "rates") for query in ("person_degrees", "person_activity", "thing_totals")),
        ("thing_totals_by_period", "rates"),
        ("person_classes", "works"),
    }
    lines = planned(Unit.NODE, SCHEMA, PLAN, READS.values())
    assert {(line.query, line.edge_type) for line in lines} == {
        key for key in READS if key[0].startswith("person_")
    }
    assert all(1.95 < line.within / (line.deviation or 0) < 2.2 for line in lines)


@pytest.mark.parametrize("bound", [1, 7, 40])
def test_the_noise_is_the_one_that_was_told(bound: int) -> None:
    meter = Meter(PLAN, MemoryRecorder())
    reads = PrivateGraph(built(SCHEMA, some_records(SCHEMA, 3)), meter).people_and_things()
    noise, periods = noises(PLAN), np.arange(SCHEMA.steps)

    def paid(what: str) -> dict[str, object]:
        return {"noise": noise[what], "purpose": what}

    found = {
        ("person_degrees", "rates"): reads.degree_histogram(
            "rates", bounds=np.array([0, 1, 2]), **paid("degrees of rates")
        ),
        ("person_classes", "works"): reads.class_histogram("works", **paid("classes of works")),
        ("thing_totals", "rates"): reads.thing_totals(
            "rates", periods=periods * 0, bound=bound, **paid("totals of rates")
        ),
        ("thing_totals_by_period", "rates"): reads.thing_totals(
            "rates", periods=periods, bound=bound, **paid("steps of rates")
        ),
    }
    for key, answer in found.items():
        root = math.sqrt(bound) if key[0].startswith("thing_") else 1.0
        assert answer.deviation == pytest.approx((READS[key].deviation or 0) * root, rel=2e-3)


def test_totals_of_things_are_told_where_a_bound_on_persons_is_declared() -> None:
    def asked(schema):  # type: ignore[no-untyped-def]
        return told(GENERATOR, ProfilesParams(), PLAN, schema, NODES, None, ("rates", "works"))[1]

    assert asked(SCHEMA) == ()
    kinds = tuple(
        kind.model_copy(update={"degree_bound": 25}) if kind.protected else kind for kind in SCHEMA.node_types
    )
    (answer,) = asked(SCHEMA.model_copy(update={"node_types": kinds}))
    assert (answer.question, answer.edge_type) == ("thing_total_within_95", "rates")
    assert answer.value == math.ceil(1.959964 * 5 * (READS["thing_totals", "rates"].deviation or 0))
    assert "25 edges" in (answer.assumed or "")
