"""Typed graphs: a model, its files and each draw depend on what was paid for alone.

Every metered answer comes from one decoy and chance repeats itself, as in test_published_flaws, whose graphs
have one relation; here are timed, directed, functional and static ones together, sided and not.
"""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared.relations import fit as reads
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateCell, PrivateGraph
from core.privacy.units import Unit

NANO = 10**9
SIZES = {"user": 20, "film": 25, "genre": 4}
STEPS = 3
RELATIONS = (
    EdgeType(name="sees", source="user", target="film", temporal=True, once=True),
    EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
    EdgeType(name="knows", source="user", target="user", temporal=True),
    EdgeType(name="lives", source="user", target="genre", temporal=True, functional=True),
    EdgeType(name="has", source="film", target="genre"),
    EdgeType(name="is", source="film", target="genre", functional=True),
)


def typed(seed: int, share: float) -> Graph:
    """Random edges under the declared facts, each slot with probability ``share``."""
    rng = np.random.default_rng(seed)
    tables = {}
    for each in RELATIONS:
        shape = SIZES[each.source], SIZES[each.target], STEPS if each.temporal else 1
        present = rng.random(shape) < share
        if each.homogeneous:
            present &= (np.triu if not each.directed else np.asarray)(~np.eye(shape[0], dtype=bool))[
                :, :, None
            ]
        if each.functional:
            present &= (np.arange(shape[1]) == rng.integers(0, shape[1], shape[0])[:, None])[:, :, None]
        if each.once:
            present &= np.cumsum(present, axis=2) == 1
        source, target, step = np.nonzero(present)
        tables[each.name] = EdgeTable(source, target, step if each.temporal else None)
    kinds = tuple(NodeType(name=name, count=size) for name, size in SIZES.items())
    schema = GraphSchema(node_types=kinds, edge_types=RELATIONS, time=TimeGrid(count=STEPS))
    return Graph.build(schema, {name: NodeTable(size) for name, size in SIZES.items()}, tables)


@pytest.fixture
def decoy(monkeypatch) -> None:
    """Every cell charges as ever and answers about one graph; the raw one is reachable nowhere else."""
    answered = typed(11, 0.1)
    cell, aggregate = PrivateGraph.cell, PrivateGraph.aggregate

    def blinded(self, edge_type, step) -> PrivateCell:
        found = cell(self, edge_type, step)
        found._read = lambda: answered.cell(edge_type, step)
        return found

    def laplace(values, l1_sensitivity, nano_epsilon, **options):
        rng = np.random.default_rng(len(values))
        scale = float(l1_sensitivity) * NANO / nano_epsilon
        return values + np.rint(rng.laplace(scale=scale, size=len(values))).astype(np.int64)

    def summed(self, *arguments, **named):
        return aggregate(PrivateGraph(answered, self._meter), *arguments, **named)

    monkeypatch.setattr(PrivateGraph, "cell", blinded)
    monkeypatch.setattr(PrivateGraph, "aggregate", summed)
    monkeypatch.setattr(mechanisms, "discrete_laplace", laplace)
    monkeypatch.setattr("core.privacy.entropy.noise_generator", lambda: np.random.default_rng(5))


def released(method: str, graph: Graph, unit: Unit, folder, **params):
    """(transcript, progress, the saved model's files, one release) of one fit."""
    generator = registry.get(method)
    window = 2 if unit is Unit.W_EVENT else None
    names = tuple(each.name for each in RELATIONS)
    chosen = generator.Params(**params)
    delta = 10**12 if params.get("spectral") else 0
    plan = generator.plan(chosen, PublicFacts(graph.schema, unit, window, 8 * NANO, delta, names))
    meter, told = Meter(plan, MemoryRecorder()), []
    model = generator.fit(PrivateGraph(graph, meter), plan, chosen, lambda *step: told.append(step))
    model.save(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    sampled = model.sample(public_generator(9), no_progress)
    release = {
        name: [c.tolist() for c in (table.source, table.target, table.step) if c is not None]
        for name, table in sampled.edges.items()
    }
    return [(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript], told, files, release


MATERIALISED = {"evidence": "materialised", "degree_share": 0.5}
LAZY = {"evidence": "lazy", "degree_share": 0.5}
CASES = [
    *(
        (unit, *case)
        for unit in (Unit.EVENT, Unit.W_EVENT, Unit.PAIR)
        for case in (
            ("anchored", MATERIALISED),
            ("anchored", LAZY),
            ("anchored", {"evidence": "none"}),
            ("thepuff_perturb", {}),
        )
    ),
    *((Unit.EVENT, "anchored", {**evidence, "spectral": True}) for evidence in (MATERIALISED, LAZY)),
]


@pytest.mark.parametrize(("unit", "method", "params"), CASES)
def test_a_release_depends_on_what_was_paid_for_alone(unit, method, params, decoy, tmp_path):
    first = released(method, typed(1, 0.3), unit, tmp_path / "first", **params)
    for name, share in (("empty", 0.0), ("full", 1.0)):
        other = released(method, typed(2, share), unit, tmp_path / name, **params)
        for one, another in zip(first, other, strict=True):
            assert one == another


def test_a_raw_number_in_a_model_is_caught(decoy, monkeypatch, tmp_path):
    true, given = reads.paid_count, typed(1, 0.3)
    monkeypatch.setattr(reads, "paid_count", lambda *a: min(true(*a), given.edges["sees"].count))
    first = released("anchored", given, Unit.EVENT, tmp_path / "first")
    given = typed(2, 0.0)
    assert released("anchored", given, Unit.EVENT, tmp_path / "second") != first
