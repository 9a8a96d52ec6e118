"""Units edge, event and pair over edges in parts: no unit moves a read farther than its noise hides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.graphs.graph import NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.parted import write_parted
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.counted import PrivateParts
from core.privacy.units import Unit

NANO = 10**9
NODES = 3
LABELS = np.array([0, 1, 0])
SIDES = {"degrees": {"side": "source"}, "sorted_degrees": {"side": "target"}}
BOTH = {
    "edge_count": {},
    "degrees": {},
    "sorted_degrees": {},
    "tail_counts": {"thresholds": np.array([1, 2])},
    "group_matrix": {"labels": LABELS},
    "group_degrees": {"labels": LABELS},
}
ASKED = {
    False: BOTH,
    True: {"edge_count": {}, **SIDES, "group_matrix": {"labels": LABELS}},
}


def units_of(unit: Unit, slots: list[tuple[int, int, int]]) -> list[list[int]]:
    """The slots that one unit may fill, by their places."""
    if unit is not Unit.PAIR:
        return [[place] for place in range(len(slots))]
    pairs = itertools.combinations(range(NODES), 2)
    return [[place for place, slot in enumerate(slots) if {*slot[:2]} == {*pair}] for pair in pairs]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("unit", "steps"), [(Unit.EDGE, 0), (Unit.EVENT, 1), (Unit.EVENT, 2), (Unit.PAIR, 1), (Unit.PAIR, 2)]
)
def test_no_unit_moves_a_cell_by_more_than_its_noise_hides(tmp_path, monkeypatch, unit, steps, directed):
    """Brute force over all graphs of three nodes (directed ones of one step), and all their neighbours."""
    if directed and steps == 2:
        steps = 1
    relation = EdgeType(temporal=steps > 0, directed=directed)
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),),
        edge_types=(relation,),
        time=TimeGrid(count=steps) if steps else None,
    )
    told: list[tuple[np.ndarray, int]] = []

    def silent(values, sensitivity, nano_epsilon):
        told.append((values, sensitivity))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", silent)
    slots = [
        (a, b, step)
        for step in range(max(steps, 1))
        for a, b in itertools.permutations(range(NODES), 2)
        if directed or a < b
    ]
    cells = [("edge", step) for step in (range(steps) if steps else (None,))]
    granted = tuple(Allotment(*cell, Pure(NANO, "test"), "test") for cell in cells for _ in ASKED[directed])
    plan = PrivacyPlan("test", unit, None, max(steps, 1), granted, 0)
    answers = []
    for code in range(2 ** len(slots)):
        rows = np.array([slot for place, slot in enumerate(slots) if code >> place & 1], np.int64)
        source, target, cell = rows.reshape(-1, 3).T
        folder = tmp_path / str(code)
        parted = write_parted(schema, {"node": NodeTable(NODES)}, [(source, target, cell)], 4, folder, 2)
        session = PrivateParts(parted, Meter(plan, MemoryRecorder()))
        told.clear()
        for cell_of, (query, arguments) in itertools.product(cells, ASKED[directed].items()):
            session.cell(*cell_of).laplace(query, nano_epsilon=NANO, purpose="test", **arguments)
        answers.append([*told])
    moved = [0.0] * len(answers[0])
    for held in units_of(unit, slots):
        mask = sum(1 << place for place in held)
        for code, with_unit in enumerate(answers):
            without = answers[code & ~mask]
            for place, ((one, sensitivity), (other, same)) in enumerate(zip(with_unit, without, strict=True)):
                assert sensitivity == same
                far = np.abs(one - other).sum() / sensitivity
                assert far <= 1
                moved[place] = max(moved[place], far)
    assert max(moved) == 1
    assert min(moved) > 0
