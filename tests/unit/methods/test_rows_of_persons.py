"""Persons' rows and what their edges carry, under unit node: whole fits against every neighbour, planted
mistakes, and what comes through."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.accounting.plan import WHOLE_GRAPH
from core.privacy.mechanisms import projection
from core.privacy.units import Unit
from core.publishing.settle import settle
from tests.support.neighbours import compared, fit_of

TOWN = Attribute(name="town", protection="protected", categories=("x", "y"))
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 9), cuts=(5,))
WIDE = Attribute(name="wide", kind="vector", protection="protected", bounds=(-9, 9), cuts=(-4, 4), length=32)
PLACE = Attribute(name="place", kind="vector", protection="protected", bounds=(-9, 9), cuts=(-4, 4), length=2)
TEAM = Attribute(name="team", protection="public", categories=("r", "b"), label=True)
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3))
MERGED = STARS.model_copy(update={"aggregate": "max"})
EACH = {"multiplicity": "each", "records_per_slot": 2}
Slot = tuple[int, ...]
Held = dict[Slot, tuple[int, ...]]
"""Stars of the records of every edge, by its ends and its step."""
Row = tuple[str | None, float]
NODES, FEW = 3, 3
MODULES = (
    "core.methods.projection.values",
    "core.methods._shared.composition.persons",
)


def schema_of(
    *, directed: bool = False, steps: int = 0, each: bool = False, bound: int | None = None, **more: Any
) -> GraphSchema:
    kind = NodeType(
        name="user", count=NODES, protected=True, degree_bound=bound, attributes=more.get("rows", (TOWN, AGE))
    )
    knows = EdgeType(
        name="knows",
        source="user",
        target="user",
        directed=directed,
        temporal=steps > 0,
        attributes=(STARS if each else MERGED,),
        **(EACH if each else {}),
    )
    time = TimeGrid(count=steps) if steps else None
    return GraphSchema(node_types=(kind,), edge_types=(knows,), time=time)


def _pairs(directed: bool) -> list[tuple[int, int]]:
    chosen = itertools.permutations if directed else itertools.combinations
    return sorted(chosen(range(NODES), 2))


def built(schema: GraphSchema, held: Held, rows: list[Row]) -> Graph:
    knows = schema.edge_types[0]
    slots = sorted((slot for slot in held if held[slot]), key=lambda slot: (slot[2:], slot[:2]))
    ends = np.array([slot[:2] for slot in slots], dtype=np.int64).reshape(-1, 2)
    step = np.array([slot[2] for slot in slots], dtype=np.int64) if knows.temporal else None
    edge = np.repeat(np.arange(len(slots)), [len(held[slot]) for slot in slots]).astype(np.int64)
    stars = np.array([star for slot in slots for star in held[slot]], dtype=np.int32)
    values = EdgeValues({"stars": stars}, None if knows.merged else edge)
    columns: dict[str, Any] = {
        "town": pa.array([row[0] for row in rows], type=pa.string()),
        "age": np.array([row[1] for row in rows]),
        "place": np.array([(row[1], -row[1]) for row in rows], dtype=np.float32),
        "wide": np.array([(row[1], -row[1]) * 16 for row in rows], dtype=np.float32),
        "team": pa.array(["r", "b", "r", "b"][:NODES]),
    }
    declared = {each.name for each in schema.node_types[0].attributes}
    nodes = NodeTable(NODES, None, {name: column for name, column in columns.items() if name in declared})
    return Graph.build(schema, {"user": nodes}, {"knows": EdgeTable(ends[:, 0], ends[:, 1], step, values)})


def neighbours(schema: GraphSchema, held: Held, rows: list[Row], rng: Any, most: int) -> Iterator[Graph]:
    """So many of the graphs in which one person's edges, what they carry, and row are others."""
    knows = schema.edge_types[0]
    states: tuple[tuple[int, ...], ...] = ((), (1,), (3,)) if knows.merged else ((), (1,), (1, 3), (3, 3))
    steps = [(step,) for step in range(schema.steps)] if knows.temporal else [()]
    slots = [(*pair, *step) for step in steps for pair in _pairs(knows.directed)]
    for node in range(NODES):
        own = [slot for slot in slots if node in slot[:2]]
        every = list(itertools.product(states, repeat=len(own)))
        extremes = [(state,) * len(own) for state in states]
        drawn = rng.choice(len(every), min(most, len(every)), replace=False)
        some = extremes[-1:] + [every[i] for i in drawn]
        for found in some:
            rest = {slot: stars for slot, stars in held.items() if node not in slot[:2]}
            rest |= dict(zip(own, found, strict=True))
            bound = schema.node_types[0].degree_bound
            ends = np.array([slot[:2] for slot in rest if rest[slot]], dtype=np.int64).ravel()
            if bound is not None and np.bincount(ends, minlength=NODES).max() > bound:
                continue
            others: list[Row] = [("x", 1.0), ("y", 9.0), (None, 1.0), ("y", float("nan"))]
            for row in others if most > FEW else [others[rng.integers(4)]]:
                yield built(schema, rest, [row if place == node else own for place, own in enumerate(rows)])


