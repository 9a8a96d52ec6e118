"""Protected node attributes of directed relations: whole fits of ``anchored`` and those of all neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.reads import node_values as reading
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.fit_losses import Asked, Losses, loss

NANO = 10**9
NODES = 3
PARTY = Attribute(name="party", protection="protected", categories=("left", "right"))
LINKS = list(itertools.permutations(range(NODES), 2))
STATES = list(itertools.product((False, True), repeat=len(LINKS)))
States = tuple[bool, ...]
FIRST = (0, 1, 0)
UNITS = (Unit.EDGE, Unit.PAIR)


def fit(unit: Unit, states: States, labels: tuple[int, ...]) -> None:
    """Under ``pair`` the relation has two steps, and its links are there at both of them."""
    steps = 2 if unit is Unit.PAIR else 1
    relation = EdgeType(name="tells", directed=True, temporal=steps > 1)
    kind = NodeType(count=NODES, attributes=(PARTY,))
    grid = TimeGrid(count=steps) if steps > 1 else None
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,), time=grid)
    kept = np.array([link for link, state in zip(LINKS, states, strict=True) if state], dtype=np.int64)
    source, target = np.tile(kept.reshape(-1, 2), (steps, 1)).T
    step = np.repeat(np.arange(steps), len(kept)) if steps > 1 else None
    names = pa.array([("left", "right", None)[each] for each in labels], type=pa.string())
    table = NodeTable(NODES, None, {"party": names})
    of = Graph.build(schema, {"node": table}, {"tells": EdgeTable(source, target, step)})
    anchored = registry.get("anchored")
    chosen = anchored.Params(node_attribute_share=0.5, evidence="none")
    plan = anchored.plan(chosen, PublicFacts(schema, unit, None, NANO, 0, ("tells",)))
    meter = Meter(plan, MemoryRecorder())
    anchored.fit(PrivateGraph(of, meter), plan, chosen, no_progress)


def units_within(unit: Unit, states: States) -> Iterator[States]:
    """The links without one unit: an edge, or a pair with all of its edges in both directions."""
    for place, (source, target) in enumerate(LINKS):
        out = {place, LINKS.index((target, source))} if unit is Unit.PAIR else {place}
        if states[place]:
            yield tuple(state and each not in out for each, state in enumerate(states))


def worst_losses(
    losses: Losses, unit: Unit, states: list[States], rows: list[States]
) -> tuple[Fraction, Fraction]:
    """Of whole fits on every neighbour of ``states`` by a unit of edges, and of ``rows`` by a row."""
    known: dict[tuple[States, tuple[int, ...]], Asked] = {}

    def asked(each: States, labels: tuple[int, ...] = FIRST) -> Any:
        if (each, labels) not in known:
            known[each, labels] = losses.of(fit, unit, each, labels)
        return known[each, labels]

    edge = row = Fraction(0)
    for each in states:
        for fewer in units_within(unit, each):
            edge = max(edge, loss(asked(each), asked(fewer)))
    for each in rows:
        for node, label in itertools.product(range(NODES), range(3)):
            labels = (*FIRST[:node], label, *FIRST[node + 1 :])
            row = max(row, loss(asked(each), asked(each, labels)))
    return edge, row


def together(unit: Unit, edge: Fraction, row: Fraction) -> Fraction:
    """What one epsilon covers: under ``pair`` a pair and a row at once."""
    return edge + row if unit is Unit.PAIR else max(edge, row)


@pytest.mark.parametrize("unit", UNITS)
def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
):
    few = [STATES[-1], (True, True, False, False, False, False), (True, True, True, True, False, False)]
    edge, row = worst_losses(Losses(monkeypatch), unit, few, few[:1])
    assert row > 0
    assert edge > 0.3 * NANO
    assert together(unit, edge, row) <= NANO


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_no_whole_fit_on_any_tiny_graph_does(unit: Unit, monkeypatch: pytest.MonkeyPatch):
    assert together(unit, *worst_losses(Losses(monkeypatch), unit, STATES, STATES)) <= NANO


def test_edges_that_are_not_capped_show_in_the_loss_of_whole_fits(
    monkeypatch: pytest.MonkeyPatch,
):
    losses = Losses(monkeypatch)
    monkeypatch.setattr(reading, "capped", lambda source, *_: np.ones(len(source), dtype=bool))
    whole = [STATES[-1]]
    assert worst_losses(losses, Unit.EDGE, [], whole)[1] > 1.2 * NANO


def test_a_pair_that_is_charged_for_one_direction_shows_in_the_loss_of_whole_fits(
    monkeypatch: pytest.MonkeyPatch,
):
    losses = Losses(monkeypatch)
    charged = worst_losses(losses, Unit.PAIR, STATES[-1:], [])[0]
    monkeypatch.setattr(reading.NodeValueReads, "multiplicity", lambda *_: 1)
    assert worst_losses(losses, Unit.PAIR, STATES[-1:], [])[0] > 1.05 * charged
