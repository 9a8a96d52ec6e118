"""Audits of what edges and nodes carry, as it is read where single edges are protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.accounting.plan import PrivacyPlan, rows_of
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.reads.mixing_between import Side
from core.privacy.reads.node_values import Noise
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.audited_cells import DELTA_ATTO, SIGMA
from tests.support.read_audits import Ask, ReadAudit, plan_of, pure
from tests.support.two_types import rated

NODES, CAP = 4, 2
SIGN = EdgeAttribute(name="sign", kind="integer", bounds=(-1, 1), aggregate="min")
EACH = SIGN.model_copy(update={"aggregate": None})
PURE = plan_of(pure(1))
Row = tuple[int, int, int, int]
"""Of one record: source, target, step and sign."""
CANARY, OTHER = (0, 1, 0, 1), (2, 3, 0, -1)


def carrying(rows: Sequence[Row], *, steps: int = 0, **declared: Any) -> Graph:
    """Edges among four nodes that carry a sign; rows of one edge stand together."""
    each = declared.get("multiplicity") == "each"
    relation = EdgeType(attributes=(EACH if each else SIGN,), temporal=steps > 0, **declared)
    time = TimeGrid(count=steps) if steps else None
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=time)
    keys = list(dict.fromkeys(row[:3] for row in rows))
    source, target, step = np.array(keys, dtype=np.int64).reshape(-1, 3).T
    signs = np.array([row[3] for row in rows], dtype=np.int32)
    own = np.array([keys.index(row[:3]) for row in rows], dtype=np.int64)
    values = EdgeValues({"sign": signs}, own) if each else EdgeValues({"sign": signs})
    table = EdgeTable(source, target, step if steps else None, values)
    return Graph.build(schema, {}, {"edge": table})


def asked_of(reads: EdgeValueReads, steps: int = 1, last: int = 5) -> dict[str, Callable[[], np.ndarray]]:
    """Every read of what edges carry, so that one edge moves it as far as it may."""
    labels, paid = np.arange(reads.bins.count), {"nano_epsilon": NANO, "purpose": "audit"}
    side, nobody = reads.sides[0], np.zeros(NODES, dtype=np.int64)
    scores = np.full(reads.bins.count, 5)
    scores[-1] = last
    return {
        "histogram": lambda: reads.histogram(**paid),
        "by_step": lambda: reads.by_step(periods=np.zeros(steps, dtype=np.int64), labels=labels, **paid),
        "by_node": lambda: reads.by_node(side=side, labels=labels, **paid),
        "node_sums": lambda: reads.node_sums(side=side, scores=scores, **paid),
        "by_classes": lambda: reads.by_classes(sources=nobody, targets=nobody, labels=labels, **paid),
    }


READS = ("histogram", "by_step", "by_node", "node_sums", "by_classes")


def edge_values() -> Iterator[ReadAudit]:
    several = {"multiplicity": "each", "records_per_slot": CAP}
    merged = carrying([CANARY, OTHER]), carrying([OTHER])
    twice = carrying([CANARY, CANARY, OTHER], **several), carrying([OTHER], **several)
    kinds = (
        ("values", "values", merged, "sign"),
        ("values, two records", "values", twice, "sign"),
        ("numbers", "numbers", twice, None),
    )
    for said, what, graphs, attribute in kinds:
        for name in READS:
            ask = _edge_read(name, attribute)
            yield ReadAudit(f"edge {said} {name}", f"EdgeValueReads.{name} of {what}", PURE, graphs, ask)
    alone = {**several, "records_apart": True}
    more = carrying([CANARY, CANARY, OTHER], **alone), carrying([CANARY, OTHER], **alone)
    for what, attribute, last in (("values", "sign", 5), ("numbers", None, -5)):
        for name in READS:
            ask = _edge_read(name, attribute, last)
            yield ReadAudit(f"edge {what} apart {name}", f"EdgeValueReads.{name} of {what}", PURE, more, ask)
    pair = {"directed": True, "steps": 2}
    both_ways = [CANARY, (1, 0, 0, 1), (2, 3, 1, -1)]
    graphs = carrying(both_ways, **pair), carrying(both_ways[2:], **pair)
    name, read = "edge values of a pair, histogram", "EdgeValueReads.histogram of values"
    of_pair = plan_of(pure(1), ("edge", 0), unit=Unit.PAIR, steps=2)
    yield ReadAudit(name, read, of_pair, graphs, _edge_read("histogram", "sign"))
    in_window = [(0, 1, step, 1) for step in range(2)]
    graphs = carrying([*in_window, both_ways[2]], steps=2), carrying(both_ways[2:], steps=2)
    name = "edge values of a window, histogram"
    window = plan_of(pure(1), ("edge", 0), ("edge", 1), unit=Unit.W_EVENT, steps=2, window=2)
    yield ReadAudit(name, read, window, graphs, _edge_read("histogram", "sign"))


def _edge_read(name: str, attribute: str | None, last: int = 5) -> Ask:
    def ask(asked: PrivateGraph) -> np.ndarray:
        reads = asked.edge_records("edge") if attribute is None else asked.edge_values("edge", attribute)
        return asked_of(reads, asked.schema.steps, last)[name]()

    return ask


PARTY = Attribute(name="party", protection="protected", categories=("a", "b"))
CELLS = ("edge", None), (rows_of("node"), None)
MANY = 12


def parties(values: str, pairs: Sequence[tuple[int, int]], directed: bool = False) -> Graph:
    """Nodes with a party each, and these edges among them."""
    kind = NodeType(count=len(values), attributes=(PARTY,))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(directed=directed),))
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    table = NodeTable(len(values), None, {"party": pa.array(list(values))})
    return Graph.build(schema, {"node": table}, {"edge": EdgeTable(source, target)})


def _mixing(cap: int, epsilon: int) -> Ask:
    def ask(asked: PrivateGraph) -> np.ndarray:
        given = {"groups": np.array([0, 1]), "cap": cap, "purpose": "audit"}
        paid = {"edge_nano_epsilon": epsilon * NANO, "row_nano_epsilon": epsilon * NANO}
        return asked.node_values("node").mixing("edge", "party", **given, **paid)

    return ask


MEETING = [(0, 1), (0, 2), (1, 3)]
"""At a cap of one, the first edge, where it comes first at both ends, keeps the others from counting."""
FIRST = ((0, 1, 0, 0), (1, 0, 0, 1))
"""Counts by both ends' groups with that edge and without it."""


