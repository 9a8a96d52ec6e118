"""Walks along a typed graph's links: where they may go, and how often they are where."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import public_generator
from papers._shared.walks.layout import Layout, keys_of
from papers._shared.walks.links import BACK, FORWARD, NEITHER, Labels, Links, reverse

STEPS = 3


def typed() -> Graph:
    """People who follow one another and see films over time; films have a genre."""
    rng = np.random.default_rng(1)
    schema = GraphSchema(
        node_types=(
            NodeType(name="user", count=12),
            NodeType(name="film", count=9),
            NodeType(name="genre", count=3),
        ),
        edge_types=(
            EdgeType(name="sees", source="user", target="film", temporal=True),
            EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
            EdgeType(name="has", source="film", target="genre"),
        ),
        time=TimeGrid(count=STEPS),
    )
    sees, follows = rng.integers(0, (12, 9, STEPS), (40, 3)), rng.integers(0, (12, 12, STEPS), (30, 3))
    follows = follows[follows[:, 0] < follows[:, 1]]  # directions are all one way, as numbers go
    return Graph.build(
        schema,
        {},
        {
            "sees": EdgeTable(*sees.T),
            "follows": EdgeTable(*follows.T),
            "has": EdgeTable(np.arange(9), np.arange(9) % 3),
        },
    )


def links_of(graph: Graph, typed_walks: bool) -> Links:
    counts = {name: table.count for name, table in graph.nodes.items()}
    names = tuple(each.name for each in graph.schema.edge_types)
    labels = Labels(Layout.of(graph.schema, counts, names), typed_walks)
    return Links.of(labels, keys_of(graph, labels.layout))


@pytest.fixture(scope="module", params=[True, False], ids=["typed", "by step"])
def links(request) -> Links:
    return links_of(typed(), request.param)


def tail(links: Links) -> np.ndarray:
    return np.repeat(np.arange(links.labels.layout.nodes), np.diff(links.start))


def test_every_edge_is_two_links_each_the_others_way_back(links):
    every = np.arange(2 * links.edges)
    assert links.edges == sum(table.count for table in typed().edges.values())
    np.testing.assert_array_equal(links.back[links.back], every)
    np.testing.assert_array_equal(links.head[links.back], tail(links))
    np.testing.assert_array_equal(links.label[links.back], reverse(links.label))
    np.testing.assert_array_equal(links.step[links.back], links.step)


def test_labels_have_a_direction_where_types_do_not_tell_it(links):
    group, way = np.divmod(links.label, 3)
    kinds = links.labels.layout.type_of(np.stack([tail(links), links.head]))
    follows = (kinds == 0).all(axis=0)
    assert (way[follows] == np.where(tail(links) < links.head, FORWARD, BACK)[follows]).all()
    if links.labels.typed:
        assert (way > 0).all()
        assert len(np.unique(group)) == 2 * STEPS + 1
    else:
        assert (way[~follows] == NEITHER).all()
        np.testing.assert_array_equal(group, links.step)


@pytest.mark.parametrize("window", [0, 1])
def test_a_walk_goes_on_from_where_it_is_in_steps_that_are_near(links, window):
    walks = links.walks(2000, 5, window, public_generator(1))
    np.testing.assert_array_equal(links.head[walks[:, :-1]], tail(links)[walks[:, 1:]])
    for steps in links.step[walks]:
        timed = steps[steps < STEPS]
        assert len(timed) < 2 or abs(np.diff(timed)).max() <= window


def test_every_place_of_a_walk_in_one_step_has_every_link_equally_often(links):
    walks = links.walks(60_000, 4, 0, public_generator(2))
    for place in range(4):
        seen = np.bincount(walks[:, place], minlength=2 * links.edges)
        assert abs(seen / seen.mean() - 1).max() < 5 / np.sqrt(seen.mean())
