"""Which records count: the cap of an edge, that of a pair over all steps, and that no other pair matters."""

from __future__ import annotations

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, EdgeValues
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.graphs.views.records import (
    RECORDS,
    counted,
    each_alone,
    number_of_records,
    numbered,
    records_per_edge,
    with_numbers,
)

PRICE = EdgeAttribute(name="price", kind="integer", bounds=(0, 10**6))


def table(seed: int = 0, pairs: int = 40, steps: int = 6, most: int = 9) -> EdgeTable:
    """Edges with up to ``most`` records each, whose values are all different."""
    rng = np.random.default_rng(seed)
    source, target = np.divmod(rng.choice(400, pairs, replace=False), 20)
    step = np.repeat(np.arange(steps), pairs)
    kept = rng.random(len(step)) < 0.7
    edges = EdgeTable(np.tile(source, steps)[kept], np.tile(target, steps)[kept], step[kept])
    edge = np.repeat(np.arange(edges.count), rng.integers(1, most + 1, edges.count))
    return EdgeTable(
        edges.source, edges.target, edges.step, EdgeValues({"price": np.arange(len(edge))}, edge)
    )


def prices(records: EdgeTable) -> np.ndarray:
    return records.values.columns["price"]


def groups(records: EdgeTable, by_pair: bool) -> np.ndarray:
    pair = records.source.astype(np.int64) * 20 + records.target
    return pair if by_pair else pair * 100 + records.step


@pytest.mark.parametrize("by_pair", [False, True])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_so_many_records_of_an_edge_or_a_pair_count_and_all_of_those_that_have_fewer(
    most: int, by_pair: bool
):
    whole = each_alone(table())
    kept = counted(whole, most, by_pair)
    assert set(prices(kept)) <= set(prices(whole))
    assert (np.diff(prices(kept)) > 0).all()  # in the order that they had, each once
    had, has = (np.bincount(groups(each, by_pair), minlength=50_000) for each in (whole, kept))
    assert np.array_equal(has, np.minimum(had, most))


@pytest.mark.parametrize("by_pair", [False, True])
def test_what_a_pair_keeps_depends_on_no_other_pair(by_pair: bool):
    whole = table()
    everywhere = counted(each_alone(whole), 3, by_pair)
    for pair in np.unique(groups(whole, True))[:10]:
        rows = np.flatnonzero(groups(whole, True) == pair)
        alone = EdgeTable(
            whole.source[rows],
            whole.target[rows],
            whole.step[rows],
            whole.values.of_edges(rows, whole.count),
        )
        own = prices(counted(each_alone(alone), 3, by_pair))
        assert np.array_equal(own, prices(everywhere)[groups(everywhere, True) == pair])


def test_records_of_pairs_count_evenly_over_time():
    """One record of each of 1,000 pairs that are there at all of 10 steps: 100 a step, within six errors."""
    source, target = np.divmod(np.arange(1000), 40)
    steps = np.repeat(np.arange(10), 1000)
    kept = counted(EdgeTable(np.tile(source, 10), np.tile(target, 10), steps), 1, by_pair=True)
    assert np.abs(np.bincount(kept.step, minlength=10) - 100).max() < 6 * np.sqrt(90)


def test_an_edge_carries_how_many_records_it_has():
    whole = table()
    assert np.array_equal(records_per_edge(whole), np.bincount(whole.values.edge))
    assert np.array_equal(numbered(whole).values.columns[RECORDS], records_per_edge(whole))
    records, edge = with_numbers(whole, records_per_edge(whole))
    assert np.array_equal(edge, whole.values.edge)
    assert np.array_equal(records.source, each_alone(whole).source)
    assert (records_per_edge(records) == 1).all()


@pytest.mark.parametrize("most", [1, 2, 3, 16, 17, 40, 1_000_000])
def test_numbers_up_to_the_cap_have_bins(most: int):
    relation = EdgeType(attributes=(PRICE,), multiplicity="each", records_per_slot=most)
    bins = bins_of(number_of_records(relation))
    assert bins.starts[: min(most, 16)].tolist() == list(range(1, min(most, 16) + 1))
    assert bins.end == most + 1
    assert bins.single == (most <= 16) or most == 17
    assert bins.count <= 70
