"""AUC-items on persons with planted tastes: what a copy, other persons of the same tastes, and noise keep."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.metric import Suite
from core.evaluation.tasks import item_preference as task
from core.evaluation.tasks.run import TASKS, persons_first, run_tasks
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.reports.evidence import Task

PERSONS, ITEMS, TASTES, OWN = 1500, 120, 4, 12


def tastes(seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges of persons who take so much of what they take from their own quarter of the items."""
    rng = np.random.default_rng(seed)
    quarter = ITEMS // TASTES
    person = np.repeat(np.arange(PERSONS), OWN)
    inside = (person % TASTES) * quarter + rng.integers(0, quarter, len(person))
    item = np.where(rng.random(len(person)) < share, inside, rng.integers(0, ITEMS, len(person)))
    return np.divmod(np.unique(person * ITEMS + item), ITEMS)


def graph(seed: int, share: float, *, turned: bool = False, functional: bool = False) -> Graph:
    person, item = tastes(seed, share)
    ends = ("film", "person") if turned else ("person", "film")
    if functional:
        person, first = np.unique(person, return_index=True)
        item = item[first]
    relation = EdgeType(name="sees", source=ends[0], target=ends[1], functional=functional)
    counts = {"person": PERSONS, "film": ITEMS}
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=counts[name]) for name in ends), edge_types=(relation,)
    )
    table = EdgeTable(item, person) if turned else EdgeTable(person, item)
    return Graph.build(schema, {name: NodeTable(counts[name]) for name in ends}, {"sees": table})


def measured(original: Graph, synthetic: Graph) -> Task:
    views = (UndirectedView.of(each.cell("sees", None)) for each in (original, synthetic))
    return Task.model_validate(task.item_preference(*views, "sees"))


def test_a_copy_is_worth_as_much_as_the_original_and_other_persons_nearly_as_much():
    original, others = graph(1, 0.8), graph(2, 0.8)
    copy, other = measured(original, original), measured(original, others)
    assert copy.trained_on_synthetic == copy.trained_on_original
    assert copy.trained_on_original is not None
    assert copy.trained_on_original > 0.7
    assert other.trained_on_synthetic == pytest.approx(copy.trained_on_original, abs=0.1)
    assert other.baseline == 0.5


def test_a_release_without_tastes_is_worth_no_more_than_guessing():
    found = measured(graph(1, 0.8), graph(3, 0.0))
    assert found.trained_on_synthetic == pytest.approx(0.5, abs=0.08)


def test_persons_own_numbers_do_not_matter():
    """Renumbering the synthetic persons is the same release: nobody is looked up."""
    original, synthetic = graph(1, 0.8), graph(2, 0.8)
    mixed = np.random.default_rng(7).permutation(PERSONS)
    table = synthetic.edges["sees"]
    renumbered = Graph.build(
        synthetic.schema, synthetic.nodes, {"sees": EdgeTable(mixed[table.source], table.target)}
    )
    one, two = (measured(original, each).trained_on_synthetic for each in (synthetic, renumbered))
    assert one == pytest.approx(two, abs=1e-6)


def test_popularity_alone_earns_nothing():
    """Items are taken by popularity, tastes there are none: the first component is left out."""
    rng = np.random.default_rng(5)
    weight = 1 / (1 + np.arange(ITEMS))
    item = rng.choice(ITEMS, PERSONS * OWN, p=weight / weight.sum())
    keys = np.unique(np.repeat(np.arange(PERSONS), OWN) * ITEMS + item)
    base = graph(1, 0.8)
    popular = Graph.build(base.schema, base.nodes, {"sees": EdgeTable(*np.divmod(keys, ITEMS))})
    anybody = np.unique(rng.integers(0, PERSONS, len(keys)) * ITEMS + keys % ITEMS)
    shuffled = Graph.build(base.schema, base.nodes, {"sees": EdgeTable(*np.divmod(anybody, ITEMS))})
    assert measured(popular, shuffled).trained_on_synthetic == pytest.approx(0.5, abs=0.06)


def test_held_out_halves_are_disjoint_and_every_person_keeps_the_larger():
    person, item = tastes(1, 0.8)
    known, held = task._halves((person, item), np.random.default_rng(0))
    assert sorted([*known, *held]) == list(range(len(person)))
    sizes, kept = (np.bincount(person[each], minlength=PERSONS) for each in (np.arange(len(person)), known))
    assert (kept == sizes - sizes // 2).all()


def test_negatives_are_pairs_without_an_edge_and_items_stand_as_often():
    original = graph(1, 0.5)
    view = UndirectedView.of(original.cell("sees", None))
    pairs = task._sided(view, True)
    held = np.arange(0, len(pairs[0]), 2)
    person, item = task._not_theirs(view, pairs, held, True, np.random.default_rng(1))
    real = set(zip(*(each.tolist() for each in pairs), strict=True))
    assert not real & set(zip(person.tolist(), item.tolist(), strict=True))
    assert abs(np.bincount(item, minlength=ITEMS) - np.bincount(pairs[1][held], minlength=ITEMS)).sum() <= 4


def test_runs_of_the_suite_name_it_and_the_protected_side_are_persons():
    seen: list[tuple[str, int, int]] = []
    original = graph(1, 0.8)
    (entry,) = run_tasks(original, graph(2, 0.8), Suite.STANDARD, lambda *at: seen.append(at))
    assert entry["name"] == task.NAME
    assert seen == [("task", 0, 1), ("task", 1, 1)]
    assert run_tasks(original, original, Suite.QUICK, lambda *at: None) == []
    assert task.NAME in {name for name, _, _ in TASKS}


def test_either_side_may_be_the_persons():
    ours, theirs = graph(1, 0.8), graph(1, 0.8, turned=True)
    one = task.item_preference(*[UndirectedView.of(ours.cell("sees", None))] * 2, "sees")
    two = task.item_preference(*[UndirectedView.of(theirs.cell("sees", None))] * 2, "sees", False)
    assert two["trained_on_original"] == pytest.approx(one["trained_on_original"], abs=0.05)


def test_a_functional_relation_has_no_halves():
    few = graph(1, 0.8, functional=True)
    assert run_tasks(few, few, Suite.STANDARD, lambda *at: None) == []
    entry = task.item_preference(*[UndirectedView.of(few.cell("sees", None))] * 2, "sees")
    assert entry["trained_on_original"] is None
    assert "two items" in entry["not_run"]


def test_an_empty_release_teaches_nothing():
    original = graph(1, 0.8)
    none = np.empty(0, dtype=np.int64)
    empty = Graph.build(original.schema, original.nodes, {"sees": EdgeTable(none, none)})
    assert measured(original, empty).trained_on_synthetic == 0.5


@pytest.mark.parametrize(
    ("protected", "first"), [((False, False), True), ((True, False), True), ((False, True), False)]
)
def test_persons_are_the_protected_type_else_the_sources(protected, first):
    types = tuple(
        NodeType(name=name, count=3, protected=marked)
        for name, marked in zip(("doctor", "patient"), protected, strict=True)
    )
    relation = EdgeType(name="treats", source="doctor", target="patient")
    schema = GraphSchema(node_types=types, edge_types=(relation,))
    assert persons_first(schema, relation) is first
