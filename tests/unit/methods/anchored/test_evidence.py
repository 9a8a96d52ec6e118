"""Evidence of a cell: what its columns hold, what it charges, and how large it is expected to be."""

import numpy as np
import pytest

from core.graphs.schema import EdgeType
from core.methods._shared.slots import evidence
from core.privacy.accounting.events import LAZY_RESPONSE, NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms.randomised_response import WORD, Flips
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import graph_of, random_pairs

NODES = 60


def cell_of(nano, *, unit=Unit.EDGE, steps=None, directed=False):
    graph = graph_of(random_pairs(NODES, 0.2), NODES, steps=steps, directed=directed)
    step = None if steps is None else 0
    plan = PrivacyPlan(
        "t", unit, None, graph.schema.steps, (Allotment("edge", step, Pure(nano, "any"), "x"),)
    )
    meter = Meter(plan, MemoryRecorder())
    true = graph.cell("edge", step)
    return PrivateGraph(graph, meter).cell("edge", step), meter, true.source * NODES + true.target


def test_materialised_evidence_is_the_slots_that_came_out_present():
    cell, meter, true = cell_of(2 * NANO)
    columns = evidence.measure(cell, 2 * NANO)
    assert set(columns) == {"y", "flips"}
    assert (np.diff(columns["y"]) > 0).all()
    flips = Flips.symmetric(2 * NANO)
    assert evidence.flips_of(columns) == flips
    p, slots = flips.add / WORD, cell.shape.slots
    stays, appear = np.isin(true, columns["y"]).sum(), (~np.isin(columns["y"], true)).sum()
    assert stays / len(true) == pytest.approx(1 - p, abs=6 * np.sqrt(p * (1 - p) / len(true)))
    absent = slots - len(true)
    assert appear / absent == pytest.approx(p, abs=6 * np.sqrt(p * (1 - p) / absent))
    assert [entry.event for entry in meter.transcript] == [Pure(flips.nano_epsilon, "randomised_response")]


def test_lazy_evidence_is_recorded_as_such():
    cell, meter, true = cell_of(2 * NANO)
    columns = evidence.measure(cell, 2 * NANO, room=len(true) + 9)
    assert set(columns) == {"edge", "prf_key", "flips"}
    assert columns["edge"][:-9].tolist() == np.sort(true).tolist()
    assert (columns["prf_key"].dtype, columns["prf_key"].shape) == (np.uint64, (4,))
    assert evidence.flips_of(columns) == Flips.symmetric(2 * NANO)
    assert [entry.event.mechanism for entry in meter.transcript] == [LAZY_RESPONSE]


@pytest.mark.parametrize("room", [None, 50])
def test_slots_of_a_pair_linked_both_ways_share_what_is_paid(room):
    cell, meter, _ = cell_of(2 * NANO, unit=Unit.PAIR, steps=1, directed=True)
    columns = evidence.measure(cell, 2 * NANO, room=room)
    assert evidence.flips_of(columns) == Flips.symmetric(NANO)
    assert meter.transcript[0].event.nano_epsilon == 2 * Flips.symmetric(NANO).nano_epsilon


def test_expected_additions_are_slots_times_their_probability():
    shape = Shape(EdgeType(source="a", target="b"), 1_000, 2_000)
    assert evidence.additions(shape, NANO) == pytest.approx(2e6 / (1 + np.e), abs=1)
    assert evidence.additions(shape, 2 * NANO, multiplicity=2) == evidence.additions(shape, NANO)
    assert evidence.additions(shape, 900 * NANO) == 1
