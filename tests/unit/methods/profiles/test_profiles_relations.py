"""Which relations ``profiles`` takes: those of persons and things, also beside relations among persons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.methods.profiles import GENERATOR, ProfilesParams
from core.methods.projection import GENERATOR as PROJECTION
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.publishing import public_of, publish

DELTA_ATTO = 10**12
SCHEMA = GraphSchema(
    node_types=(NodeType(name="user", count=40, protected=True), NodeType(name="film", count=10)),
    edge_types=(
        EdgeType(name="knows", source="user", target="user"),
        EdgeType(name="rates", source="user", target="film"),
    ),
)


def facts(*relations: str) -> PublicFacts:
    return PublicFacts(SCHEMA, Unit.NODE, None, 20 * NANO, DELTA_ATTO, relations)


@pytest.mark.parametrize("asked", [("knows",), ("knows", "rates"), ("rates", "knows")])
def test_a_relation_among_persons_is_refused_before_anything_is_read(asked: tuple[str, ...]) -> None:
    with pytest.raises(NotAccepted, match="'knows' has two") as refused:
        GENERATOR.plan(ProfilesParams(), facts(*asked))
    assert refused.value.members["field"] == "edge_types"
    assert "ask projection" in refused.value.message


def test_a_relation_among_persons_is_released_beside_things_and_the_report_says_what_is_not(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(2)
    tables = {
        "knows": EdgeTable(*rng.integers(0, 40, (2, 150))),
        "rates": EdgeTable(rng.integers(0, 40, 90), rng.integers(0, 10, 90)),
    }
    graph = Graph.build(SCHEMA, {}, tables)
    for generator, relation, other in ((PROJECTION, "knows", "rates"), (GENERATOR, "rates", "knows")):
        delta = DELTA_ATTO if generator is GENERATOR else 0
        asked = {"unit": Unit.NODE, "nano_epsilon": 20 * NANO, "delta_atto": delta, "edge_types": (relation,)}
        publish(generator, graph, tmp_path / relation, formats=(), **asked)
        public = public_of(tmp_path / relation)
        (left,) = (each["text"] for each in public["caveats"] if each["code"] == "relations_left_out")
        assert f"not asked for: {other}." in left
        (told,) = public["statistics"]["edge_types"]
        assert told["name"] == relation
        assert told["edges"] > 30


def test_a_job_on_things_alone_leaves_relations_among_persons_unread() -> None:
    user, film = np.divmod(np.arange(400), 10)
    tables = {"knows": EdgeTable(np.array([0]), np.array([1])), "rates": EdgeTable(user, film)}
    plan = GENERATOR.plan(ProfilesParams(), facts("rates"))
    meter = Meter(plan, MemoryRecorder())
    session = PrivateGraph(Graph.build(SCHEMA, {}, tables), meter)
    model = GENERATOR.fit(session, plan, ProfilesParams(), no_progress)
    drawn = model.sample(public_generator(1), no_progress)
    assert drawn.edges["rates"].count > 200
    assert {entry.purpose for entry in meter.transcript} == {"degrees of rates", "totals of rates"}
