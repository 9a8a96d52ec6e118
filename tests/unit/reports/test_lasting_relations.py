"""Relations declared to last: what the plan and the report say of them, and when they keep silent."""

import pytest
from pydantic import ValidationError

from core.graphs.schema import EdgeType, GraphSchema, Presence, TimeGrid
from core.privacy.units import Unit
from core.reports.notices import lasting_relations

RELATIONS = (
    EdgeType(name="mails", temporal=True, presence=Presence.EVENT),
    EdgeType(name="links", temporal=True, presence=Presence.STATE),
    EdgeType(name="ties", temporal=True, presence=Presence.STATE),
    EdgeType(name="met", temporal=True, presence=Presence.CUMULATIVE),
    EdgeType(name="roads", temporal=True, public=True, presence=Presence.STATE),
    EdgeType(name="calls", temporal=True),
)
SCHEMA = GraphSchema(edge_types=RELATIONS, time=TimeGrid(count=9))


def test_states_and_cumulative_streams_are_named_with_what_they_cost():
    state, cumulative = lasting_relations(SCHEMA, Unit.W_EVENT, 4)
    assert (state.code, cumulative.code) == ("relation_state", "relation_cumulative")
    assert "links, ties." in state.text
    assert "ceil(L / 4) times epsilon" in state.text
    assert state.edge_type is None
    assert cumulative.edge_type == "met"
    assert "without end" in cumulative.text
    for silent in ("mails", "roads", "calls"):
        assert silent not in state.text + cumulative.text


def test_unit_event_counts_every_snapshot():
    state, _ = lasting_relations(SCHEMA, Unit.EVENT, None)
    assert "covered at L times epsilon" in state.text


@pytest.mark.parametrize("unit", [Unit.PAIR, Unit.EDGE])
def test_units_that_hide_all_snapshots_of_an_edge_need_no_warning(unit):
    assert lasting_relations(SCHEMA, unit, None) == ()


def test_only_relations_that_are_asked_for():
    assert lasting_relations(SCHEMA, Unit.W_EVENT, 4, ("mails", "calls")) == ()
    (state,) = lasting_relations(SCHEMA, Unit.W_EVENT, 4, ("ties",))
    assert state.edge_type == "ties"


def test_only_relations_with_time_have_a_presence():
    with pytest.raises(ValidationError, match="carries no time"):
        EdgeType(presence=Presence.STATE)
