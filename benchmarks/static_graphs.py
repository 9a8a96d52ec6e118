"""Public static graphs by name, smallest first: what a default for static graphs is judged on.

Temporal files are flattened: a pair is linked where it ever was. Directions are dropped, as are loops and
repeats, and node numbers are shuffled. The universe is every node of the edge list and, where a file of
labels has more nodes, those too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.graphs import collaboration_graph
from benchmarks.load import load_static
from core.graphs.graph import Graph


@dataclass(frozen=True)
class Source:
    """Where an edge list stands in the folder of the public data sets. ``edges``: how many it gives.

    ``nodes``: a file whose first column has every node. ``skipped``: lines of numbers before the list.
    ``made``: a generated graph in place of a file.
    """

    path: str
    edges: int
    nodes: str | None = None
    skipped: int = 0
    made: Callable[[], Graph] | None = None


SOURCES: dict[str, Source] = {
    "radoslaw": Source("radoslaw-email/email.tsv", 3_250),
    "citeseer": Source("citeseer/edges.csv", 4_552, "citeseer/labels.csv"),
    "cora": Source("cora/edges.csv", 5_278, "cora/labels.csv"),
    "email-eu": Source("email-Eu-core-temporal-prefix/email-Eu-core-temporal.txt", 7_754),
    "as-733": Source("as-733-days/as20000102.txt", 12_572),
    "collegemsg": Source("CollegeMsg/CollegeMsg.txt", 13_838),
    "bitcoin-alpha": Source("bitcoin-alpha/soc-sign-bitcoinalpha.csv", 14_124),
    "polblogs": Source("polblogs/edges.csv", 16_715, "polblogs/labels.csv"),
    "bitcoin-otc": Source("bitcoin-otc/soc-sign-bitcoinotc.csv", 21_492),
    "lastfm": Source("lastfm_asia/lastfm_asia_edges.csv", 27_806, "lastfm_asia/lastfm_asia_target.csv"),
    "chameleon": Source("Chamelon/Chamelon.txt", 31_371),
    "as-caida": Source("as-caida-3/as-caida20071105.txt", 53_381),
    "digg": Source("munmun-digg-reply/munmun_digg_reply.txt", 85_155, skipped=1),
    "collaboration": Source("a generated graph", 75_457, made=partial(collaboration_graph, 6_000, 5_200)),
    "facebook": Source("Facebook/Facebook.txt", 88_234),
    "mathoverflow": Source("sx-mathoverflow-undirected/sx_reordered.txt.gz", 187_985),
    "cit-hepph": Source("cit-HepPh-1992-1999/cit-HepPh.txt.gz", 201_074),
}


def load(name: str, data: Path) -> Graph:
    """One of ``SOURCES``. Raises ValueError where the file is not the one whose edges were counted."""
    source = SOURCES[name]
    universe = data / source.nodes if source.nodes else None
    graph = (
        load_static(data / source.path, universe=universe, skipped=source.skipped)
        if source.made is None
        else source.made()
    )
    if graph.edges["edge"].count != source.edges:
        raise ValueError(f"{source.path} has {graph.edges['edge'].count} edges, not {source.edges}")
    return graph
