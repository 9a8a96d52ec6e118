"""A new release: what its ticks set, and what they say is carried at which price."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from api.console.routes.release import Choice, _carries, looked_at

SCHEMA: dict[str, Any] = {
    "node_types": [
        {"name": "user", "attributes": [{"name": "sex", "protection": "protected"}, {"name": "town"}]}
    ],
    "edge_types": [{"name": "rates", "attributes": [{"name": "stars"}, {"name": "hour"}]}],
}


@pytest.mark.parametrize(
    ("choice", "parameters"),
    [
        (Choice("auto", "1"), {}),
        (Choice("auto", "1", values="no"), {"attribute_share": 0}),
        (
            Choice("auto", "1", hubs="yes", values="no", attributes="no"),
            {"objective": "who", "attribute_share": 0, "node_attribute_share": 0},
        ),
        (Choice("dcsbm", "1", hubs="yes", values="no"), {}),
        (Choice("knows=dcsbm,*=auto", "1", values="no"), {"attribute_share": 0}),
    ],
)
def test_ticks_set_parameters_of_auto_alone(choice: Choice, parameters: dict[str, Any]):
    assert choice.parameters == parameters


def test_what_is_declared_can_be_left_out_at_its_price():
    plan: Any = SimpleNamespace(parameters={"attribute_share": 0.25, "node_attribute_share": 0.0})
    assert _carries(SCHEMA, plan) == [("values", ["stars", "hour"], 0.25), ("attributes", ["sex"], None)]
    assert _carries({"node_types": [], "edge_types": [{"name": "rates"}]}, plan) == []
    assert _carries(None, None) == []


def test_methods_are_named_relation_by_relation():
    found = looked_at(epsilon="1", of=("knows=dcsbm", "", "reads=anchored"))
    assert found.method == "knows=dcsbm,reads=anchored,*=auto"
    assert found.asked == found.named == {"knows": "dcsbm", "reads": "anchored", "*": "auto"}
    assert looked_at(epsilon="1", of=("", "")).asked == "auto"
    assert looked_at(method="dcsbm").named == {}
    assert Choice("knows=", "1").asked == "knows="  # no method, and refused as one
