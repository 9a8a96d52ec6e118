"""What a public report says of values: counts of the release, and paid numbers with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.measurements import Measurements
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.carried import carried, labels_of, merged_labels
from core.reports.carried import MAX_BINS, Carried
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from tests.support.publishing import public_of, publish
from tests.unit.test_publishing_measurements import EXACT, HALVES, MOST, USERS, Asking, OfRows, parties, rated

COST: dict[str, Any] = {"nano_epsilon": EXACT // 3, "purpose": "x"}
PERIODS, LABELS = np.array([0, 1, 1]), np.array([0, 0, 1])


def stars(private: PrivateGraph) -> None:
    reads = private.edge_values("knows", "stars")
    reads.histogram(**COST)
    reads.by_step(periods=PERIODS, labels=LABELS, **COST)


def shown(folder: Path) -> tuple[Carried, ...]:
    return PublicPart.model_validate(public_of(folder)).carried


def released(folder: Path, sample: Graph, asked: Callable[[PrivateGraph], Any], **changes: Any) -> Carried:
    """What is said of the one attribute of a release of this sample, of graph 1."""
    generator = Asking(asked)
    generator._sample = sample
    common: dict[str, Any] = {"edge_types": ("knows",), "formats": (), "nano_epsilon": EXACT}
    publish(generator, rated(1), folder, **(common | changes))
    (found,) = shown(folder)
    return found


def test_counts_are_the_releases_and_paid_numbers_the_originals(tmp_path: Path) -> None:
    found = released(tmp_path, rated(2), stars)
    truth, drawn = (each.edges["knows"] for each in (rated(1), rated(2)))
    for told, table in ((found.paid, truth), (found.released, drawn)):
        assert told == tuple(np.bincount(table.values.columns["stars"] - 1, minlength=3))
    assert (found.of, found.what, found.kind, found.bins) == ("knows", "edges", "integer", ("1", "2", "3"))
    assert (found.within, found.confidence) == (0, 0.95)
    crossed = found.by_step
    assert (crossed.rows, crossed.columns) == (("0", "1–2"), ("1 to 2", "3"))
    for told, table in ((crossed.paid, truth), (crossed.released, drawn)):
        cells = PERIODS[table.step] * 2 + LABELS[table.values.columns["stars"] - 1]
        assert np.ravel(told).tolist() == np.bincount(cells, minlength=4).tolist()


def test_by_policy_no_paid_number_is_shown_and_the_original_leaves_no_trace(tmp_path: Path) -> None:
    found = released(tmp_path, rated(2), stars, measurements=False)
    assert (found.paid, found.within, found.confidence) == (None, None, None)
    assert found.by_step.paid is None
    assert found.by_step.rows == ("0", "1", "2")  # and not what was asked
    again = carried(rated(2), Measurements())
    assert [Carried.model_validate(each) for each in again] == [found]


@pytest.mark.parametrize("directed", [False, True])
def test_what_nodes_carry_has_the_sum_of_its_classes_and_who_meets_whom(
    tmp_path: Path, directed: bool
) -> None:
    def asked(private: PrivateGraph) -> None:
        reads = private.node_values("user")
        reads.table(["party"], classes=HALVES, nano_epsilon=EXACT // 2, purpose="x")
        budgets = {"edge_nano_epsilon": EXACT, "row_nano_epsilon": EXACT // 2}
        reads.mixing("knows", "party", groups=np.arange(2), cap=MOST, purpose="x", **budgets)

    generator, of = OfRows(asked), parties(directed)
    generator._sample = of
    generator.carries_nodes = lambda params: True  # type: ignore[attr-defined]
    generator.node_values_plan = lambda plan: plan  # type: ignore[attr-defined]
    publish(generator, of, tmp_path, nano_epsilon=EXACT, edge_types=("knows",), formats=(), unit=Unit.EDGE)
    (found,) = shown(tmp_path)
    party = np.arange(USERS) % 3 - 1
    assert found.paid == found.released == tuple(np.bincount(party[party >= 0]))
    (mixing,) = found.mixing
    assert mixing.paid == mixing.released
    one, other = party[of.edges["knows"].source], party[of.edges["knows"].target]
    left_right, right_left = (((one == a) & (other == 1 - a)).sum() for a in (0, 1))
    if not directed:
        left_right = right_left = left_right + right_left
    assert (mixing.released[0][1], mixing.released[1][0]) == (left_right, right_left)
    assert mixing.most_edges_of_a_node == MOST


def test_the_interval_of_a_sum_over_classes_is_wider_than_that_of_one(tmp_path: Path) -> None:
    def kept(classes: np.ndarray) -> Carried:
        allotted = (Allotment(rows_of("user"), None, Pure(NANO, "x"), "x"),)
        meter = Meter(PrivacyPlan("x", Unit.EDGE, None, 1, allotted), MemoryRecorder())
        PrivateGraph(parties(), meter).node_values("user").table(
            ["party"], classes=classes, nano_epsilon=NANO, purpose="x"
        )
        (found,) = carried(parties(), meter.measurements)
        return Carried.model_validate(found)

    assert kept(HALVES).within > kept(HALVES * 0).within > 0


def many(count: int) -> Graph:
    """A star whose edges carry one of many categories; the last ones most."""
    names = tuple(f"c{k:04d}" for k in range(count))
    sort = EdgeAttribute(name="sort", kind="category", categories=names, aggregate="max")
    values = np.concatenate([np.arange(count), np.arange(count - 10, count)])
    relation = EdgeType(name="e", attributes=(sort,))
    schema = GraphSchema(node_types=(NodeType(count=len(values) + 1),), edge_types=(relation,))
    ends = np.zeros(len(values), int), np.arange(1, len(values) + 1)
    return Graph.build(schema, {}, {"e": EdgeTable(*ends, None, EdgeValues({"sort": values.astype("i4")}))})


def test_of_very_many_bins_the_most_frequent_are_told() -> None:
    (found,) = (Carried.model_validate(each) for each in carried(many(300), ()))
    assert (len(found.bins), found.left_out) == (MAX_BINS, 300 - MAX_BINS)
    assert found.bins[-1] == "c0299"
    assert max(found.released) == 2


@pytest.mark.parametrize(
    ("declared", "first", "merged"),
    [
        ({"kind": "integer", "bounds": (0, 5)}, "0", "0 to 2"),
        ({"kind": "integer", "bounds": (0, 1000), "cuts": (10, 100)}, "0 to 9", "0 to 1000"),
        ({"kind": "number", "bounds": (0, 64.0)}, "0 to 1", "0 to 3"),
        ({"kind": "time_of_day"}, "00:00", "00:00–03:00"),
        ({"kind": "category", "categories": ("a", "b", "c", "d")}, "a", "a and 2 more"),
    ],
)
def test_bins_have_names(declared: dict[str, Any], first: str, merged: str) -> None:
    bins = bins_of(EdgeAttribute(name="x", aggregate="max", **declared))
    assert labels_of(bins)[0] == first
    assert merged_labels(bins, (np.arange(bins.count) >= 3).astype(int))[0] == merged


def test_the_page_draws_them_with_their_intervals_and_names_stay_texts(tmp_path: Path) -> None:
    released(tmp_path, rated(2), stars)
    part = PublicPart.model_validate(public_of(tmp_path))
    hostile = "<b>&amp;{{ 7*7 }}"
    (found,) = part.carried
    named = found.model_copy(update={"attribute": hostile, "bins": (hostile, "2", "3")})
    page = render(Report(public=part.model_copy(update={"carried": (named,)})))
    assert hostile not in page
    assert "&amp;amp;{{ 7*7 }}" in page.split('id="carried"')[1].split("</figure>")[0]
    assert page.count('class="line paid"') == 1
    assert page.count('class="mark heat"') == 4
    text = markdown(Report(public=part))
    assert "## What edges and nodes carry" in text
    assert "Paid for, within 0 of the truth (95 %)" in text
    bare = render(Report(public=part.model_copy(update={"carried": ()})))
    assert 'id="carried"' not in bare
