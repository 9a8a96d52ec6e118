"""Typed graphs of odd shapes are released under every unit, by models that can be kept."""

import pytest

from core.methods.anchored import GENERATOR, AnchoredParams
from core.methods.base import PublicFacts
from core.privacy.units import Unit
from tests.support.odd_shapes import SHAPES, graph_of, kept_release, require_facts

NANO, DELTA = 10**9, 10**13
OPTIONS = [
    (Unit.EDGE, {"evidence": "materialised", "degree_share": 0.5}),
    pytest.param(Unit.EDGE, {"evidence": "none", "deconvolve": False}, marks=pytest.mark.audits),
    pytest.param(Unit.EVENT, {"evidence": "materialised", "degree_share": 0.5}, marks=pytest.mark.audits),
    (Unit.EVENT, {"evidence": "lazy", "degree_share": 0.5, "spectral": True}),
    pytest.param(Unit.W_EVENT, {"evidence": "lazy", "degree_share": 0.5}, marks=pytest.mark.audits),
    (Unit.PAIR, {}),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("unit", "options"), OPTIONS, ids=str)
def test_every_relation_is_released_whatever_its_shape(unit, options, shape, tmp_path):
    graph = graph_of(*SHAPES[shape], unit.temporal)
    params = AnchoredParams.varied(**options)
    names = tuple(each.name for each in graph.schema.edge_types)
    window, delta = (2 if unit is Unit.W_EVENT else None), (DELTA if options.get("spectral") else 0)
    for epsilon in (NANO // 10, 30 * NANO):
        facts = PublicFacts(graph.schema, unit, window, epsilon, delta, names)
        _, released = kept_release(GENERATOR, params, facts, graph, tmp_path / str(epsilon))
        require_facts(released)
