"""Figures that paid numbers determine, and how far paid numbers are from the truth."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.privacy.accounting.events import NANO
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import bundle
from core.publishing.evaluate import run_evaluation
from core.publishing.paid_errors import mean_noise, paid_errors
from core.reports.evidence import CuratorPart
from core.reports.html import render
from core.reports.intervals import sum_within
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from core.reports.text import number
from core.reports.totals import PaidError, Total
from graphveil.pages.numbers import ends
from tests.support.publishing import STEPS, USERS, evaluation, graph, public_of, publish
from tests.unit.test_publishing_measurements import (
    EXACT,
    HALVES,
    MOST,
    THIRDS,
    Asking,
    OfRows,
    parties,
    rated,
)

COST: dict[str, Any] = {"nano_epsilon": EXACT // 6, "purpose": "x"}
NEXT = np.array([0, 0, 1])


def released(folder: Path, asked: Callable[[PrivateGraph], Any], **changes: Any) -> PublicPart:
    """The public part of a release of graph 1, by a fit that asks so."""
    publish(Asking(asked), graph(1), folder, **({"nano_epsilon": EXACT} | changes))
    return PublicPart.model_validate(public_of(folder))


def by_metric(part: PublicPart, relation: str, step: int | None = None) -> dict[str, Total]:
    return {each.metric: each for each in part.totals if (each.edge_type, each.step) == (relation, step)}


def test_edges_and_what_follows_from_them_have_the_originals_interval(tmp_path: Path) -> None:
    part = released(tmp_path, lambda g: g.cell("knows", None).laplace("edge_count", **COST))
    edges = graph(1).edges["knows"].count
    found = by_metric(part, "knows")
    assert found.keys() == {"edges", "density", "mean_degree"}
    assert found["edges"].low == found["edges"].value == found["edges"].high == edges
    assert found["density"].value == pytest.approx(edges / (USERS * (USERS - 1) / 2))
    assert found["mean_degree"].value == pytest.approx(2 * edges / USERS)
    assert {each.edge_type for each in part.totals} == {"knows"}  # nothing else was paid for


def test_all_answers_are_told_as_one_number_and_both_sides_of_a_cut_are_the_whole(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        cell.laplace("edge_count", nano_epsilon=NANO // 50, purpose="x")
        cell.laplace("group_matrix", labels=HALVES, nano_epsilon=NANO, purpose="x")
        cell.laplace("degrees", nano_epsilon=NANO, purpose="x")

    def sides(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        cell.laplace("edge_count", nano_epsilon=NANO // 50, purpose="x")
        with cell.parallel(nano_epsilon=EXACT // 2, labels=HALVES) as branches:
            for branch in branches:
                branch.laplace("edge_count", nano_epsilon=EXACT // 2, purpose="x")

    found = by_metric(released(tmp_path / "a", asked), "knows")["edges"]
    assert found.query == "edge_count, group_matrix, degrees"
    assert 0 < found.high - found.value < sum_within(Fraction(1), 3, 0.95)  # the nearest: three cells
    exact = by_metric(released(tmp_path / "b", sides), "knows")["edges"]
    assert exact.low == exact.value == exact.high == graph(1).edges["knows"].count


def test_snapshots_have_their_own_and_the_mean_one_of_all(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        for step in range(STEPS):
            private.cell("talks", step).laplace("edge_count", nano_epsilon=NANO, purpose="x")

    part = released(tmp_path, asked)
    assert [by_metric(part, "talks", step).keys() for step in range(STEPS)] == [{"edges"}] * STEPS
    mean = by_metric(part, "talks")["edges"]
    assert mean.high - mean.value == pytest.approx(sum_within(Fraction(1), STEPS, 0.95) / STEPS)
    page, text = render(Report(public=part)), markdown(Report(public=part))
    assert "True value, 95 %" in page
    assert page.count('class="line paid"') == 1  # edges over time
    (talks,) = (each for each in part.statistics.edge_types if each.name == "talks")
    assert f"| Edges | {number(talks.means['edges'])} | {ends(mean.low, mean.high)} |" in text


def test_by_policy_and_without_paid_numbers_nothing_is_told(tmp_path: Path) -> None:
    def asked(private: PrivateGraph) -> None:
        private.cell("knows", None).laplace("edge_count", **COST)

    off = released(tmp_path, asked, measurements=False)
    assert off.totals == ()
    assert "True value" not in render(Report(public=off))


def errors(folder: Path, of: Any, generator: Asking, **changes: Any) -> dict[str, PaidError]:
    """What a curator sees of a release of this graph, by query; the sample is the original itself."""
    generator._sample = of
    publish(generator, of, folder, **({"nano_epsilon": EXACT, "formats": ()} | changes))
    release = folder / "job" / "release"
    order = bundle.read_alignment(folder / "job" / "private" / "alignment.parquet")
    found = paid_errors(of, of, release, order)
    return {each.query: each for each in map(PaidError.model_validate, found)}


def test_what_was_asked_is_read_back_and_without_noise_nothing_is_off(tmp_path: Path) -> None:
    """Were one node's number put to another, or one label lost, some error would not be 0."""

    def structure(private: PrivateGraph) -> None:
        cell = private.cell("knows", None)
        each = {"nano_epsilon": EXACT // 8, "purpose": "x"}
        for query in ("edge_count", "degrees", "sorted_degrees"):
            cell.laplace(query, **each)
        cell.laplace("tail_counts", thresholds=np.array([1, 3, 9]), **each)
        cell.laplace("group_matrix", labels=THIRDS, groups=4, **each)
        cell.laplace("group_degrees", labels=HALVES, **each)
        with cell.parallel(nano_epsilon=EXACT // 8, labels=HALVES) as branches:
            for branch in branches:
                branch.laplace("degrees", nano_epsilon=EXACT // 8, purpose="x")
        sides = private.cell("joins", None)
        sides.laplace("degree_histogram", side="target", most=3, **each)
        sides.laplace("degrees", side="source", **each)
        groups = np.arange(sides.shape.target_count) % 2
        sides.laplace("group_matrix", labels=THIRDS, target_labels=groups, **each)

    def values(private: PrivateGraph) -> None:
        reads = private.edge_values("knows", "stars")
        reads.histogram(**COST)
        reads.by_step(periods=np.array([0, 1, 1]), labels=NEXT, **COST)
        reads.by_node(side="both", labels=NEXT, **COST)

    def rows(private: PrivateGraph) -> None:
        reads = private.node_values("user")
        reads.table(["party"], classes=HALVES, nano_epsilon=EXACT // 2, purpose="x")
        budgets = {"edge_nano_epsilon": EXACT, "row_nano_epsilon": EXACT // 2}
        reads.mixing("knows", "party", groups=np.arange(2), cap=MOST, purpose="x", **budgets)

    labelled = OfRows(rows)
    labelled.carries_nodes = lambda params: True  # type: ignore[attr-defined]
    labelled.node_values_plan = lambda plan: plan  # type: ignore[attr-defined]
    only = {"edge_types": ("knows",)}
    every = {
        **errors(tmp_path / "a", graph(1), Asking(structure), edge_types=("talks", "knows", "joins")),
        **errors(tmp_path / "b", rated(1), Asking(values), **only),
        **errors(tmp_path / "c", parties(), labelled, unit=Unit.EDGE, **only),
        **errors(tmp_path / "d", parties(directed=True), labelled, unit=Unit.EDGE, **only),
    }
    assert len(every) == 7 + 3 + 3
    for each in every.values():
        assert (each.actual, each.held, each.synthetic) == (0, 1, 0), each.query
        assert each.predicted < 1e-9


def test_curators_see_predicted_noise_beside_the_actual_error_and_that_of_the_synthetic_graph(
    tmp_path: Path,
) -> None:
    def asked(private: PrivateGraph) -> None:
        private.cell("knows", None).laplace("degrees", nano_epsilon=NANO // 4, purpose="x")

    part = released(tmp_path, asked, nano_epsilon=NANO // 4)
    of = {"method": "psgraph", "unit": Unit.EVENT, "nano_epsilon": NANO, "edge_types": ("talks", "knows")}
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=tmp_path / "job",
        spec=evaluation(suite="quick", **of),
        out=tmp_path / "out",
        progress=lambda *_: None,
    )
    curator = CuratorPart.model_validate_json((tmp_path / "out" / "curator.json").read_bytes())
    (found,) = curator.paid
    truth, drawn = (
        np.bincount(table.source, minlength=USERS) + np.bincount(table.target, minlength=USERS)
        for table in (graph(1).edges["knows"], graph(2).edges["knows"])
    )
    assert (found.quantity, found.values) == ("edges at a node", USERS)
    assert found.synthetic == pytest.approx(np.abs(truth - drawn).mean())
    assert found.predicted == pytest.approx(mean_noise(Fraction(8)))
    assert found.actual > 0
    page = render(Report(public=part, curator=curator))
    assert "Predicted noise beside the actual error" in page
    assert "Predicted noise beside" not in render(Report(public=part))
    assert "## Predicted noise beside the actual error" in markdown(Report(public=part, curator=curator))


def test_the_mean_of_noise_is_that_of_its_law() -> None:
    at = np.arange(-4000, 4001)
    law = np.exp(-np.abs(at) / 7)
    assert mean_noise(Fraction(7)) == pytest.approx(float((np.abs(at) * law).sum() / law.sum()))


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(10, 20, "10 to 20"), (0.0010271, 0.0010329, "0.001027 to 0.001033"), (3.0, 3.0, "3 to 3")],
)
def test_an_interval_has_digits_that_tell_its_ends_apart(low: float, high: float, told: str) -> None:
    assert ends(low, high) == told
