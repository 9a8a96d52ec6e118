"""All reads of a fit together, on a small typed graph with time and on every neighbour of it, by unit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods._shared.relations import fit as reads
from core.methods._shared.relations.draw import Relation
from core.methods._shared.slots import evidence
from core.methods.anchored import GENERATOR, AnchoredParams, spectral
from core.methods.base import PublicFacts
from core.privacy import queries
from core.privacy.mechanisms import aggregation, lazy_response
from core.privacy.mechanisms.randomised_response import Flips, _slots
from core.privacy.queries import Shape
from core.privacy.units import Unit
from tests.support.groups import in_part
from tests.support.typed_neighbours import (
    MANY_STEPS,
    Told,
    built,
    one_edge,
    one_pair,
    one_window,
    require_hidden,
    schema_of,
    some,
    told,
)

NANO, DELTA, WINDOW = 4 * 10**9, 10**13, 2
TIMED = (
    EdgeType(name="rates", source="user", target="film", temporal=True, once=True),
    EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
    EdgeType(name="knows", source="user", target="user", temporal=True),
    EdgeType(name="lives", source="user", target="genre", temporal=True, functional=True),
)
FIXED = (
    EdgeType(name="has", source="film", target="genre"),
    EdgeType(name="is", source="film", target="genre", functional=True),
    EdgeType(name="cites", source="film", target="film", directed=True),
    EdgeType(name="likes", source="user", target="user"),
)
EVIDENCE = [
    {"evidence": "none"},
    {"evidence": "materialised", "degree_share": 0.5},
    {"evidence": "lazy", "degree_share": 0.37, "deconvolve": False},
]
LARGE = [EVIDENCE[0], pytest.param(EVIDENCE[1], marks=pytest.mark.audits), EVIDENCE[2]]


def fitted(schema: GraphSchema, unit: Unit, folder, cells, options: dict):
    names = tuple(each.name for each in schema.edge_types)
    window = WINDOW if unit is Unit.W_EVENT else None
    delta = DELTA if options.get("spectral") else 0
    facts = PublicFacts(schema, unit, window, NANO, delta, names)
    return told(GENERATOR, AnchoredParams.varied(**options), facts, built(schema, cells), folder)


def every_edge(schema: GraphSchema, unit: Unit, folder, options: dict, share: float = 0.4) -> None:
    cells = some(schema, share)
    one = fitted(schema, unit, folder / "one", cells, options)
    for number, (cell, other) in enumerate(one_edge(schema, cells)):
        require_hidden(one, fitted(schema, unit, folder / str(number), other, options), cell)


def every_pair(schema: GraphSchema, folder, options: dict) -> None:
    ones: dict[str, Told] = {}
    for number, (without, other) in enumerate(one_pair(schema, some(schema))):
        name = repr(sorted(without.items(), key=str))
        if name not in ones:
            ones[name] = fitted(schema, Unit.PAIR, folder / f"one{number}", without, options)
        require_hidden(ones[name], fitted(schema, Unit.PAIR, folder / str(number), other, options))


@pytest.mark.parametrize(
    ("options", "share"),
    [
        (EVIDENCE[0], 0.4),
        (EVIDENCE[2], 0.4),
        *(pytest.param(EVIDENCE[1], share, marks=pytest.mark.audits) for share in (0.4, 0.0, 1.0)),
    ],
    ids=str,
)
def test_an_event_moves_all_answers_by_no_more_than_it_paid(options, share, tmp_path):
    every_edge(schema_of(*TIMED, *FIXED), Unit.EVENT, tmp_path, options, share)


@pytest.mark.parametrize("options", EVIDENCE, ids=str)
def test_an_edge_without_time_moves_all_answers_by_no_more_than_it_paid(options, tmp_path):
    every_edge(schema_of(*FIXED), Unit.EDGE, tmp_path, options)


@pytest.mark.parametrize("options", LARGE[1:], ids=str)
def test_an_event_moves_the_sums_of_a_pass_by_no_more_than_its_row(options, monkeypatch, tmp_path):
    """Two relations have directions, one of them inside one type; passes read all steps together."""
    monkeypatch.setattr(spectral, "ROUNDS", 2)  # of what follows from the reads
    schema = schema_of(*TIMED[:2], *FIXED[1:])
    every_edge(schema, Unit.EVENT, tmp_path, {**options, "spectral": True})


def test_what_an_event_carries_beside_directions_moves_no_answer_by_more_than_it_paid(monkeypatch, tmp_path):
    monkeypatch.setattr(spectral, "ROUNDS", 2)
    stars = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max")
    schema = schema_of(TIMED[0].model_copy(update={"attributes": (stars,)}), FIXED[1])
    every_edge(schema, Unit.EVENT, tmp_path, {**EVIDENCE[1], "spectral": True, "attribute_share": 0.4})


@pytest.mark.parametrize("options", LARGE[1:], ids=str)
def test_a_window_s_edges_move_all_answers_by_no_more_than_they_paid(options, tmp_path):
    schema = schema_of(*MANY_STEPS, FIXED[2], steps=3)
    cells = some(schema)
    one = fitted(schema, Unit.W_EVENT, tmp_path / "one", cells, options)
    for number, other in enumerate(one_window(schema, cells, WINDOW)):
        require_hidden(one, fitted(schema, Unit.W_EVENT, tmp_path / str(number), other, options))


def test_one_edge_moves_tail_counts_by_no_more_than_it_paid(monkeypatch, tmp_path):
    """So few nodes buy none by the rule: here they do."""
    asked = []
    monkeypatch.setattr(reads, "tails_tell", lambda *of: asked.append(of) or True)
    every_edge(schema_of(TIMED[2]), Unit.EVENT, tmp_path, EVIDENCE[0])
    assert asked


def test_tail_counts_that_are_said_to_move_by_one_are_caught(monkeypatch, tmp_path):
    true = queries.QUERIES["tail_counts"]
    by_one = lambda shape, **asked: replace(true(shape, **asked), l1_sensitivity=1)  # noqa: E731
    monkeypatch.setitem(queries.QUERIES, "tail_counts", by_one)
    monkeypatch.setattr(reads, "tails_tell", lambda *of: True)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[2]), Unit.EVENT, tmp_path, EVIDENCE[0])


@pytest.mark.parametrize("options", LARGE, ids=str)
def test_all_between_two_nodes_moves_all_answers_by_no_more_than_it_paid(options, tmp_path):
    """Up to five edges in three cells, two of them in one."""
    every_pair(schema_of(*TIMED[:2], *FIXED[:2], FIXED[3]), tmp_path, options)


def test_an_undirected_edge_that_is_said_to_have_one_end_is_caught(monkeypatch, tmp_path):
    true = queries.QUERIES["degrees"]
    one_end = lambda shape, **asked: replace(true(shape, **asked), l1_sensitivity=1)  # noqa: E731
    monkeypatch.setitem(queries.QUERIES, "degrees", one_end)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[2]), Unit.EVENT, tmp_path, EVIDENCE[0])


@pytest.mark.parametrize("options", EVIDENCE, ids=str)
def test_a_pair_that_is_said_to_be_linked_one_way_is_caught(options, monkeypatch, tmp_path):
    for place in ("session.private_graph", "session.counted"):
        monkeypatch.setattr(f"core.privacy.{place}.edges_of_unit", lambda unit, relation: 1)
    with pytest.raises(AssertionError):
        every_pair(schema_of(TIMED[1]), tmp_path, options)


def test_passes_with_half_the_noise_are_caught(monkeypatch, tmp_path):
    true = aggregation.scale_of
    monkeypatch.setattr(aggregation, "scale_of", lambda squared: (true(squared)[0], true(squared)[1] // 2))
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[0]), Unit.EVENT, tmp_path, {**EVIDENCE[0], "spectral": True})


def test_a_count_that_nobody_paid_for_is_caught(monkeypatch, tmp_path):
    true = reads.fit_relation

    def peeking(cells, *rest):
        return [{**found, "count": np.array([cells[0]._read().count])} for found in true(cells, *rest)]

    monkeypatch.setattr("core.methods.anchored.fit.fit_relation", peeking)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[0]), Unit.EVENT, tmp_path, EVIDENCE[0])


SHAPES = {
    "sided": (Shape(EdgeType(source="user", target="film"), 2, 3), [1, 2], [1, 1, 1]),
    "directed": (Shape(EdgeType(directed=True), 3, 3), [1, 1, 1], [1, 1, 1]),
    "undirected": (Shape(EdgeType(), 4, 4), [1, 1, 1, 1], []),
}
"""Cells of six slots, and degrees that several graphs have."""
FLIPS = Flips.symmetric(10**9)
EDGES = np.array([True, False, False, True, False, True])


def lazily(shape: Shape, edges: np.ndarray, answers: set[bytes] | None) -> dict[bytes, dict]:
    """Lazy evidence of a cell by what it answers on its slots: that of 30 keys, or for all of ``answers``."""
    ends = np.stack(_slots(np.arange(shape.slots), shape))
    found: dict[bytes, dict] = {}
    for tried in itertools.count(1):
        made = lazy_response.respond(*ends[:, edges], shape, 0, FLIPS, 4)
        said = lazy_response.bits(made.edge, made.prf_key, FLIPS, *ends, shape).tobytes()
        columns = {"edge": made.edge, "prf_key": made.prf_key, "flips": evidence.flips_column(FLIPS)}
        found.setdefault(said, columns)
        if answers <= found.keys() if answers is not None else tried == 30:
            return found


def drawn(columns: dict, name: str) -> bytes:
    shape, source, target = SHAPES[name]
    degrees = {"source_degrees": np.array(source), "target_degrees": np.array(target, dtype=np.int64)}
    count = np.array([sum(source) // (2 if shape.undirected else 1)])
    relation = Relation(shape, AnchoredParams())
    rng = np.random.default_rng(2)
    return b"".join(relation.draw({**columns, **degrees, "count": count}, rng).tobytes() for _ in range(5))


@in_part("name", SHAPES, 1)
def test_graphs_drawn_by_lazy_evidence_follow_from_its_answers_alone(name):
    """Neighbours, each under a key that makes the answers the same: so must be the graphs."""
    shape = SHAPES[name][0]
    by_answers = {said: drawn(columns, name) for said, columns in lazily(shape, EDGES, None).items()}
    assert len(set(by_answers.values())) > 1
    marked = []
    for slot in range(shape.slots):
        edges = EDGES ^ (np.arange(len(EDGES)) == slot)
        found = lazily(shape, edges, set(by_answers))
        for said, graphs in by_answers.items():
            assert drawn(found[said], name) == graphs
        raw = next(iter(found.values()))["edge"]
        raw = raw[raw < shape.source_count * shape.target_count]
        marked.append(drawn({"y": raw, "flips": evidence.flips_column(FLIPS)}, name))
    assert len(set(marked)) > 1  # what the edges themselves would draw
