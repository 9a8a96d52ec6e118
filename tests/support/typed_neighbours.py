"""Whole fits of a typed graph with time on two neighbours: what each read was told, beside what it paid for.

As :mod:`tests.support.neighbours`, whose answers these are, for cells with steps and for units that have
edges in several of them. A graph is written as the set of pairs in each of its cells.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import FittedModel, Progress, PublicFacts
from core.privacy.accounting.events import GaussianEvent, PoissonSampled, Repeated, pure_nano_epsilon
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import CellKey, GuaranteeKind, PrivacyPlan
from core.privacy.mechanisms import siphash
from core.privacy.mechanisms.lazy_response import LazyResponse
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.neighbours import Asked

OF_VALUES = "values of "
"""How the purpose of a read begins that is of what edges carry."""
Fit = Callable[[Graph, Meter, PrivacyPlan, Progress], FittedModel]
Pair = tuple[int, int]
Cells = Mapping[CellKey, frozenset[Pair]]

KINDS = (
    NodeType(name="user", count=3),
    NodeType(name="film", count=2),
    NodeType(name="genre", count=2),
)
MANY_STEPS = (
    EdgeType(name="shows", source="film", target="genre", temporal=True),
    EdgeType(name="like", source="film", target="film", temporal=True),
)


def schema_of(*relations: EdgeType, steps: int = 2) -> GraphSchema:
    """These relations among three users, two films and two genres."""
    timed = any(each.temporal for each in relations)
    return GraphSchema(node_types=KINDS, edge_types=relations, time=TimeGrid(count=steps) if timed else None)


def cells_of(schema: GraphSchema) -> list[CellKey]:
    """Every cell of the schema."""
    return [(each.name, step) for each in schema.edge_types for step in schema.steps_of(each.name)]


def slots_of(schema: GraphSchema, relation: str) -> list[Pair]:
    """Every pair that an edge of a relation may join, in canonical form."""
    declared = schema.edge_type(relation)
    every = itertools.product(*(range(schema.node_type(end).count) for end in _ends(schema, relation)))
    if not declared.homogeneous:
        return list(every)
    return [(u, v) for u, v in every if u < v or (declared.directed and u != v)]


def built(
    schema: GraphSchema, cells: Cells, turned: Mapping[tuple[CellKey, Pair], int] = MappingProxyType({})
) -> Graph:
    """The graph of these cells. What an edge carries, of whole numbers, follows from where it stands, and is
    so many values farther where it is ``turned``."""
    tables = {}
    for each in schema.edge_types:
        steps = schema.steps_of(each.name)
        rows = [(*pair, step or 0) for step in steps for pair in sorted(cells.get((each.name, step), ()))]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        keys = [((each.name, row[2] if each.temporal else None), row[:2]) for row in rows]
        places = columns[0] + 2 * columns[1] + columns[2] + [turned.get(key, 0) for key in keys]
        carried = {
            own.name: (own.range[0] + places % (own.range[1] - own.range[0] + 1)).astype(np.int32)
            for own in each.attributes
        }
        values = EdgeValues(carried) if carried else None
        tables[each.name] = EdgeTable(columns[0], columns[1], columns[2] if each.temporal else None, values)
    return Graph.build(schema, {kind.name: NodeTable(kind.count) for kind in schema.node_types}, tables)


def some(schema: GraphSchema, share: float = 0.4, seed: int = 3) -> Cells:
    """Each slot with probability ``share``. Declared facts are not kept: no sensitivity rests on them."""
    rng = np.random.default_rng(seed)
    return {
        cell: frozenset(pair for pair in slots_of(schema, cell[0]) if rng.random() < share)
        for cell in cells_of(schema)
    }


def one_edge(schema: GraphSchema, cells: Cells) -> Iterator[tuple[CellKey, Cells]]:
    """Units edge and event: the cell that changed, and the graph with one edge more or less in it."""
    for cell in cells_of(schema):
        for pair in slots_of(schema, cell[0]):
            yield cell, {**cells, cell: cells[cell] ^ {pair}}


def one_pair(schema: GraphSchema, cells: Cells) -> Iterator[tuple[Cells, Cells]]:
    """Unit pair: the graph without a pair of nodes' edges, and with any of them, in all cells together."""
    joined: dict[frozenset, list[tuple[CellKey, Pair]]] = defaultdict(list)
    for cell in cells_of(schema):
        for u, v in slots_of(schema, cell[0]):
            source, target = _ends(schema, cell[0])
            joined[frozenset({(source, u), (target, v)})].append((cell, (u, v)))
    for places in joined.values():
        without = dict(cells)
        for cell, pair in places:
            without[cell] -= {pair}
        for kept in itertools.product((False, True), repeat=len(places)):
            if any(kept):
                yield without, _toggled(without, itertools.compress(places, kept))


def one_window(schema: GraphSchema, cells: Cells, window: int) -> Iterator[Cells]:
    """Unit w-event: one edge more or less at each step of a window, or none, and of those without time."""
    at: dict[int | None, list[tuple[CellKey, Pair] | None]] = defaultdict(lambda: [None])
    for cell in cells_of(schema):
        at[cell[1]] += [(cell, pair) for pair in slots_of(schema, cell[0])]
    for first in range(schema.steps - window + 1):
        steps = [at[step] for step in range(first, first + window)]
        for changes in itertools.product(at[None], *steps):
            if any(changes):
                yield _toggled(cells, (each for each in changes if each is not None))


