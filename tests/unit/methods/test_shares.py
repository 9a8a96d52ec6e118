"""All shares of a method at once: another way to write its parameters, which must add up."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import InvalidInput
from core.methods import registry
from core.methods.base import Parameters, PublicFacts
from core.privacy.units import Unit
from core.publishing.checks import checked_params, shares_of
from tests.support.generating import NANO, graph_of

DIVIDING = {
    name: generator.Params
    for name, generator in registry.generators().items()
    if issubclass(generator.Params, Parameters) and generator.Params.READS
}
QUERIES = {"count": "edge_count", "degree": "degrees", "tail": "tail_counts", "block": "group_matrix"}


def test_the_methods_that_divide_a_cell_are_known() -> None:
    assert set(DIVIDING) == {
        *("dcsbm", "degree_triangle", "der", "dgg", "dp_dk", "edgerand", "keyframe", "lapgraph"),
        *("privgraph", "privhrg", "thepuff_perturb", "tmf"),
    }


@pytest.mark.parametrize("name", DIVIDING)
def test_shares_are_the_parameters_in_other_words(name: str) -> None:
    model = DIVIDING[name]
    found = shares_of(model())
    assert tuple(found) == model.READS
    assert sum(found.values()) == pytest.approx(1)
    assert checked_params(model, {"shares": found}) == model()
    assert "shares" not in checked_params(model, {"shares": found}).model_dump()


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("dgg", {"count": 0.25, "degree": 0.75}),
        ("dp_dk", {"count": 0.1, "matrix": 0.3, "degree": 0.6}),
        ("degree_triangle", {"count": 0.1, "tail": 0.2, "triangle": 0.3, "degree": 0.4}),
        ("dcsbm", {"count": 0.1, "degree": 0.4, "block": 0.2, "label": 0.3}),
        ("lapgraph", {"count": 0.4, "cells": 0.6}),
    ],
)
def test_each_read_has_its_share(name: str, shares: dict[str, float]) -> None:
    generator, of = registry.get(name), graph_of([(0, 1)], 50)
    params = checked_params(generator.Params, {"shares": shares})
    plan = generator.plan(params, PublicFacts(of.schema, Unit.EDGE, None, NANO, 0, ("edge",)))
    paid = {
        each.query: each.nano_epsilon[0]
        for each in generator.planned_reads(params, plan, of.schema, {"node": 50})
    }
    for read, share in shares.items():
        if QUERIES.get(read) in paid:
            assert paid[QUERIES[read]] == pytest.approx(share * NANO, abs=5)
    assert QUERIES["count"] in paid


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("dgg", {"shares": {"count": 0.2, "degree": 0.7}}, "sum to 0.9"),
        ("dgg", {"shares": {"count": 0.2, "degree": 0.8, "triangle": 0}}, "no read 'triangle'"),
        ("dgg", {"shares": {"count": 1}}, "nothing is left for degree"),
        ("dgg", {"shares": {"count": float("nan"), "degree": 1}}, "numbers from 0 to 1"),
        ("dgg", {"shares": {"count": True, "degree": 0}}, "numbers from 0 to 1"),
        ("dgg", {"shares": {"count": -0.5, "degree": 1.5}}, "numbers from 0 to 1"),
        ("dgg", {"shares": [0.5, 0.5]}, "numbers from 0 to 1"),
        ("dgg", {"shares": {"count": 0.2, "degree": 0.8}, "count_share": 0.2}, "set beside shares"),
        ("dgg", {"shares": {"degree": 1}}, "count_share"),  # which cannot be 0
        ("profiles", {"shares": {"degree": 1}}, "leave shares out"),
    ],
)
def test_shares_that_do_not_add_up_are_refused(name: str, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        checked_params(registry.get(name).Params, parameters)
    assert refused.value.members["field"].startswith("parameters.")
