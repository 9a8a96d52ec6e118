"""A declared period: numbers of edges that are as they were one period ago, in keyframe and in schemas."""

import numpy as np
import pytest
from pydantic import ValidationError

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.snapshots import tick_schema
from core.methods.base import PublicFacts
from core.methods.keyframe import GENERATOR, KeyframeParams
from core.methods.keyframe.counts import EdgeCount, Phase
from core.privacy.units import Unit

SCALE, SLOTS, DAY = 16.7, 1_000_000, 24  # the noise of a count at epsilon 1 and w = 5
NANO = 10**9


def hours(days: int) -> np.ndarray:
    """Days of 24 hours with a night, and up to 300 edges at noon."""
    hour = np.arange(days * DAY) % DAY
    return np.rint(300 * np.maximum(0, np.sin(2 * np.pi * hour / DAY - 1)))


def released(true: np.ndarray, period: int | None, noise: np.ndarray) -> np.ndarray:
    """What is released of these counts under this noise."""
    found: list[float] = []
    known: dict[int, Phase] = {}
    count: EdgeCount | None = None
    for step, measured in enumerate(true + noise):
        past = known.get(step % period) if period else None
        start = (float(measured), SCALE, SLOTS)
        count = EdgeCount.start(*start) if count is None else count.step(*start, 1, past)
        if period:
            known[step % period] = count.phase()
        found.append(count.estimate()[0])
    return np.array(found)


def test_a_period_brings_days_closer():
    true, rng = hours(8), np.random.default_rng(2)
    errors = {DAY: 0.0, None: 0.0}
    for _ in range(4):
        noise = np.rint(rng.laplace(0, SCALE, len(true)))
        for period in errors:
            far = np.abs(released(true, period, noise) - true)[DAY:] / np.maximum(true[DAY:], 10)
            errors[period] += far.mean() / 4
    assert errors[DAY] < 0.8 * errors[None]


def test_the_first_period_recalls_nothing():
    true, noise = hours(1), np.rint(np.random.default_rng(3).laplace(0, SCALE, DAY))
    np.testing.assert_array_equal(released(true, DAY, noise), released(true, None, noise))


def test_a_period_that_is_none_costs_little():
    rng = np.random.default_rng(4)
    true = np.rint(np.exp(5 + np.cumsum(0.1 * rng.standard_normal(120))))
    found = {7: 0.0, None: 0.0}
    for _ in range(4):
        noise = np.rint(rng.laplace(0, SCALE, len(true)))
        for period in found:
            found[period] += np.mean(np.abs(released(true, period, noise) - true) / true)
    assert found[7] < 1.25 * found[None]


def test_what_is_recalled_is_bayes_rule_with_a_quarter_of_the_past():
    """A night that the number's own past rules out is likely where the period says so."""
    busy = EdgeCount.start(2000.0, SCALE, SLOTS)
    night, noon = Phase(1.0, 1.0, 1.0), Phase(0.0, 2000.0, 100.0)
    chances = [busy.step(20.0, SCALE, SLOTS, 1, past).phase().empty for past in (night, None, noon)]
    assert chances[0] > 0.9 > chances[1] > 0.5
    assert chances[2] == pytest.approx(chances[1], rel=0.05), "a noon far away has no say"
    alike = busy.step(2000.0, SCALE, SLOTS, 1, noon).phase()
    assert alike.mean == pytest.approx(2000, rel=0.01)


def schema_of(period: int | None, count: int = 30) -> GraphSchema:
    grid = TimeGrid(start=7, width=3, count=count, period=period)
    return GraphSchema(node_types=(NodeType(count=50),), edge_types=(EdgeType(temporal=True),), time=grid)


def test_a_period_is_written_only_where_it_is_declared():
    assert schema_of(None).model_dump(mode="json")["time"] == {"start": 7, "width": 3, "count": 30}
    written = schema_of(24).model_dump_json()
    assert GraphSchema.model_validate_json(written) == schema_of(24)
    assert tick_schema(schema_of(24), ["edge"], 5).time == TimeGrid(start=22, width=3, count=1, period=24)


@pytest.mark.parametrize("period", [0, 1, -24, 1001, 1.5])
def test_what_is_no_period_is_refused(period):
    with pytest.raises(ValidationError, match="period"):
        schema_of(period)


@pytest.mark.parametrize("tick", [None, 3])
def test_no_plan_hangs_on_a_period(tick):
    """What is recalled was published: it costs nothing."""
    digests = set()
    for period in (None, 24):
        schema = schema_of(period, 1 if tick else 30)
        facts = PublicFacts(schema, Unit.W_EVENT, 5, NANO, 0, ("edge",), tick)
        digests.add(GENERATOR.plan(KeyframeParams(), facts).digest())
    assert len(digests) == 1
