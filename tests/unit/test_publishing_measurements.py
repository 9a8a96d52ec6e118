"""The noisy numbers beside a release: whose they are, how near the truth, and what is never among them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting import measurements as kept
from core.privacy.accounting.events import Pure, Unprotected
from core.privacy.accounting.measurements import Measurements, deviation
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan, rows_of
from core.privacy.reads.node_values import MIXINGS
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import bundle
from core.publishing import measurements as published
from core.publishing.measurements import GROUPS, LIST, VALUES
from core.reports.precision import CONFIDENCE, QUANTITIES
from tests.support.generating import graph_of, random_pairs
from tests.support.publishing import NANO, STEPS, USERS, Fixed, graph, public_of, publish

EXACT = 900 * NANO
"""An epsilon at which the noise is 0, but for one draw in 10^300."""
MOST = 7
"""Edges of a node in ``graph(1)``, at most: a mixing matrix that counts so many counts all."""
HALVES = np.arange(USERS) % 2
THIRDS = np.arange(USERS) % 3


class Asking(Fixed):
    """Asks what a test wants of the relation ``knows``, or of all that there is."""

    def __init__(self, asked: Callable[[PrivateGraph], Any], *, none: bool = False) -> None:
        super().__init__(graph(2))
        self._asked, self._none = asked, none

    def plan(self, params: Any, public: Any) -> PrivacyPlan:
        cells = [(name, step) for name in public.edge_types for step in public.schema.steps_of(name)]
        allotments = [Allotment(*cell, Pure(public.nano_epsilon, "laplace"), "reads") for cell in cells]
        if self._none:
            allotments.append(Allotment(WHOLE_GRAPH, None, Unprotected("a test"), "all of it"))
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, tuple(allotments))

    def carries(self, params: Any) -> bool:
        return self._sample.edges["knows"].values is not None

    def values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        return plan

    def fit(self, private: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Any) -> Asking:
        self._asked(private)
        return self


def released(asked: Callable[[PrivateGraph], Any], out: Path, **changes: Any) -> Path:
    """The release folder of a fit that asks so, of graph 1."""
    publish(Asking(asked, none=changes.pop("none", False)), graph(1), out, nano_epsilon=EXACT, **changes)
    return out / "job" / "release"


def read(folder: Path) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """The list of measurements, and the rows of each."""
    listed = json.loads((folder / LIST).read_text())["measurements"]
    rows: list[list[dict[str, Any]]] = [[] for _ in listed]
    for row in pq.read_table(folder / VALUES).to_pylist():
        rows[row["measurement"]].append(row)
    assert [len(each) for each in rows] == [each["values"] for each in listed]
    return listed, rows


def index_of(folder: Path, kind: str = "user") -> dict[str, int]:
    """Which node of the original each released id is."""
    order = bundle.read_alignment(folder.parent / "private" / "alignment.parquet")[kind]
    nodes = [row["id"] for row in pq.read_table(folder / "nodes.parquet").to_pylist() if row["type"] == kind]
    return {name: int(order[number]) for number, name in enumerate(nodes)}


def knows() -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of the private relation that is asked about."""
    table = graph(1).edges["knows"]
    return table.source, table.target