def node_values() -> Iterator[ReadAudit]:
    """A row replaced; and an edge, which moves all that it may where it has the first priority alone."""

    def table(asked: PrivateGraph) -> np.ndarray:
        given = {"classes": np.zeros(MANY, dtype=np.int64), "nano_epsilon": NANO, "purpose": "audit"}
        return asked.node_values("node").table(["party"], **given)

    leaves = [(0, leaf) for leaf in range(1, MANY)]
    for directed in (False, True):
        rows = tuple(parties(one + "a" * (MANY - 1), leaves, directed) for one in "ab")
        if not directed:
            own = plan_of(pure(1), (rows_of("node"), None))
            yield ReadAudit("node values, table", "NodeValueReads.table", own, rows, table)
        name = f"mixing, a row{', directed' if directed else ''}"
        yield ReadAudit(name, "NodeValueReads.mixing", plan_of(pure(1), *CELLS), rows, _mixing(4, 1))
    edges = parties("abab", MEETING), parties("abab", MEETING[1:])
    name, three = "mixing, an edge", plan_of(pure(3), *CELLS)
    yield ReadAudit(name, "NodeValueReads.mixing", three, edges, _mixing(1, 3), 3_000, truths=FIRST)


WORDS = Attribute(
    name="words", kind="vector", protection="protected", bounds=(-2, 2), cuts=(-1, 1), length=3, nonzero=2
)


def worded(row: Sequence[float], party: str) -> Graph:
    """Four nodes, the first with these words and this party."""
    kind = NodeType(count=NODES, attributes=(PARTY, WORDS))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    words = np.array([row, (0, 0, 0), (2, 0, 2), (0, -2, 0)], dtype=np.float32)
    table = NodeTable(NODES, None, {"party": pa.array([party, *"abb"]), "words": words})
    return Graph.build(schema, {"node": table}, {"edge": EdgeTable(np.array([0]), np.array([1]))})


def vectors() -> Iterator[ReadAudit]:
    """A row replaced by one that is elsewhere in all that counts; by one of the other party alone."""
    read, own = "NodeValueReads.vectors", (rows_of("node"), None)
    cases = {
        "a row": (worded((2, 2, 0), "a"), worded((-2, 0, -2), "a")),
        "a party": (worded((2, 2, 0), "a"), worded((2, 2, 0), "b")),
    }
    gaussian = plan_of(GaussianEvent(SIGMA), own, delta_atto=DELTA_ATTO)
    for name, graphs in cases.items():
        yield ReadAudit(f"vectors, {name}", read, plan_of(pure(1), own), graphs, _vectors(pure(1)))
        asked = _vectors(SIGMA)
        yield ReadAudit(f"vectors, {name}, Gaussian", read, gaussian, graphs, asked, 4_000)


def _vectors(noise: Noise) -> Ask:
    def ask(asked: PrivateGraph) -> np.ndarray:
        reads, of = asked.node_values("node"), ("party", np.array([0, 1]))
        return reads.vectors("words", of, noise=noise, purpose="audit").values

    return ask


BETWEEN = ("rated", None), (rows_of("user"), None), (rows_of("item"), None)


def mixing_between() -> Iterator[ReadAudit]:
    """A user's row, an item's, and an edge, as of :func:`node_values`."""
    out, back = [(0, item) for item in range(MANY)], [(user, 0) for user in range(MANY)]
    same = (0,) * MANY
    plan: PrivacyPlan = plan_of(pure(1), *BETWEEN)
    rows = {
        "a source's row": (rated(out, (0,), same), rated(out, (1,), same)),
        "a target's row": (rated(back, same, (0,)), rated(back, same, (1,))),
    }
    for name, graphs in rows.items():
        yield ReadAudit(f"mixing between, {name}", "MixingBetween.read", plan, graphs, _between(4, 1))
    meeting = [(0, 0), (0, 1), (1, 0)]
    edges = rated(meeting, (0, 1), (0, 1)), rated(meeting[1:], (0, 1), (0, 1))
    name, three, truths = "mixing between, an edge", plan_of(pure(3), *BETWEEN), ((1, 0, 0, 0), (0, 1, 1, 0))
    yield ReadAudit(name, "MixingBetween.read", three, edges, _between(1, 3), 3_000, truths=truths)


def _between(cap: int, epsilon: int) -> Ask:
    def ask(asked: PrivateGraph) -> np.ndarray:
        sides = [Side(name, np.arange(2), cap, epsilon * NANO) for name in ("country", "topic")]
        reads = asked.mixing_between("rated")
        return reads.read(*sides, edge_nano_epsilon=epsilon * NANO, purpose="audit")

    return ask


def audits() -> Iterator[ReadAudit]:
    for each in (edge_values, node_values, vectors, mixing_between):
        yield from each()
