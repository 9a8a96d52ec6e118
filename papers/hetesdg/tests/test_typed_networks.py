"""Networks of typed graphs on a planted one: links and classes are told, and held-out links are not seen."""

import numpy as np
import pytest

from benchmarks.link_splits import Split, split_links
from papers.hetesdg.benchmarks.typed_networks import (
    NAMES,
    WIDTH,
    Network,
    Typed,
    link_scores,
    node_f1,
    walked,
)
from papers.hetesdg.tests.toys import CLASSES, typed

GRAPH = typed()
WORDS = np.asarray(GRAPH.nodes["paper"].attributes["words"], dtype=np.float64)
PLANTED = WORDS.reshape(len(WORDS), CLASSES, -1).sum(2).argmax(1)


@pytest.mark.parametrize("sort", NAMES)
def test_links_and_classes_are_told(sort):
    links = split_links(GRAPH, "writes", Split.LEAK_FREE, 0)
    scores = link_scores(sort, links.seen, "paper", WORDS, "writes", (links.source, links.target), 0)
    assert links.auc(scores)["value"] > 0.58  # by chance .5
    rng = np.random.default_rng(0)
    blank = rng.normal(size=WORDS.shape)  # so that classes come by the links alone
    assert node_f1(sort, GRAPH, "paper", blank, PLANTED, 0.8, 0) > 0.6  # by chance .33


def test_every_relation_goes_there_and_back():
    found = Typed.of(GRAPH, "paper", WORDS)
    assert len(found.links) == 2 * len(GRAPH.schema.edge_types)
    there, back = (
        found.links[each] for each in (("author", "writes", "paper"), ("paper", "writes_back", "author"))
    )
    assert (there == back.flip(0)).all()


@pytest.mark.parametrize("sort", NAMES[:3])
def test_a_network_has_a_row_for_every_node(sort):
    rows = Network(Typed.of(GRAPH, "paper", WORDS), sort)()
    assert {name: tuple(each.shape) for name, each in rows.items()} == {
        name: (table.count, WIDTH) for name, table in GRAPH.nodes.items()
    }


def test_walks_leave_out_what_no_meta_path_meets():
    rows = walked(Typed.of(GRAPH, "topic", np.ones((12, 1))), "topic")
    assert rows["topic"].any()
    assert rows["paper"].any()
    assert not rows["author"].any()
