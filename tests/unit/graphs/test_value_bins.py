"""The bin of a value: by search, or looked up where whole numbers are few and values many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of

ATTRIBUTES: list[dict[str, Any]] = [
    {"kind": "integer", "bounds": (-3, 4)},
    {"kind": "integer", "bounds": (-300, 900)},
    {"kind": "integer", "bounds": (0, 20), "cuts": (1, 5, 20)},
    {"kind": "category", "categories": ("a", "b", "c")},
    {"kind": "time_of_day"},
    {"kind": "number", "bounds": (0, 1)},
]


@pytest.mark.parametrize("declared", ATTRIBUTES, ids=lambda each: each["kind"])
@pytest.mark.parametrize("many", [3, 100_000])
def test_many_values_fall_into_the_same_bins_as_each_by_itself(declared: dict[str, Any], many: int):
    fine = bins_of(EdgeAttribute(name="value", **declared))
    low, high = fine.attribute.range
    column = np.random.default_rng(1).uniform(low - 2, high + 2, many)  # what is outside: in the nearest bin
    if declared["kind"] != "number":
        column = np.floor(column).astype(np.int32)
    found = fine.places(column)
    for place in {0, many // 2, many - 1, int(column.argmin()), int(column.argmax())}:
        inside = [i for i, start in enumerate(fine.starts) if start <= column[place]]
        assert found[place] == max(inside, default=0)


@pytest.mark.parametrize("declared", ATTRIBUTES, ids=lambda each: each["kind"])
def test_a_drawn_value_lies_in_its_bin_and_single_ones_need_no_share(declared: dict[str, Any]):
    fine = bins_of(EdgeAttribute(name="value", **declared))
    places = np.arange(fine.count)
    assert fine.single == (declared["kind"] == "category" or declared.get("bounds") == (-3, 4))
    for share in (0.0, 0.999):
        values = fine.values(places, np.empty(0) if fine.single else np.full(fine.count, share))
        assert fine.places(values).tolist() == places.tolist()
        assert values.dtype == (np.float64 if declared["kind"] == "number" else np.int32)
