"""Relations that keep each record, in reports: counts of records, how many an edge has, and true answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.evaluation.paid import exact
from core.evaluation.tasks.edge_values import edge_values
from core.evaluation.values import compare_values
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.views.records import NUMBER, records_per_edge
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit, charged_together
from core.publishing.bundle import read_alignment
from core.publishing.carried import carried
from core.publishing.paid_errors import paid_errors
from core.reports.carried import Carried
from tests.support.publishing import public_of, publish
from tests.unit.test_publishing_measurements import Asking

USERS, STEPS, CAP = 12, 3, 4
EXACT = 900 * NANO
"""An epsilon at which all noise is 0, but for one session in ten million."""
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3))
EACH: dict[str, Any] = {"nano_epsilon": EXACT // 10, "purpose": "x"}
SUMS = EACH | {"nano_epsilon": EXACT // 5}
"""Twice as much: sums at nodes move by 8, the others by 4 at most."""


def rated(seed: int) -> Graph:
    """Users who rate one another in three steps, up to four times in each."""
    rng = np.random.default_rng(seed)
    relation = EdgeType(
        name="knows",
        source="user",
        target="user",
        temporal=True,
        attributes=(STARS,),
        multiplicity="each",
        records_per_slot=CAP,
    )
    kinds = (NodeType(name="user", count=USERS),)
    schema = GraphSchema(node_types=kinds, edge_types=(relation,), time=TimeGrid(count=STEPS))
    source, target = np.triu_indices(USERS, 1)
    step = np.repeat(np.arange(STEPS), len(source))
    kept = rng.random(len(step)) < 0.5
    source, target = np.tile(source, STEPS)[kept], np.tile(target, STEPS)[kept]
    edge = np.repeat(np.arange(len(source)), rng.integers(1, CAP + 1, len(source)))
    values = EdgeValues({"stars": 1 + (source[edge] + rng.integers(0, 2, len(edge))) % 3}, edge)
    return Graph.build(schema, {}, {"knows": EdgeTable(source, target, step[kept], values)})


def reads(private: PrivateGraph) -> None:
    """All of what a fit may ask, of values and of the number of records."""
    for each in (private.edge_values("knows", "stars"), private.edge_records("knows")):
        halves, third = np.arange(USERS) % 2, np.arange(each.bins.count) % 3
        each.histogram(**EACH)
        each.by_step(periods=np.array([0, 1, 1]), labels=third, **EACH)
        each.by_classes(sources=halves, targets=halves, labels=third, **EACH)
        each.node_sums(side="both", scores=np.arange(each.bins.count) % 2, **SUMS)


class Asks(Asking):
    """Asks all of it, at the cost of the cells that such reads are charged in."""

    def plan(self, params: Any, public: Any) -> PrivacyPlan:
        event, steps = Pure(EXACT, "laplace"), charged_together(public.unit, range(STEPS))
        allotments = tuple(Allotment("knows", step, event, "reads") for step in steps)
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, allotments)


def session(unit: Unit) -> Meter:
    steps = charged_together(unit, range(STEPS))
    granted = tuple(Allotment("knows", step, Pure(EXACT, "x"), "x") for step in steps)
    meter = Meter(PrivacyPlan("x", unit, None, STEPS, granted), MemoryRecorder())
    reads(PrivateGraph(rated(1), meter))
    return meter


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR])
def test_the_true_answer_to_every_read_is_known(unit: Unit):
    found = list(session(unit).measurements)
    assert len(found) == 8
    for each in found:
        assert exact(rated(1), each).tolist() == each.values.tolist(), each.query


def test_histograms_count_records_and_edges_by_how_many_they_have():
    of, drawn = rated(1).edges["knows"], rated(2)
    stars, numbers = (
        Carried.model_validate(each) for each in carried(drawn, session(Unit.EVENT).measurements)
    )
    assert (stars.attribute, numbers.attribute) == ("stars", NUMBER)
    table = drawn.edges["knows"]
    assert stars.paid == tuple(np.bincount(of.values.columns["stars"] - 1))
    assert stars.released == tuple(np.bincount(table.values.columns["stars"] - 1))
    assert numbers.paid == tuple(np.bincount(records_per_edge(of) - 1))
    assert numbers.released == tuple(np.bincount(records_per_edge(table) - 1))
    assert np.sum(stars.by_step.released) == table.values.count
    assert np.sum(numbers.by_step.released) == table.count


def test_a_paid_number_of_some_of_each_pairs_records_stands_beside_no_count_of_all():
    found = [Carried.model_validate(each) for each in carried(rated(2), session(Unit.PAIR).measurements)]
    assert [each.paid for each in found] == [None, None]
    assert all(each.by_step.paid is None for each in found)


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR])
def test_a_release_tells_what_was_paid_for_and_curators_how_far_that_is_off(tmp_path: Path, unit: Unit):
    generator = Asks(reads)
    generator._sample = rated(2)
    publish(generator, rated(1), tmp_path, nano_epsilon=EXACT, edge_types=("knows",), formats=(), unit=unit)
    assert [each["attribute"] for each in public_of(tmp_path)["carried"]] == ["stars", NUMBER]
    folder = tmp_path / "job" / "release"
    order = read_alignment(folder.parent / "private" / "alignment.parquet")
    rows = {each["query"]: each for each in paid_errors(rated(1), rated(2), folder, order)}
    assert {"value_histogram", "values_by_step", "record_histogram", "records_by_step"} <= rows.keys()
    assert all(each["actual"] == 0 and each["held"] == 1 for each in rows.values())
    assert rows["record_histogram"]["synthetic"] > 0


def test_curators_compare_records_and_how_many_an_edge_has():
    ours, theirs = rated(1), rated(2)
    relation = ours.schema.edge_types[0]
    found = {each["name"]: each["row"] for each in compare_values(ours, theirs, relation)}
    assert list(found) == ["stars", NUMBER]
    tables = [each.edges["knows"] for each in (ours, theirs)]
    means = [each.values.columns["stars"].mean() for each in tables]
    assert found["stars"]["scalars"]["value_mean"]["original"] == pytest.approx(means[0])
    numbers = [records_per_edge(each).mean() for each in tables]
    assert found[NUMBER]["scalars"]["value_mean"]["synthetic"] == pytest.approx(numbers[1])
    same = compare_values(ours, ours, relation)
    assert all(each["row"]["distances"]["value_total_variation"] == 0 for each in same)
    (task,) = edge_values(ours, theirs, relation)
    assert 0 < task["trained_on_synthetic"] <= 1
