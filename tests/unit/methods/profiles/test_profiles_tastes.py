"""What a plan says of persons' tastes before anything is read."""

from __future__ import annotations

from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection
from core.methods.base import PublicFacts
from core.methods.profiles import GENERATOR
from core.privacy.units import Unit

NANO = 10**9


def said(persons: int, *, public: int, epsilon: float = 1.0, delta: int = 10**12) -> list[str]:
    columns = tuple(Attribute(name=f"a{place}", protection=Protection.PUBLIC) for place in range(public))
    schema = GraphSchema(
        node_types=(
            NodeType(name="person", count=persons, protected=True),
            NodeType(name="thing", count=50, attributes=columns),
        ),
        edge_types=(EdgeType(name="likes", source="person", target="thing"),),
    )
    facts = PublicFacts(schema, Unit.NODE, None, int(epsilon * NANO), delta, ("likes",))
    params, nodes = GENERATOR.Params(), {"person": persons, "thing": 50}
    return list(GENERATOR.cautions(params, GENERATOR.plan(params, facts), schema, nodes))


def test_things_that_nothing_tells_apart_have_no_tastes():
    assert "nothing public tells its things apart" in said(10**6, public=0)[0]
    assert "takes a delta" in said(10**6, public=8, delta=0)[0]


def test_tastes_begin_at_a_number_of_persons_that_falls_with_epsilon():
    (few,) = said(2, public=8)
    begin = int(few.partition("begin at about ")[2].split()[0])
    assert said(begin, public=8) == []
    assert len(said(begin - 1, public=8)) == 1
    (fewer,) = said(2, public=8, epsilon=4.0)
    assert int(fewer.partition("begin at about ")[2].split()[0]) < begin
