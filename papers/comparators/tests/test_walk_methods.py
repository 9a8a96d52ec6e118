"""Both walk generators from end to end on small graphs: what is kept, what is learned, how a fit may end."""

import re

import numpy as np
import pytest
import torch

from core import errors
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers._shared.walks import model, network

METHODS = ("temporal_walks", "heterogeneous_walks")
USERS, FILMS, STEPS = 40, 60, 3


def world() -> Graph:
    """Users see films of their own kind, each user in one step; the first half of them follow the others."""
    rng = np.random.default_rng(5)
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=USERS), NodeType(name="film", count=FILMS)),
        edge_types=(
            EdgeType(name="sees", source="user", target="film", temporal=True, once=True),
            EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
            EdgeType(name="likes", source="user", target="film"),
        ),
        time=TimeGrid(count=STEPS),
    )
    alike = np.arange(USERS)[:, None] % 2 == np.arange(FILMS) % 2
    sees, likes = (np.argwhere(alike & (rng.random(alike.shape) < share)) for share in (0.4, 0.1))
    follows = np.argwhere(rng.random((USERS, USERS)) < 0.2)
    follows = follows[(follows[:, 0] < USERS // 2) & (follows[:, 1] >= USERS // 2)]
    tables = {
        "sees": EdgeTable(*sees.T, sees[:, 0] % STEPS),
        "follows": EdgeTable(*follows.T, follows[:, 0] % STEPS),
        "likes": EdgeTable(*likes.T),
    }
    return Graph.build(schema, {}, tables)


def fitted(method: str, graph: Graph, **given):
    generator = get(method)
    params = generator.Params.varied(**{"epochs": 40, "dimensions": 16, **given})
    names = tuple(each.name for each in graph.schema.edge_types)
    plan = generator.plan(params, PublicFacts(graph.schema, Unit.EVENT, None, 10**9, 0, names))
    meter = Meter(plan, MemoryRecorder())
    found = generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    assert guarantee_of(plan, meter.transcript, 0).kind is GuaranteeKind.NONE
    return found


@pytest.fixture(scope="module", params=METHODS)
def released(request) -> tuple[Graph, Graph, model.WalkModel]:
    graph = world()
    found = fitted(request.param, graph)
    return graph, found.sample(public_generator(1), no_progress), found


def test_numbers_of_edges_are_the_true_ones(released):
    graph, drawn, found = released
    cells = {(cell.edge_type.name, cell.step): cell.count for cell in graph.cells()}
    counts = {(cell.edge_type.name, cell.step): cell.count for cell in drawn.cells()}
    if found.typed:
        assert counts == cells
    else:  # of every step
        for step in (*range(STEPS), None):
            total = sum(count for (_, at), count in counts.items() if at == step)
            assert total == sum(count for (_, at), count in cells.items() if at == step)
        assert abs(counts["likes", None] - cells["likes", None]) == 0
    assert found.collapsed is False


def test_walks_learn_who_meets_whom_when_and_which_way(released):
    _, drawn, _ = released
    sees, follows = drawn.edges["sees"], drawn.edges["follows"]
    assert (sees.source % 2 == sees.target % 2).mean() > 0.9  # .5 by chance
    assert (sees.source % STEPS == sees.step).mean() > 0.9  # a third
    assert (follows.source < follows.target).mean() == 1  # no node has a link that it never had


def test_they_are_no_copies(released):
    graph, drawn, _ = released
    ours, theirs = ({*(t.source * FILMS + t.target)} for t in (graph.edges["sees"], drawn.edges["sees"]))
    assert 0.3 < len(ours & theirs) / len(theirs) < 0.9


def test_training_is_told_and_no_worse_at_its_end(released):
    losses = released[2].training().curves["negative log-likelihood"]
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.1


def test_many_candidates_are_sampled_and_still_learned(monkeypatch):
    monkeypatch.setattr(network, "EXACT_UP_TO", 10)
    monkeypatch.setattr(network, "DRAWN_FROM_UP_TO", 25)
    monkeypatch.setattr(network, "SAMPLED", 24)
    monkeypatch.setattr(network, "COMPARED", 100)
    drawn = fitted("heterogeneous_walks", world()).sample(public_generator(1), no_progress)
    sees = drawn.edges["sees"]
    assert (sees.source % 2 == sees.target % 2).mean() > 0.85


def test_a_training_that_diverges_says_so(monkeypatch):
    sound = network.Network.loss
    losses = iter(range(1000))

    def lost(self, *given):
        return sound(self, *given) * (torch.nan if next(losses) % 2 else 1.0)

    monkeypatch.setattr(network.Network, "loss", lost)
    found = fitted("temporal_walks", world(), epochs=1)
    assert found.collapsed
    assert re.match(r"\d+% of the batches diverged", found.notes[0])
    assert all(
        torch.isfinite(each).all() for name, each in found.weights.items() if name.startswith("network")
    )


def test_walks_that_lack_pairs_leave_cells_short_and_say_so(monkeypatch):
    def stuck(self, candidates, count, length):
        nodes, label = torch.zeros(count, length + 1, dtype=torch.int64), torch.zeros(count, length)
        return nodes, label.to(torch.int64)

    monkeypatch.setattr(network.Network, "walk", stuck)
    graph = world()
    found = fitted("heterogeneous_walks", graph, epochs=1)
    assert found.collapsed
    assert found.notes == ("Generated walks lack pairs for 100% of the edges.",)
    assert not any(t.count for t in found.sample(public_generator(1), no_progress).edges.values())


@pytest.mark.parametrize("method", METHODS)
def test_too_many_cells_are_refused_before_anything_is_read(method):
    schema = GraphSchema(
        node_types=(NodeType(count=9),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=1001)
    )
    with pytest.raises(errors.NotAccepted, match="1,000 cells") as refused:
        get(method).plan(get(method).Params(), PublicFacts(schema, Unit.EVENT, None, 10**9, 0, ("edge",)))
    assert refused.value.members["field"] == "edge_types"


@pytest.mark.parametrize("method", METHODS)
def test_relations_that_are_not_asked_for_count_among_the_cells_that_walks_go_over(method):
    relations = tuple(EdgeType(name=name, temporal=True) for name in ("met", "wrote"))
    schema = GraphSchema(node_types=(NodeType(count=9),), edge_types=relations, time=TimeGrid(count=600))
    with pytest.raises(errors.NotAccepted, match="1,200"):
        get(method).plan(get(method).Params(), PublicFacts(schema, Unit.EVENT, None, 10**9, 0, ("met",)))
