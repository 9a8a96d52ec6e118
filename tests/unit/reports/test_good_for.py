"""What a release is good for: by measured figures, from public facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit
from core.reports.good_for import (
    EPSILONS,
    LOST,
    NAMES,
    NOT,
    PARTLY,
    THRESHOLDS,
    USABLE,
    good_for,
    kinds_of,
    verdict,
)

RESULTS = Path(__file__).parents[3] / "docs" / "results" / "good_for.json"


def said(nodes: int, epsilon: float, unit: Unit = Unit.EDGE, **relation: object) -> list[str]:
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(**relation),))
    return [each.text for each in good_for(schema, unit, ("edge",), {"node": nodes}, int(epsilon * NANO))]


def test_figures_are_those_that_were_measured():
    tables = json.loads(RESULTS.read_text())["tables"]
    assert tables.keys() == LOST.keys()
    for kind, table in tables.items():
        rows = {job: tuple(map(float, cells)) for job, *cells in table["rows"] if all(cells)}
        assert rows == LOST[kind]
        assert len(table["columns"]) == 1 + len(EPSILONS)
    assert NAMES.keys() == THRESHOLDS.keys() == LOST["sparse"].keys()


def test_the_worse_of_the_kinds_left_open_is_said():
    assert kinds_of(259, None) == ("small",)
    assert kinds_of(1_000, 7_499) == ("sparse",)
    assert kinds_of(1_000, 7_500) == kinds_of(1_000, None) == ("sparse", "dense")
    open_, sparse = said(1_000, 1.0)[0], said(1_000, 1.0, edge_bound=5_000)[0]
    assert sparse.startswith("Usable for: numbers of edges, the law of degrees")
    assert open_.startswith("Usable for: numbers of edges")
    assert "the law of degrees" not in open_
    assert [verdict("links", lost) for lost in (0.3, 0.31, 0.61)] == [USABLE, PARTLY, NOT]


def test_each_verdict_is_a_sentence_of_its_own():
    usable, partly, unfit = said(100, 2.0)
    assert usable.startswith("Usable for: ")
    assert partly.startswith("Partly usable for: ")
    assert unfit.startswith("Not usable for: ")
    assert ["measured on" in each for each in (usable, partly, unfit)] == [True, False, False]


def test_a_small_graph_is_not_usable_for_shape():
    *_, text = said(100, 1.0)
    assert "not usable for shape" in text
    assert f"{LOST['small']['degree law'][1]:.2f}" in text
    assert "not usable for shape" not in " ".join(said(260, 1.0))


@pytest.mark.parametrize("facts", [{"directed": True}, {"unit": Unit.NODE}, {"unit": Unit.PAIR}])
def test_nothing_is_said_of_what_was_not_measured(facts):
    assert said(1_000, 1.0, **facts) == []
    assert "no job was measured" in said(1_000, 0.4)[0]
