"""Predicted precision: bounds that the noise keeps, in the units of what was counted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting.events import GaussianEvent, Pure
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import QUERIES
from core.privacy.reads import between_steps, node_values
from core.privacy.units import Unit
from core.reports.precision import CONFIDENCE, EDGE_MOVES, QUANTITIES, ROW_MOVES, precisions, within
from core.reports.statistics import PublicStatistics
from graphveil.models.reports import subject_of
from tests.support.report_parts import public_part, relation

NANO = 10**9
SCHEMA = GraphSchema(
    node_types=(NodeType(name="user", count=100), NodeType(name="film", count=50)),
    edge_types=(
        EdgeType(name="knows", source="user", target="user"),
        EdgeType(name="follows", source="user", target="user", directed=True),
        EdgeType(name="likes", source="user", target="film"),
        EdgeType(name="talks", source="user", target="user", temporal=True),
    ),
    time=TimeGrid(count=3),
)
STATISTICS: PublicStatistics = public_part([relation("knows", None, 100)]).statistics


def asked(query: str, epsilon: float, edge_type: str = "knows", **changes) -> TranscriptEntry:
    event = Pure(round(epsilon * NANO), f"discrete_laplace/{query}")
    given_ = {"sequence": 0, "edge_type": edge_type, "step": None, "event": event, "purpose": query}
    return TranscriptEntry(**{**given_, **changes})


def bounds(*entries: TranscriptEntry, unit: Unit = Unit.EDGE) -> dict[tuple[str, str], int]:
    return {
        (found.edge_type, found.query): found.within
        for found in precisions(unit, SCHEMA, entries, STATISTICS)
    }


def tail(limit: int, scale: float) -> float:
    """P(|X| > limit), summed term by term."""
    q = math.exp(-1 / scale)
    return 1 - sum((1 - q) / (1 + q) * q ** abs(k) for k in range(-limit, limit + 1))


@given(st.fractions(Fraction(1, 20), Fraction(200)), st.sampled_from([0.9, 0.95, 0.975]))
def test_the_bound_is_the_least_that_keeps_its_word(scale, confidence):
    limit = within(scale, confidence)
    assert tail(limit, float(scale)) <= 1 - confidence + 1e-9
    if limit:
        assert tail(limit - 1, float(scale)) > 1 - confidence - 1e-9


def test_the_noise_that_is_drawn_keeps_the_bound():
    limit = within(Fraction(10), CONFIDENCE)
    noise = mechanisms.discrete_laplace(np.zeros(20_000, dtype=np.int64), 1, NANO // 10)
    inside = float((np.abs(noise) <= limit).mean())
    # One in a million at four standard deviations and more: .95 less 5 x sqrt(.95 x .05 / 20 000).
    assert CONFIDENCE - 0.008 < inside < CONFIDENCE + 0.013


def test_an_edge_count_at_a_tenth_of_epsilon_is_within_thirty():
    assert bounds(asked("edge_count", 0.1)) == {("knows", "edge_count"): 30}
    found = precisions(Unit.EDGE, SCHEMA, [asked("edge_count", 0.1)], STATISTICS)[0]
    assert (found.quantity, found.confidence, found.snapshots, found.released) == ("edges", 0.95, None, 100)


@pytest.mark.parametrize(
    ("edge_type", "unit", "scale"),
    [
        ("knows", Unit.EDGE, 2),  # an undirected edge counts at two nodes
        ("likes", Unit.EDGE, 1),  # once at each side
        ("follows", Unit.EDGE, 2),  # which side was asked is not recorded
        ("follows", Unit.PAIR, 4),  # and a pair may be linked both ways
    ],
)
def test_a_degree_has_the_noise_of_its_sensitivity(edge_type, unit, scale):
    expected = within(Fraction(scale), CONFIDENCE)
    assert bounds(asked("degrees", 1, edge_type), unit=unit) == {(edge_type, "degrees"): expected}


def test_of_several_measurements_and_snapshots_the_least_exact_is_printed():
    entries = [asked("edge_count", e, "talks", step=t) for t, e in enumerate((1.0, 0.5, 2.0))]
    found = precisions(Unit.EVENT, SCHEMA, [*entries, asked("edge_count", 4, "talks", step=1)], STATISTICS)
    assert [(each.within, each.snapshots) for each in found] == [(within(Fraction(2), CONFIDENCE), 3)]


def test_the_parts_of_a_group_add_up_and_half_a_group_says_nothing():
    inside = asked("degrees", 1, sequence=1, group=0, branch=0)
    between = asked("degrees", 1, sequence=2, group=0, branch=1)
    assert bounds(inside) == {}
    assert bounds(inside, between) == {("knows", "degrees"): 2 * within(Fraction(2), 0.975)}
    # Numbers of nodes by degree do not add up over parts of the edges.
    parts = [asked("degree_histogram", 1, "follows", sequence=k, group=0, branch=k) for k in (0, 1)]
    assert bounds(*parts) == {}


def test_a_group_inside_a_branch_holds_a_part_only():
    outer = asked("edge_count", 1, sequence=3, group=0, branch=0)  # stands for the nested group's own entry
    nested = [asked("degrees", 1, sequence=4 + k, group=3, branch=k) for k in (0, 1)]
    assert ("knows", "degrees") not in bounds(outer, *nested)


@pytest.mark.parametrize(
    "event",
    [
        Pure(NANO, "ladder/triangles"),
        Pure(NANO, "randomised_response"),
        Pure(NANO, "discrete_laplace/label_stream"),
        GaussianEvent(Fraction(2)),
    ],
)
def test_a_mechanism_whose_error_is_not_known_beforehand_has_no_line(event):
    assert bounds(asked("edge_count", 1, event=event)) == {}


def test_every_query_has_its_unit_and_no_more():
    values = {"value_histogram", "values_by_step", "values_by_node", "values_by_classes"}
    records = {"record_histogram", "records_by_step", "records_by_classes"}
    of_nodes = {"node_values", "node_vectors", "mixing", "directed_mixing", "two_sided_mixing"}
    between = {"kept_edges": between_steps.EDGES, "kept_nodes": between_steps.NODES}
    assert QUANTITIES.keys() == QUERIES.keys() | values | records | of_nodes | between.keys()
    edge = EdgeType(name="edge")
    assert {query: QUANTITIES[query].sensitivity(edge) for query in between} == between


@pytest.mark.parametrize(("unit", "times"), [(Unit.EDGE, 1), (Unit.PAIR, 2)])
def test_what_records_carry_is_as_exact_as_their_number_allows(unit, times):
    attribute = EdgeAttribute(name="n", kind="integer", bounds=(1, 2))
    several = {"attributes": (attribute,), "multiplicity": "each", "records_per_slot": 5, "directed": True}
    schema = GraphSchema(node_types=(NodeType(count=9),), edge_types=(EdgeType(name="e", **several),))
    entries = [asked("value_histogram", 1, "e"), asked("record_histogram", 1, "e", sequence=1)]
    found = [each.within for each in precisions(unit, schema, entries, STATISTICS)]
    assert found == [within(Fraction(5 * times), CONFIDENCE), within(Fraction(times), CONFIDENCE)]


def test_what_is_asked_of_all_snapshots_together_is_one_figure():
    entries = [asked("value_histogram", 0.5, "follows", sequence=k, step=k) for k in range(3)]
    (found,) = precisions(Unit.EVENT, SCHEMA, entries, STATISTICS)
    assert (found.within, found.snapshots) == (within(Fraction(2), CONFIDENCE), None)


def test_the_precision_follows_from_the_plan_and_not_from_the_graph():
    # Two graphs under one plan: everything but the released sizes is the same.
    other = public_part([relation("knows", None, 7)]).statistics
    entries = [asked("edge_count", 0.1), asked("degrees", 0.5)]
    one, two = (precisions(Unit.EDGE, SCHEMA, entries, s) for s in (STATISTICS, other))
    assert [p.model_copy(update={"released": None}) for p in one] == [
        p.model_copy(update={"released": None}) for p in two
    ]


def test_rows_of_nodes_and_what_both_ends_carry_have_a_line():
    entries = [
        asked("node_values", 1, "rows:user"),
        asked("mixing", 0.5),
        asked("mixing", 0.25, "rows:user"),  # the same read, as rows pay for it
    ]
    assert bounds(*entries) == {
        ("rows:user", "node_values"): within(Fraction(2), CONFIDENCE),
        ("knows", "mixing"): within(Fraction(3 * NANO, NANO // 2 - 1), CONFIDENCE),
    }
    found = precisions(Unit.EDGE, SCHEMA, entries, STATISTICS)
    assert [(subject_of(each), each.snapshots) for each in found] == [("user", None), ("knows", None)]


@given(st.integers(1, 2_000), st.integers(1, 10**10), st.integers(1, 10**10))
def test_mixing_is_never_told_nearer_than_its_noise_is(cap, edge, row):
    noise = node_values.mixing_noise(cap, edge, row)
    assume(noise.edge > 1)
    ((_, told),) = bounds(asked("mixing", noise.edge / NANO)).items()
    assert told >= within(Fraction(noise.moved * NANO, noise.nano_epsilon), CONFIDENCE)


def test_what_a_row_and_an_edge_move_is_what_the_reads_say():
    assert (ROW_MOVES, EDGE_MOVES) == (node_values.ROW_MOVES, node_values.EDGE_MOVES)