def degrees(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.bincount(source, minlength=USERS) + np.bincount(target, minlength=USERS)


def test_each_number_is_beside_the_released_id_of_its_own_node(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        private.cell("knows", None).laplace("degrees", nano_epsilon=EXACT, purpose="degrees")

    folder = released(asked, tmp_path)
    (listed,), (rows,) = read(folder)
    own = index_of(folder)
    assert {own[row["id"]]: row["value"] for row in rows} == dict(enumerate(degrees(*knows())))
    assert (listed["quantity"], listed["keys"], listed["within"]) == ("edges at a node", ["id"], 0)
    assert [row["id"] for row in rows] == list(own)  # in the order of the release, not of the data
    artifacts = {each["name"] for each in public_of(tmp_path)["provenance"]["artifacts"]}
    assert {LIST, VALUES} <= artifacts


def test_counts_of_the_whole_relation_are_keyed_by_what_they_count(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        each = {"nano_epsilon": EXACT // 5, "purpose": "counts"}
        cell.laplace("edge_count", **each)
        cell.laplace("sorted_degrees", **each)
        cell.laplace("tail_counts", thresholds=np.array([1, 3, 9]), **each)
        cell.laplace("group_matrix", labels=THIRDS, **each)
        cell.laplace("group_degrees", labels=HALVES, groups=2, **each)

    folder = released(asked, tmp_path)
    listed, rows = read(folder)
    source, target = knows()
    found = degrees(source, target)
    assert [each["query"] for each in listed] == [
        *("edge_count", "sorted_degrees", "tail_counts", "group_matrix", "group_degrees")
    ]
    assert [row["value"] for row in rows[0]] == [len(source)]
    assert {row["key"]: row["value"] for row in rows[1]} == dict(enumerate(np.sort(found)))
    assert {row["key"]: row["value"] for row in rows[2]} == {at: (found >= at).sum() for at in (1, 3, 9)}
    pairs = np.sort(np.stack([THIRDS[source], THIRDS[target]]), axis=0)
    for row in rows[3]:
        assert row["value"] == ((pairs[0] == row["key"]) & (pairs[1] == row["other_key"])).sum()
    own = index_of(folder)
    for row in rows[4]:
        node = own[row["id"]]
        met = np.concatenate([target[source == node], source[target == node]])
        assert row["value"] == (HALVES[met] == row["key"]).sum()


def test_groups_are_listed_once_and_what_lies_inside_them_says_so(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        cell.laplace("group_matrix", labels=HALVES, nano_epsilon=EXACT // 3, purpose="blocks")
        with cell.parallel(nano_epsilon=EXACT // 3, labels=HALVES) as (inside, between):
            for branch in (inside, between):
                branch.laplace("degrees", nano_epsilon=EXACT // 3, purpose="degrees")

    folder = released(asked, tmp_path)
    listed, rows = read(folder)
    assert [each["counts_edges"] for each in listed] == [
        [],
        [{"grouping": 0, "inside": True}],
        [{"grouping": 0, "inside": False}],
    ]
    assert listed[0]["groupings"] == [0]
    own = index_of(folder)
    members = pq.read_table(folder / GROUPS).to_pylist()
    assert {own[row["id"]]: row["group"] for row in members} == dict(enumerate(HALVES))
    source, target = knows()
    same = HALVES[source] == HALVES[target]
    for number, chosen in ((1, same), (2, ~same)):
        expected = degrees(source[chosen], target[chosen])
        assert {own[row["id"]]: row["value"] for row in rows[number]} == dict(enumerate(expected))


def test_steps_have_their_numbers_and_sides_their_nodes(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        for step in range(STEPS):
            private.cell("talks", step).laplace("edge_count", nano_epsilon=NANO, purpose="edges")
        for side in ("source", "target"):
            private.cell("joins", None).laplace(
                "degrees", side=side, nano_epsilon=EXACT // 2, purpose="sides"
            )

    folder = released(asked, tmp_path, edge_types=("talks", "knows", "joins"))
    listed, rows = read(folder)
    assert [each["step"] for each in listed] == [*range(STEPS), None, None]
    joins = graph(1).edges["joins"]
    for number, kind, ends in ((-2, "user", joins.source), (-1, "group", joins.target)):
        own = index_of(folder, kind)
        assert {own[row["id"]]: row["value"] for row in rows[number]} == dict(
            enumerate(np.bincount(ends, minlength=len(own)))
        )
    assert [(each["side"], each["keys"]) for each in listed[-2:]] == [("source", ["id"]), ("target", ["id"])]


def test_what_two_steps_both_have_stands_at_the_later_one(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        private.aside.pay("talks", 0, nano_epsilon=EXACT, purpose="aside")
        reads = private.between("talks", 1)
        assert reads is not None
        reads.kept_edges(nano_epsilon=EXACT // 2, purpose="kept")
        reads.kept_nodes(nano_epsilon=EXACT // 2, purpose="kept")

    listed, rows = read(released(asked, tmp_path, edge_types=("talks", "knows", "joins")))
    assert [(each["query"], each["step"], each["keys"]) for each in listed] == [
        ("kept_edges", 1, []),
        ("kept_nodes", 1, []),
    ]
    talks = [graph(1).cell("talks", step) for step in (0, 1)]
    active = [np.union1d(each.source, each.target) for each in talks]
    assert rows[1][0]["value"] == len(np.intersect1d(*active))
    assert rows[0][0]["low"] <= rows[0][0]["value"] <= rows[0][0]["high"]


def rated(seed: int) -> Graph:
    """Users who rated one another with one to three stars, in three steps."""
    rng = np.random.default_rng(seed)
    stars = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max")
    relation = EdgeType(name="knows", source="user", target="user", temporal=True, attributes=(stars,))
    kinds = (NodeType(name="user", count=USERS),)
    of = GraphSchema(node_types=kinds, edge_types=(relation,), time=TimeGrid(count=STEPS))
    source = rng.integers(0, USERS - 1, 90)
    ends = source, source + rng.integers(1, USERS - source)
    values = EdgeValues({"stars": rng.integers(1, 4, 90).astype(np.int32)})
    return Graph.build(of, {}, {"knows": EdgeTable(*ends, rng.integers(0, STEPS, 90), values)})


def test_what_edges_carry_is_told_by_bin_period_and_node(tmp_path: Path) -> None:
    periods, labels = np.array([0, 1, 1]), np.array([0, 0, 1])

    def asked(private: PrivateGraph) -> None:
        reads, each = private.edge_values("knows", "stars"), {"nano_epsilon": EXACT // 4, "purpose": "stars"}
        reads.histogram(**each)
        reads.by_step(periods=periods, labels=labels, **each)
        reads.by_node(side="both", labels=labels, **each)
        reads.node_sums(side="both", scores=np.array([-1, 0, 1]), **each)

    generator = Asking(asked)
    generator._sample = rated(2)
    of = rated(1)
    publish(generator, of, tmp_path, nano_epsilon=EXACT, edge_types=("knows",), formats=())
    folder = tmp_path / "job" / "release"
    listed, rows = read(folder)
    assert [each["query"] for each in listed] == ["value_histogram", "values_by_step", "values_by_node"]
    assert {(each["attribute"], *each["bins"]) for each in listed} == {("stars", 1.0, 2.0, 3.0)}
    assert (listed[1]["periods"], listed[1]["bin_labels"]) == ([0, 1, 1], [0, 0, 1])
    table = of.edges["knows"]
    place = table.values.columns["stars"] - 1
    assert [row["value"] for row in rows[0]] == np.bincount(place, minlength=3).tolist()
    for row in rows[1]:
        chosen = (periods[table.step] == row["key"]) & (labels[place] == row["other_key"])
        assert row["value"] == chosen.sum()
    own = index_of(folder)
    for row in rows[2]:
        at = (table.source == own[row["id"]]) | (table.target == own[row["id"]])
        assert row["value"] == (at & (labels[place] == row["key"])).sum()
    (left,) = json.loads((folder / LIST).read_text())["left_out"]
    assert left["query"] == "node_value_sums"


def parties(directed: bool = False) -> Graph:
    """Users of two parties, some without one, linked as in :func:`knows`."""
    party = Attribute(name="party", protection="protected", categories=("left", "right"))
    kinds = (NodeType(name="user", count=USERS, attributes=(party,)),)
    relation = EdgeType(name="knows", source="user", target="user", directed=directed)
    of = GraphSchema(node_types=kinds, edge_types=(relation,))
    column = pa.array([(None, "left", "right")[node % 3] for node in range(USERS)])
    return Graph.build(
        of, {"user": NodeTable(USERS, None, {"party": column})}, {"knows": EdgeTable(*knows())}
    )


class OfRows(Asking):
    """May spend on rows too."""

    def plan(self, params: Any, public: Any) -> PrivacyPlan:
        found = super().plan(params, public)
        rows = Allotment(rows_of("user"), None, Pure(public.nano_epsilon, "laplace"), "reads")
        return PrivacyPlan(self.name, public.unit, None, 1, (*found.allotments, rows))


def test_what_nodes_carry_is_told_by_class_and_by_both_ends_of_edges(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        reads = private.node_values("user")
        reads.table(["party"], classes=HALVES, nano_epsilon=EXACT // 2, purpose="parties")
        budgets = {"edge_nano_epsilon": EXACT, "row_nano_epsilon": EXACT // 2}
        reads.mixing("knows", "party", groups=np.arange(2), cap=MOST, purpose="mixing", **budgets)

    generator, of = OfRows(asked), parties()
    generator._sample = of
    publish(generator, of, tmp_path, nano_epsilon=EXACT, edge_types=("knows",), formats=(), unit=Unit.EDGE)
    folder = tmp_path / "job" / "release"
    listed, rows = read(folder)
    first, second = listed
    assert (first["edge_type"], first["node_type"], first["keys"]) == (None, "user", ["class", "bin"])
    assert first["attributes"] == [{"attribute": "party", "bins": ["left", "right"]}]
    assert (second["attribute"], second["bin_groups"], second["most_edges_of_a_node"]) == (
        "party",
        [0, 1],
        MOST,
    )
    party = np.arange(USERS) % 3 - 1
    for row in rows[0]:
        assert row["value"] == ((row["key"] == HALVES) & (party == row["other_key"])).sum()
    ends = np.sort(party[np.stack(knows())], axis=0)
    for row in rows[1]:
        assert row["value"] == ((ends[0] == row["key"]) & (ends[1] == row["other_key"])).sum()
    own = index_of(folder)
    members = pq.read_table(folder / GROUPS).to_pylist()
    assert {own[row["id"]]: row["group"] for row in members} == dict(enumerate(HALVES))


def test_a_release_without_a_guarantee_or_by_policy_has_none(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        private.cell("knows", None).laplace("degrees", nano_epsilon=EXACT, purpose="degrees")

    def unprotected(private: PrivateGraph) -> None:
        asked(private)
        private.unprotected("a test")

    off = released(asked, tmp_path / "off", measurements=False)
    none = released(unprotected, tmp_path / "none", none=True)
    for folder in (off, none):
        assert not [name for name in (LIST, VALUES, GROUPS) if (folder / name).exists()]


def test_answers_too_large_to_keep_are_named_with_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_VALUES", USERS - 1)

    def asked(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        cell.laplace("degrees", nano_epsilon=NANO, purpose="degrees")
        cell.laplace("edge_count", nano_epsilon=NANO, purpose="edges")

    folder = released(asked, tmp_path)
    (listed,), _ = read(folder)
    assert listed["query"] == "edge_count"
    (left,) = json.loads((folder / LIST).read_text())["left_out"]
    assert (left["query"], left["values"], left["why"]) == ("degrees", USERS, "more values than are kept")


def test_what_a_session_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 25)
    found = Measurements()
    for _ in range(4):
        found.keep(("edge", None), "degrees", {}, (), Fraction(1), np.zeros(10, dtype=np.int64), "degrees")
    assert [each.values is not None for each in found] == [True, True, False, False]


def test_a_later_change_of_arguments_or_answers_changes_nothing_that_is_kept() -> None:
    private = session(graph_of(random_pairs(30, 0.2), 30), 2 * NANO)
    labels = np.zeros(30, dtype=np.int64)
    answer = private.cell("edge", None).laplace("group_matrix", labels=labels, nano_epsilon=NANO, purpose="x")
    (before,) = [each.values.copy() for each in private._meter.measurements]
    answer += 1
    labels += 1
    (after,) = private._meter.measurements
    assert (after.values == before).all()
    assert not after.arguments["labels"].any()


def session(of: Graph, nano_epsilon: int) -> PrivateGraph:
    """A session that may spend so much on the relation ``edge``."""
    allotment = Allotment("edge", None, Pure(nano_epsilon, "laplace"), "reads")
    return PrivateGraph(of, Meter(PrivacyPlan("x", Unit.EDGE, None, 1, (allotment,)), MemoryRecorder()))


def covered(of: Graph, runs: int) -> float:
    """The share of degrees, over runs at epsilon .5, that lie in the intervals which would be published."""
    from core.reports.precision import within

    found = []
    table = of.edges["edge"]
    truth = np.bincount(table.source, minlength=60) + np.bincount(table.target, minlength=60)
    for _ in range(runs):
        private = session(of, NANO // 2)
        private.cell("edge", None).laplace("degrees", nano_epsilon=NANO // 2, purpose="degrees")
        (each,) = private._meter.measurements
        found.append(np.abs(each.values - truth) <= within(each.scale, CONFIDENCE))
    return float(np.mean(found))


def test_intervals_hold_the_truth_as_often_as_they_say_and_a_wrong_scale_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = graph_of(random_pairs(60, 0.2), 60)
    # Discreteness gives a little more than .95; 6,000 draws have a spread of .003.
    assert CONFIDENCE - 0.012 <= covered(of, 100) <= 0.98
    keep = Measurements.keep

    def halved(
        self: Measurements, cell: Any, query: str, given: Any, parts: Any, scale: Fraction, *rest: Any
    ) -> None:
        keep(self, cell, query, given, parts, scale / 2, *rest)

    monkeypatch.setattr(Measurements, "keep", halved)
    assert covered(of, 100) < 0.9


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(40)])
def test_the_deviation_is_that_of_the_law(scale: Fraction) -> None:
    at = np.arange(-4000, 4001)
    law = np.exp(-np.abs(at) / float(scale))
    assert deviation(scale) == pytest.approx(np.sqrt((law * at**2).sum() / law.sum()), rel=1e-9)


def test_every_query_whose_values_are_published_has_a_title_and_a_bound():
    assert set(published._KEYS) <= set(QUANTITIES)
    assert set(published._KEYS) >= MIXINGS