SCHEMAS: dict[str, dict[str, Any]] = {
    "undirected": {},
    "undirected, bound": {"bound": 2},
    "directed": {"directed": True},
    "timed": {"steps": 2},
    "timed and directed, each record, bound": {"directed": True, "steps": 2, "each": True, "bound": 6},
    "each record": {"each": True},
    "public groups": {"rows": (TOWN, AGE, TEAM)},
    "public groups, bound": {"rows": (TOWN, AGE, TEAM), "bound": 2},
    "a vector": {"rows": (TOWN, PLACE)},
    "a vector alone": {"rows": (PLACE,), "bound": 2},
    "a wide vector": {"rows": (TOWN, WIDE)},
    "a wide vector alone": {"rows": (WIDE,), "bound": 2},
}
DELTA = {"a wide vector": 10**12, "a wide vector alone": 10**12}
"""Of the cases in which vectors have Gaussian noise beside the person's other reads."""


def whole(
    case: str,
    theta: int | None,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    most: int,
    shares: tuple[float, float] = (0.4, 0.5),
    held: Held | None = None,
) -> None:
    schema, rng = schema_of(**SCHEMAS[case]), np.random.default_rng(4)
    facts = PublicFacts(schema, Unit.NODE, None, 8 * NANO, DELTA.get(case, 0), ("knows",))
    if theta:
        for module in ("looks", "events", "fit"):
            monkeypatch.setattr(f"core.methods.projection.{module}.theta_of", lambda *_: theta)
        monkeypatch.setattr("core.methods.projection.values._theta", lambda *_: theta)
        monkeypatch.setattr("core.methods.projection.values.THETAS", ((1e-6, 1e-5), 2))
    monkeypatch.setattr("core.methods.projection.values.CLASS_NOISE", 1e9)
    asked = dict(zip(("node_attribute_share", "attribute_share"), shares, strict=True))
    found = settle("auto", asked, (), facts, {"user": NODES})
    gaussian = [each for each in found.plan.allotments if isinstance(each.event, GaussianEvent)]
    assert len(gaussian) == (case in DELTA)
    assert (found.plan.cost().nano_epsilon or 0) <= 8 * NANO
    temporal = schema.edge_types[0].temporal
    held = held or {
        (*pair, *step): (1,) if place % 2 else (3,)
        for step in ([(0,), (1,)] if temporal else [()])
        for place, pair in enumerate(_pairs(schema.edge_types[0].directed))
        if place % 3 != 1
    }
    rows: list[Row] = [("x", 1.0), ("y", 9.0), ("x", 7.0)]
    fitted, graph = fit_of(found.generator, found.params, facts), built(schema, held, rows)
    for number, other in enumerate(neighbours(schema, held, rows, rng, most)):
        compared(fitted, graph, other, WHOLE_GRAPH, folder / str(number), *MODULES)


SMALL = ("undirected, bound", "timed and directed, each record, bound", "a vector", "public groups")
"""Of each thing that a row may have, a schema; ``make test`` fits these."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("theta", [pytest.param(1, marks=pytest.mark.audits), None])
@pytest.mark.parametrize(
    "case", [each if each in SMALL else pytest.param(each, marks=pytest.mark.audits) for each in SCHEMAS]
)
def test_whole_fits_lie_within_the_plan_for_neighbours_of_edges_values_and_rows(
    case, theta, tmp_path, monkeypatch
):
    whole(case, theta, monkeypatch, tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("theta", [1, None])
@pytest.mark.parametrize("case", SCHEMAS)
def test_whole_fits_lie_within_the_plan_for_all_neighbours(case, theta, tmp_path, monkeypatch):
    whole(case, theta, monkeypatch, tmp_path, 400)


@pytest.mark.parametrize(
    ("question", "shares"), [("class_counts", (0.01, 0.9)), ("pair_counts", (0.5, 0.05))]
)
def test_whole_fits_with_a_third_of_a_sensitivity_are_told_apart(question, shares, tmp_path, monkeypatch):
    sound: Callable[..., tuple[int, Any]] = getattr(projection, question)

    def third(*given: Any) -> tuple[int, Any]:
        moved, measure = sound(*given)
        return max(1, moved // 3), measure

    monkeypatch.setattr(projection, question, third)
    with pytest.raises(AssertionError):
        whole("undirected", 1, monkeypatch, tmp_path, 30, shares, {(0, 2): (1,)})


@pytest.mark.parametrize(
    ("method", "parameters", "field"),
    [
        ("projection", {"attribute_share": 1e-9}, "attribute_share"),
        ("composed", {"node_attribute_share": 1e-9}, "node_attribute_share"),
    ],
)
def test_a_share_that_rounds_to_nothing_is_refused_before_anything_is_paid(
    method: str, parameters: dict[str, Any], field: str
) -> None:
    schema = schema_of(each=True)
    facts = PublicFacts(schema, Unit.NODE, None, NANO, 0, ("knows",))
    with pytest.raises(NotAccepted) as refused:
        settle(method, parameters, ["parquet"], facts, {"user": NODES})
    assert refused.value.members["field"].endswith(field)


def test_what_edges_of_persons_carry_is_the_part_of_every_relation() -> None:
    schema = schema_of()
    (knows,) = schema.edge_types
    both = schema.model_copy(
        update={"edge_types": (knows, knows.model_copy(update={"name": "trusts"}))}, deep=True
    )
    facts = PublicFacts(both, Unit.NODE, None, NANO, 0, ("knows", "trusts"))
    settled = settle("auto", {}, ["parquet"], facts, {"user": NODES})
    assert settled.generator.carries(settled.params)
    part = settled.generator.values_plan(settled.plan)
    granted = [each for each in settled.plan.allotments if each.purpose.endswith("what edges carry")]
    assert len(granted) == 2
    assert part.allotments == tuple(granted)
