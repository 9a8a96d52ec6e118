"""Snapshots on their own nodes, for comparison: what a step has, and what it keeps of the one before."""

import numpy as np
import pytest

from benchmarks.stream_data import FIGURES
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers.psgraph.benchmarks import own_nodes
from papers.psgraph.benchmarks.own_nodes import figures, snapshots
from papers.psgraph.benchmarks.reproduce import READINGS, SIX

PAPER = {"preset": "paper"}
UNIVERSE = 2_000


def stream_of(*steps):
    """A stream of these rows of pairs, over UNIVERSE nodes."""
    ends = np.concatenate(steps).astype(np.int32)
    when = np.repeat(np.arange(len(steps), dtype=np.int32), [len(each) for each in steps])
    schema = GraphSchema(
        node_types=(NodeType(count=UNIVERSE),),
        edge_types=(EdgeType(name="met", temporal=True),),
        time=TimeGrid(count=len(steps)),
    )
    table = EdgeTable(ends[:, 0], ends[:, 1], when)
    return Graph.build(schema, {"node": NodeTable(UNIVERSE)}, {"met": table})


def among(nodes, edges=300, seed=1):
    """So many pairs of ``nodes``, each of which is in one at least."""
    rng = np.random.default_rng(seed)
    ring = np.stack([nodes, np.roll(nodes, 1)], axis=1)
    drawn = rng.choice(nodes, size=(edges, 2))
    return np.concatenate([ring, drawn[drawn[:, 0] != drawn[:, 1]]])


def test_a_snapshot_has_the_nodes_of_its_edges_alone():
    stream = stream_of(np.array([[7, 1900], [3, 7]]), np.empty((0, 2), int), np.array([[5, 8]]))
    first, last = snapshots(stream)
    assert (first.step, last.step) == (0, 2)  # what has no edge has no nodes of its own
    assert first.nodes.tolist() == [3, 7, 1900]
    assert first.graph.nodes["node"].count == 3
    cell = first.graph.cell("edge", 0)
    pairs = {tuple(sorted(each)) for each in zip(cell.source.tolist(), cell.target.tolist(), strict=True)}
    assert pairs == {(0, 1), (1, 2)}
    assert last.nodes.tolist() == [5, 8]


@pytest.mark.parametrize("system", [*SIX, *READINGS])
def test_every_system_of_the_paper_runs_on_them(system):
    stream = stream_of(among(np.arange(100)), among(np.arange(50, 180)), among(np.arange(1900, 2000)))
    method, parameters = (SIX | READINGS)[system]
    found, seconds = figures(method, stream, 2, 200.0, parameters)
    assert len(found) == 3
    assert all(set(each) <= set(FIGURES) for each in found)
    assert all(each["density_re"] < 2 for each in found)
    assert seconds > 0


def test_little_noise_meets_the_count_of_a_small_part_of_a_large_universe():
    stream = stream_of(*(among(np.arange(start, start + 90), 600, start) for start in (0, 5, 10)))
    found, _ = figures("psgraph", stream, 1, 100.0, PAPER | {"count_cap": 10})
    assert np.mean([each["density_re"] for each in found]) < 0.1


def test_memory_is_of_the_nodes_of_both_steps(monkeypatch):
    told = []
    true = own_nodes.fit_step

    def fit_step(cell, nodes, budget, params, memory, rng):
        found = true(cell, nodes, budget, params, memory, rng)
        told.append((memory, *found))
        return found

    monkeypatch.setattr(own_nodes, "fit_step", fit_step)
    stream = stream_of(among(np.arange(0, 120)), among(np.arange(40, 160)))
    figures("psgraph", stream, 1, 100.0, PAPER | {"threshold_factor": 1e6})
    (_, _, first), (moved, model, now) = told
    assert model.labels is moved.labels  # no new partition
    known = slice(0, 80)  # of the second step's 120 nodes
    old, new = first.labels[40:], moved.labels[known]
    assert len(set(zip(old.tolist(), new.tolist(), strict=True))) == len(set(old.tolist()))
    assert len(set(moved.labels[80:].tolist())) == 1  # newcomers, by themselves
    assert not set(moved.labels[80:].tolist()) & set(new.tolist())
    assert np.array_equal(moved.inside.values[known], first.inside.values[40:])
    joined = own_nodes._joined(now.inside, moved.inside, np.arange(120) < 80)
    assert np.array_equal(joined.values[80:], now.inside.values[80:])
    ours, theirs = now.inside.values[known], moved.inside.values[known]
    assert (np.minimum(ours, theirs) - 1e-9 <= joined.values[known]).all()
    assert (joined.values[known] <= np.maximum(ours, theirs) + 1e-9).all()
    assert not np.array_equal(joined.values[known], ours)


def test_our_default_has_a_public_universe():
    stream = stream_of(among(np.arange(50)))
    with pytest.raises(ValueError, match="preset=paper"):
        figures("psgraph", stream, 1, 1.0, {})