def _toggled(cells: Cells, places: Any) -> Cells:
    found = dict(cells)
    for cell, pair in places:
        found[cell] = found[cell] ^ {pair}
    return found


def _ends(schema: GraphSchema, relation: str) -> tuple[str, str]:
    declared = schema.edge_type(relation)
    return declared.source, declared.target


@dataclass(frozen=True)
class Told:
    """A fit: its plan, what it recorded (relation, step, event, purpose), its progress, what noise was asked
    to hide, and the bytes of all files that it left."""

    plan: PrivacyPlan
    recorded: list[tuple]
    progress: list[tuple]
    asked: Asked
    files: dict[Path, bytes]


def told(
    generator: Any,
    params: Any,
    facts: PublicFacts,
    graph: Graph,
    folder: Path,
    *modules: str,
    fit: Fit | None = None,
) -> Told:
    """One fit whose every answer is one of its own, the same for all graphs; see ``Asked.answered``. ``fit``:
    the fit, where it is not that of the graph in memory."""
    asked, plan, progress = Asked(), generator.plan(params, facts), []
    meter = Meter(plan, MemoryRecorder())
    with pytest.MonkeyPatch.context() as patch:
        asked.answered(patch, *modules)
        patch.setattr("core.privacy.mechanisms.lazy_response.respond", _answered_lazily(asked))
        report = lambda *step: progress.append(step)  # noqa: E731
        if fit is None:
            model = generator.fit(PrivateGraph(graph, meter), plan, params, report)
        else:
            model = fit(graph, meter, plan, report)
        model.save(folder)
    recorded = [(entry.edge_type, entry.step, entry.event, entry.purpose) for entry in meter.transcript]
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return Told(plan, recorded, progress, asked, files)


def _answered_lazily(asked: Asked):
    def respond(source, target, shape, step, flips, room):
        slots = np.zeros((shape.source_count, shape.target_count), dtype=np.int64)
        slots[source, target] = 1
        asked.pure.append((slots.ravel(), Fraction(flips.nano_epsilon)))
        return LazyResponse(np.array([1]), siphash.keyed(bytes(siphash.KEY_BYTES)), flips)

    return respond


def require_hidden(
    one: Told, other: Told, cell: CellKey | None = None, times: int = 1
) -> list[tuple[str, Fraction]]:
    """AssertionError unless neighbours ``one`` and ``other`` were charged alike, step by step, with the same
    files in the end, no read told them farther apart than its own charge pays for, and all reads together no
    farther than the plan says that a unit costs. ``cell``: the one that has the edge, under units edge and
    event. ``times``: how often a read of several cells may be charged, and 2 where a value alone differs.

    Returned is each pure read, by its purpose, and how much of its charge told them apart.
    """
    assert one.recorded == other.recorded
    assert one.progress == other.progress
    assert one.files == other.files
    spent, moved, shares = Fraction(0), set(), []
    for (row, paying), (a, rate), (b, again) in zip(
        _pure(one), one.asked.pure, other.asked.pure, strict=True
    ):
        assert rate == again
        assert a.shape == b.shape
        told_apart = rate * int(np.abs(a - b).sum())
        paid = Fraction(pure_nano_epsilon(row[2]) or 0)
        assert told_apart <= times * paid, row
        shares.append((row[3], told_apart / paid))
        spent += told_apart
        if told_apart:
            moved |= {cell} if cell in paying else paying
    if one.plan.unit in (Unit.EDGE, Unit.EVENT):
        assert moved <= {cell}
    noise = _gaussian_noise(one.plan, cell)
    if one.plan.kind is GuaranteeKind.PURE:
        assert spent <= (one.plan.cost().nano_epsilon or 0)
    else:
        events = one.plan.cells[cell]  # type: ignore[index]
        assert spent <= sum(pure_nano_epsilon(event) or 0 for event in events)
    apart = []
    for (a, scale), (b, again) in zip(one.asked.gaussian, other.asked.gaussian, strict=True):
        assert scale == again
        assert a.shape == b.shape
        apart.append(Fraction(int(np.square(a - b).sum()), scale**2))
    apart = [each for each in apart if each]
    assert len(apart) <= len(noise)
    assert all(each * sigma**2 <= 1 for each, sigma in zip(apart, noise, strict=False))
    return shares


def _pure(one: Told) -> list[tuple[tuple, set]]:
    """Each pure read's first row, and the cells that pay for it: of what edges carry, those of all steps."""
    found: list[tuple[tuple, set]] = []
    for row in one.recorded:
        if pure_nano_epsilon(row[2]) is None:
            continue
        alike = found and row[3].startswith(OF_VALUES) and found[-1][0][2:] == row[2:]
        if alike and found[-1][0][0] == row[0]:
            found[-1][1].add(row[:2])
        else:
            found.append((row, {row[:2]}))
    return found


def _gaussian_noise(plan: PrivacyPlan, cell: CellKey | None) -> list[Fraction]:
    """The noise multiplier of every Gaussian draw that the cell has paid for."""
    found: list[Fraction] = []
    for event in plan.cells[cell] if cell is not None else ():
        match event:
            case Repeated(PoissonSampled(_, GaussianEvent(sigma)) | GaussianEvent(sigma), times):
                found += [Fraction(sigma)] * times
    return found
