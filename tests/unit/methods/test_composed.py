"""A structure for each relation under one plan: what auto takes and carries, whole fits, and their proofs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted, UnknownMethod
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import PublicFacts, no_progress, synthesised_by
from core.methods.composed.params import ComposedParams, methods_of
from core.methods.composed.parts import facts_of
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import Settled, settle
from tests.support.schema_grid import Shape, counts_of, graph_of, shapes

NANO = 10**9
EVERY = [shape for shape in shapes() if shape.unit is not Unit.NODE]
SOME = 16


def settled(shape: Shape, **parameters: Any) -> tuple[PublicFacts, Settled]:
    facts = shape.facts()
    return facts, settle("auto", parameters, (), facts, counts_of(facts))


def test_auto_takes_every_schema_and_carries_all_that_it_declares():
    carried: Counter[Unit] = Counter()
    for shape in EVERY:
        facts, found = settled(shape)
        cost = found.plan.cost()
        assert (cost.nano_epsilon or 0) <= facts.nano_epsilon, shape
        assert cost.delta_atto <= facts.delta_atto, shape
        assert synthesised_by(found.generator, found.params) == shape.carries_all, shape
        carried[shape.unit] += 1
    assert carried == {Unit.EDGE: 480, Unit.EVENT: 480, Unit.W_EVENT: 480, Unit.PAIR: 480}


def checked_release(shape: Shape, folder: Path) -> None:
    """Fit and draw the shape: every declared column is there, and the meter keeps to the plan."""
    facts, found = settled(shape)
    generator, params = found.generator, found.params
    meter = Meter(found.plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph_of(facts), meter), found.plan, params, no_progress)
    assert guarantee_of(found.plan, meter.transcript, facts.delta_atto).epsilon <= 1
    drawn = model.sample(public_generator(5), no_progress)
    for relation in facts.schema.edge_types:
        table = drawn.edges[relation.name]
        assert table.count > 0
        assert set(table.values.columns if table.values else ()) == {a.name for a in relation.attributes}
        for attribute in relation.attributes:
            column, (low, high) = table.values.columns[attribute.name], attribute.range
            assert low <= column.min() <= column.max() <= high
    for kind in facts.schema.node_types:
        declared = {a.name for a in kind.attributes if a.protection == "protected" and a.name != "embedding"}
        assert set(drawn.nodes[kind.name].attributes) == declared
    model.save(folder)
    again = generator.load(folder).sample(public_generator(5), no_progress)
    for name, table in drawn.edges.items():
        assert np.array_equal(table.source, again.edges[name].source)
        assert np.array_equal(table.target, again.edges[name].target)


@pytest.mark.parametrize("shape", np.random.default_rng(11).choice(np.array(EVERY, object), SOME, False))
def test_a_release_has_every_declared_column(shape: Shape, tmp_path: Path):
    checked_release(shape, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("shape", np.random.default_rng(12).choice(np.array(EVERY, object), 200, False))
def test_any_release_has_every_declared_column(shape: Shape, tmp_path: Path):
    checked_release(shape, tmp_path)
