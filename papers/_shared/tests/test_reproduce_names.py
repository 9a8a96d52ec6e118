"""Runs of one's own graph are told apart by what was read: a resume never mixes two graphs."""

import importlib
import json
from argparse import Namespace

import pytest

PAPERS = ("thepuff", "hetesdg")


@pytest.fixture
def own(tmp_path):
    """Papers with a public number, who wrote and who read them, over time or not."""
    (tmp_path / "edges.csv").write_text(
        "type,source,target,time\nwrote,p0,a0,\nwrote,p1,a1,\nread,p0,a1,\nmet,a0,a1,0\nmet,a0,a2,1\n"
    )
    nodes = "".join(f"paper,p{each},{each}\n" for each in range(3))
    nodes += "".join(f"author,a{each},\n" for each in range(3))
    (tmp_path / "nodes.csv").write_text("type,id,size\n" + nodes)
    (tmp_path / "more.csv").write_text("type,id,size\n" + nodes + "author,a9,\n")
    (tmp_path / "other.csv").write_text("type,id,size\n" + nodes.replace("p2,2", "p2,7"))
    size = {"name": "size", "kind": "number", "protection": "public"}
    schema = {
        "node_types": [{"name": "paper", "attributes": [size]}, {"name": "author"}],
        "edge_types": [
            {"name": "wrote", "source": "paper", "target": "author"},
            {"name": "read", "source": "paper", "target": "author"},
            {"name": "met", "source": "author", "target": "author", "temporal": True},
        ],
        "time": {"count": 2, "start": 0, "width": 1},
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    places = {"data": tmp_path / "edges.csv", "schema": tmp_path / "schema.json"}

    def asked(nodes="nodes.csv", relation=None):
        return Namespace(**places, nodes=tmp_path / nodes, relation=relation, graph=None, set=None)

    return asked


def name(paper, asked):
    return importlib.import_module(f"papers.{paper}.benchmarks.reproduce").loaded(asked)[0]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_name_is_of_the_graph_that_was_read(paper, own):
    assert name(paper, own()) == name(paper, own())
    assert len({name(paper, own(nodes)) for nodes in ("nodes.csv", "more.csv", "other.csv")}) == 3


def test_a_name_is_of_the_relation_too(own):
    assert name("hetesdg", own(relation="wrote")) != name("hetesdg", own(relation="read"))
    assert name("hetesdg", own()) == name("hetesdg", own(relation="wrote"))  # the largest
