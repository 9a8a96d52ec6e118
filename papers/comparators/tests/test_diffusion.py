"""The diffusion ceiling: what it learns of structure and values, that degrees hold, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import (
    Attribute,
    AttributeKind,
    Collection,
    CollectionGraph,
    EdgeType,
    GraphSchema,
    NodeType,
    Protection,
)
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.notices import value_notices
from papers.comparators.diffusion import denoiser, edges
from papers.comparators.diffusion.model import DiffusionModel

METHOD = registry.get("diffusion")
QUICK = {"training_steps": 100, "steps": 24}
CLIQUES, SIZE = 16, 4


def cliques() -> np.ndarray:
    """Pairs of CLIQUES separate cliques of SIZE nodes."""
    low, high = np.triu_indices(SIZE, 1)
    first = SIZE * np.arange(CLIQUES)[:, None]
    return np.stack([(first + low).ravel(), (first + high).ravel()], 1)


def graph(pairs: np.ndarray, *attributes: Attribute, **columns: Any) -> Graph:
    nodes = CLIQUES * SIZE
    schema = GraphSchema(node_types=(NodeType(count=nodes, attributes=attributes),), edge_types=(EdgeType(),))
    tables = {"node": NodeTable(nodes, None, columns)} if columns else {}
    return Graph.build(schema, tables, {"edge": EdgeTable(*pairs.T)})


def fitted(original: Graph, **params: Any) -> DiffusionModel:
    chosen = METHOD.Params.model_validate(QUICK | params)
    names = tuple(each.name for each in original.schema.edge_types)
    plan = METHOD.plan(chosen, PublicFacts(original.schema, Unit.EDGE, None, 10**9, 0, names))
    session = PrivateGraph(original, Meter(plan, MemoryRecorder()))
    model = METHOD.fit(session, plan, chosen, no_progress)
    assert isinstance(model, DiffusionModel)
    return model


def sample(model: DiffusionModel, seed: int = 1) -> Graph:
    return model.sample(public_generator(seed), no_progress)


def triangles(drawn: Graph) -> float:
    table = drawn.edges["edge"]
    matrix = np.zeros((CLIQUES * SIZE,) * 2)
    matrix[table.source, table.target] = matrix[table.target, table.source] = 1
    return float(np.trace(matrix @ matrix @ matrix) / 6)


def test_it_learns_to_close_triangles_without_being_told_who_is_whose():
    """16 cliques have 64 triangles; a graph of the same degrees by chance has about one."""
    model = fitted(graph(cliques()), communities=False)
    table = sample(model).edges["edge"]
    degrees = np.bincount(np.concatenate([table.source, table.target]), minlength=CLIQUES * SIZE)
    assert degrees.max() <= SIZE - 1
    assert degrees.sum() >= 0.9 * CLIQUES * SIZE * (SIZE - 1)
    assert triangles(sample(model)) > 20
    assert triangles(sample(fitted(graph(cliques()), communities=False, training_steps=1))) < 10


def test_communities_are_kept_where_they_are_told():
    rng = np.random.default_rng(3)
    low, high = np.triu_indices(CLIQUES * SIZE, 1)
    pairs = np.stack([low, high], 1)[rng.random(len(low)) < np.where(low // 16 == high // 16, 0.4, 0.01)]
    inside = []
    for told in (True, False):
        table = sample(fitted(graph(pairs), communities=told)).edges["edge"]
        inside.append((table.source // 16 == table.target // 16).mean())
    assert inside[0] > 0.7
    assert inside[1] < 0.5


def test_values_of_nodes_are_drawn_and_linked_nodes_have_like_ones():
    """A third is blue, two thirds red; nodes of one clique are alike, so that all edges join like to like."""
    party = Attribute(name="party", protection=Protection.PROTECTED, categories=("red", "blue"))
    age = Attribute(
        name="age", kind=AttributeKind.NUMBER, protection=Protection.PROTECTED, bounds=(0.0, 100.0)
    )
    blue = np.arange(CLIQUES * SIZE) // SIZE % 3 == 0
    columns = {
        "party": pa.array(np.where(blue, "blue", "red")),
        "age": np.where(blue, 80.0, 20.0),
    }
    model = fitted(graph(cliques(), party, age, **columns), node_attributes=True, communities=False)
    drawn = sample(model)
    values = drawn.nodes["node"].attributes
    named = np.asarray(values["party"].to_pylist()) == "blue"
    assert 0.15 < named.mean() < 0.6
    assert ((np.asarray(values["age"]) > 50) == named).mean() > 0.7
    table = drawn.edges["edge"]
    assert (named[table.source] == named[table.target]).mean() > 0.75


def test_public_attributes_tell_who_is_linked():
    """Public numbers and vectors go in; they are not drawn."""
    team = Attribute(name="team", protection=Protection.PUBLIC)
    rank = Attribute(name="rank", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    of = np.arange(CLIQUES * SIZE) // SIZE % 2
    columns = {"team": pa.array(of.astype(str)), "rank": np.eye(40, dtype=np.float32)[of * 3]}
    model = fitted(graph(cliques(), team, rank, **columns), communities=False)
    assert model.weights["inputs.node"].shape == (CLIQUES * SIZE, 32)
    drawn = sample(model)
    table = drawn.edges["edge"]
    assert (of[table.source] == of[table.target]).mean() > 0.8
    assert not drawn.nodes["node"].attributes


def test_graphs_of_a_collection_share_one_denoiser():
    members = tuple(CollectionGraph(id=str(k), nodes=CLIQUES * SIZE) for k in range(3))
    schema = GraphSchema(collection=Collection(graphs=members))
    original = Graph.build(schema, {}, {each.type_name: EdgeTable(*cliques().T) for each in members})
    model = fitted(original)
    assert {name.split(".")[1] for name in model.weights if name.startswith("edges.")} == {"0"}
    assert all(table.count > 80 for table in sample(model).edges.values())


def test_beyond_so_many_nodes_some_candidates_stand_for_all(monkeypatch: pytest.MonkeyPatch):
    for module in (denoiser, edges):
        monkeypatch.setattr(module, "EXACT_COLUMNS", 16)
    model = fitted(graph(cliques()), communities=False)
    table = sample(model).edges["edge"]
    assert np.bincount(np.concatenate([table.source, table.target])).max() <= SIZE - 1
    assert table.count >= 0.8 * len(cliques())
    assert triangles(sample(model)) > 10


def test_a_training_that_diverges_is_ended_and_said(monkeypatch: pytest.MonkeyPatch):
    true, asked = edges._loss, []

    def diverging(*given: Any) -> torch.Tensor:
        asked.append(1)
        return true(*given) * (torch.inf if len(asked) > 5 else 1.0)

    monkeypatch.setattr(edges, "_loss", diverging)
    model = fitted(graph(cliques()))
    told = model.training()
    assert told.collapsed
    assert "diverged" in told.notes[0]
    assert len(told.curves["edges"]) == 5
    assert sample(model).edges["edge"].count > 80


def test_a_stored_model_draws_the_same_values(tmp_path: Path):
    party = Attribute(name="party", protection=Protection.PROTECTED, categories=("red", "blue"))
    column = pa.array(["red", None, "blue", "red"] * CLIQUES)  # a missing value is learned from nowhere
    model = fitted(graph(cliques(), party, party=column), node_attributes=True, training_steps=5)
    model.save(tmp_path)
    again = METHOD.load(tmp_path)
    assert sample(model).equals(again.sample(public_generator(1), no_progress))
    assert again.training() == model.training()


def test_node_attributes_are_refused_where_none_are_declared():
    with pytest.raises(errors.NotAccepted) as refused:
        fitted(graph(cliques()), node_attributes=True)
    assert refused.value.members["field"] == "node_attributes"


def test_the_report_claims_no_epsilon_for_values():
    party = Attribute(name="party", protection=Protection.PROTECTED, categories=("red", "blue"))
    schema = graph(cliques(), party, party=pa.array(["red"] * CLIQUES * SIZE)).schema
    params = METHOD.Params(node_attributes=True)
    plan = METHOD.plan(params, PublicFacts(schema, Unit.EDGE, None, 10**9, 0, ("edge",)))
    (notice,) = value_notices(METHOD, params, plan, schema, ("edge",))
    assert "party of node" in notice.text
    assert "Nothing covers a node's row" in notice.text
    assert "epsilon" not in notice.text
