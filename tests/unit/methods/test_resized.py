"""The fitted law at another number of nodes: what stays, what grows, and who may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs.graph import Graph
from core.methods import registry
from core.methods._shared.frame.resized import repeated
from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from tests.support.generating import fit, graph_of

NODES, GROUPS, PLENTY = 240, 4, 1_000  # epsilon at which next to no noise is left
ABLE = ("dcsbm", "degree_triangle")


def cliques() -> np.ndarray:
    """Communities of many triangles, whose nodes differ in degree."""
    rng, ends = np.random.default_rng(3), np.stack(np.triu_indices(NODES, 1), axis=1)
    weight = np.linspace(0.3, 1.7, NODES)[ends].prod(axis=1)
    same = ends[:, 0] % GROUPS == ends[:, 1] % GROUPS
    return ends[rng.random(len(ends)) < np.where(same, 0.25, 0.01) * weight]


ORIGINAL = graph_of(cliques(), NODES)


def at(name: str, wanted: int, tmp_path: Path, **options: object) -> Graph:
    method = registry.get(name)
    model, _ = fit(method, ORIGINAL, PLENTY, **options)
    model.save(tmp_path / "model")  # as a further sample finds it
    origins = {"node": repeated(NODES, wanted, public_generator(1))}
    assert method.resize is not None
    return method.resize(method.load(tmp_path / "model"), origins).sample(public_generator(2), no_progress)


@pytest.mark.parametrize("name", ABLE)
@pytest.mark.parametrize("wanted", [80, pytest.param(600, marks=pytest.mark.audits)])
def test_degrees_and_clustering_stay_and_counts_grow_with_the_nodes(name, wanted, tmp_path):
    drawn, factor = at(name, wanted, tmp_path), wanted / NODES
    assert drawn.nodes["node"].count == wanted
    (found,) = compare(ORIGINAL, drawn, Suite.STANDARD, no_progress, factor)["edge_types"]
    scalars, distances = found["means"]["scalars"], found["means"]["distances"]
    assert scalars["edges"]["original"] == pytest.approx(len(cliques()) * factor)
    assert scalars["edges"]["relative_error"] < 0.05
    assert scalars["mean_degree"]["relative_error"] < 0.05
    assert scalars["density"]["relative_error"] < 0.05
    assert distances["degree_kolmogorov_smirnov"] < 0.12
    if wanted > NODES:  # a third of the nodes has fewer triangles to close than pairs of neighbours ask for
        assert scalars["transitivity"]["relative_error"] < 0.2
        assert scalars["triangles"]["relative_error"] < 0.2


def test_what_needs_the_same_nodes_is_not_compared(tmp_path):
    found = compare(ORIGINAL, at("dcsbm", 80, tmp_path), Suite.STANDARD, no_progress, 80 / NODES)
    (relation,) = found["edge_types"]
    aligned = {"partition_nmi", "partition_nmi_above_chance", "degree_spearman", "top_pagerank_overlap"}
    assert not aligned & set(relation["means"]["distances"])
    assert not {"top_eigenvector_overlap", "eigenvector_mae"} & set(relation["means"]["distances"])
    assert found["anchors"] is found["whole"] is None
    assert found["scaled"] == pytest.approx(1 / 3)
    bins = relation["degrees"][0]["bins"]
    assert sum(each["original"] for each in bins) == pytest.approx(80)
    assert sum(each["synthetic"] for each in bins) == 80


def test_communities_come_along(tmp_path):
    drawn = at("dcsbm", 3 * NODES, tmp_path, groups=GROUPS)
    (found,) = compare(ORIGINAL, drawn, Suite.STANDARD, no_progress, 3.0)["edge_types"]
    assert found["means"]["scalars"]["modularity"]["relative_error"] < 0.15


@pytest.mark.parametrize(
    "wanted",
    [
        2,
        NODES + 1,
        *(pytest.param(each, marks=pytest.mark.audits) for each in (3, 7, NODES - 1, NODES, 1_001)),
    ],
)
def test_any_size_is_drawn(wanted, tmp_path):
    for name in ABLE:
        assert at(name, wanted, tmp_path / name).nodes["node"].count == wanted


def test_every_node_is_repeated_as_often_as_any_or_once_more():
    for wanted in (1, 9, 10, 11, 25):
        times = np.bincount(repeated(10, wanted, public_generator(1)), minlength=10)
        assert times.sum() == wanted
        assert times.max() - times.min() <= 1


def test_a_composition_gives_all_relations_the_same_nodes(tmp_path):
    """A node that is a hub in one relation and in another stays one in both, after it was repeated."""
    from core.graphs.graph import EdgeTable, NodeTable
    from core.graphs.schema import EdgeType, GraphSchema, NodeType

    nodes = 60
    hubs = np.array([(hub, other) for hub in range(4) for other in range(4, nodes)])
    schema = GraphSchema(
        node_types=(NodeType(name="node", count=nodes),),
        edge_types=tuple(EdgeType(name=name, source="node", target="node") for name in ("one", "two")),
    )
    table = EdgeTable(hubs[:, 0], hubs[:, 1])
    graph = Graph.build(schema, {"node": NodeTable(nodes)}, {"one": table, "two": table})
    method = registry.get("composed")
    structures = {"one": {"method": "dcsbm"}, "two": {"method": "degree_triangle"}}
    model, _ = fit(method, graph, PLENTY, structures=structures)
    assert method.resize is not None
    larger = method.resize(model, {"node": repeated(nodes, 2 * nodes, public_generator(1))})
    drawn = larger.sample(public_generator(2), no_progress)
    high = []
    for name in ("one", "two"):
        ends = np.concatenate([drawn.edges[name].source, drawn.edges[name].target])
        high.append(set(np.argsort(-np.bincount(ends, minlength=2 * nodes))[:8]))
    assert high[0] == high[1]
    assert len(high[0]) == 8
