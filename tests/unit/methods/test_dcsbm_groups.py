"""dcsbm with the groups of a public attribute: nothing is paid for them, edges between them come back."""

import numpy as np
import pyarrow as pa
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.methods.dcsbm import GENERATOR
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.reads.public_groups import public_groups
from tests.support.decoys import answer_about
from tests.support.generating import NANO, drawn, fit, graph_of, random_pairs

NODES, GROUPS = 120, 4
PLENTY = 1_000  # epsilon at which next to no noise is left


def named(protection=Protection.PUBLIC, kind=AttributeKind.CATEGORY, seed=4):
    """Four departments, linked inside above all; node u belongs to u % 4."""
    ends = np.stack(np.triu_indices(NODES, 1), axis=1)
    same = ends[:, 0] % GROUPS == ends[:, 1] % GROUPS
    ends = ends[np.random.default_rng(seed).random(len(ends)) < np.where(same, 0.3, 0.01)]
    attribute = Attribute(name="department", kind=kind, protection=protection)
    schema = GraphSchema(
        node_types=(NodeType(count=NODES, attributes=(attribute,)),), edge_types=(EdgeType(),)
    )
    column = np.arange(NODES) % GROUPS
    values = pa.array([f"d{value}" for value in column]) if kind is AttributeKind.CATEGORY else column * 1.0
    nodes = {"node": NodeTable(NODES, None, {"department": values})}
    return Graph.build(schema, nodes, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def blocks_of(graph):
    """Edges inside and between departments."""
    table = graph.edges["edge"]
    pairs = np.sort(np.stack([table.source, table.target]) % GROUPS, axis=0)
    return np.bincount(pairs[0] * GROUPS + pairs[1], minlength=GROUPS**2)


def test_public_groups_are_the_labels_and_cost_nothing():
    model, meter = fit(GENERATOR, named(), 1, groups="department")
    costs = {entry.purpose: pure_nano_epsilon(entry.event) for entry in meter.transcript}
    assert sum(costs.values()) == NANO
    assert "labels" not in costs
    assert costs["edges inside and between labels"] > 0.2 * NANO
    (columns,) = model.cells.values()
    labels = columns["labels"]
    assert (labels == labels[np.arange(NODES) % GROUPS]).all()
    assert sorted(set(labels.tolist())) == list(range(GROUPS))


@pytest.mark.audits
def test_without_noise_edges_between_groups_come_back():
    graph = named()
    synthetic = drawn(GENERATOR, graph, PLENTY, groups="department")
    assert np.abs(blocks_of(synthetic) - blocks_of(graph)).max() <= 1


@pytest.mark.parametrize("given", [{"count_share": 0}, {"tail_share": 0}, {"clustering_share": 0}])
def test_other_parameters_go_with_groups(given):
    _, meter = fit(GENERATOR, named(), 1, groups="department", **given)
    assert sum(pure_nano_epsilon(entry.event) for entry in meter.transcript) == NANO


@pytest.mark.parametrize(
    ("graph", "groups"),
    [
        (named(), "team"),
        (named(Protection.PROTECTED), "department"),
        (named(kind=AttributeKind.NUMBER), "department"),
        (graph_of(random_pairs(20, 0.2), 20), "department"),
    ],
)
def test_groups_that_are_not_public_are_refused_before_anything_is_read(graph, groups):
    with pytest.raises(NotAccepted, match=f"'{groups}' is no public attribute of categories") as refused:
        fit(GENERATOR, graph, 1, groups=groups)
    assert refused.value.members["field"] == "groups"


def test_a_fit_follows_from_groups_and_from_what_was_paid_for(monkeypatch):
    """Sessions answer about another graph: graphs with other edges then have the same fit."""
    answer_about(monkeypatch, named(seed=9), "core.privacy.entropy")
    found, unaimed = [], {"triangle_share": 0, "product_share": 0, "clustering_share": 0}
    for seed in (4, 5):
        model, _ = fit(GENERATOR, named(seed=seed), 1, groups="department", **unaimed)
        found.append(next(iter(model.cells.values())))
    for name, column in found[0].items():
        np.testing.assert_array_equal(column, found[1][name])


def test_a_stored_model_draws_the_same_graph(tmp_path):
    model, _ = fit(GENERATOR, named(), 1, groups="department")
    model.save(tmp_path)
    one, other = (
        each.sample(public_generator(3), lambda *_: None).edges["edge"]
        for each in (model, GENERATOR.load(tmp_path))
    )
    np.testing.assert_array_equal(one.source, other.source)
    np.testing.assert_array_equal(one.target, other.target)


def test_groups_of_fewest_nodes_share_the_last_number():
    values = pa.array(["a"] * 5 + ["b"] * 3 + ["c", "d", None])
    attribute = Attribute(name="team", kind=AttributeKind.CATEGORY, protection=Protection.PUBLIC)
    kind, table = NodeType(count=11, attributes=(attribute,)), NodeTable(11, None, {"team": values})
    assert public_groups(kind, table, "team", 3).tolist() == [0] * 5 + [1] * 3 + [2] * 3
    assert len(set(public_groups(kind, table, "team", 64).tolist())) == 5
