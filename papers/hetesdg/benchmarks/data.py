"""ACM, IMDB and Amazon as typed graphs with public features: what HeteSDG's tables are measured on.

Each set is read from a folder of its own. Node numbers are shuffled: file order gives classes away. All
relations are static and protected; node features and classes are public, a node that no link names stays.

ACM: HeCo's files ``pa.txt``, ``ps.txt``, ``p_feat.npz``, ``labels.npy``; papers have words and one of three
classes. Its authors' features are sums over their papers, hence links, and are left out.

IMDB: ``movie_metadata.csv`` with HeteDP's filter: a movie with a director, a first actor, and a genre among
Action, Comedy and Drama, the first of which is its class; features are words of the plot's keywords that
stand in five movies or more.

Amazon: HeteDP's ``user_item.dat.gz``, ``item_view.dat``, ``item_brand.dat``; an item's categories
(``item_category.dat``) are its features here. There is no class: those of the published program are bins of
the degree, that is, of private links.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection

FEATURES, CLASS = "features", "class"
GENRES = ("Action", "Comedy", "Drama")
FEWEST_MOVIES = 5

Links = Mapping[str, tuple[str, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Dataset:
    """Where a set stands and what its tables look at.

    ``focus``: the relation whose links are predicted. ``subject``: the type with features, the source of
    every relation. ``classes``: whether the subject has classes.
    """

    folder: str
    read: Callable[[Path, int], Graph]
    subject: str
    focus: str
    classes: bool = True


def load(name: str, data: Path, seed: int = 0) -> Graph:
    """One of ``DATASETS`` from the folder that holds them, node numbers shuffled by ``seed``."""
    return DATASETS[name].read(data / DATASETS[name].folder, seed)


def features_of(graph: Graph, dataset: Dataset) -> np.ndarray:
    """The subject's features, float32 (n, d)."""
    return np.asarray(graph.nodes[dataset.subject].attributes[FEATURES])


def classes_of(graph: Graph, dataset: Dataset) -> np.ndarray:
    """The subject's classes, int64."""
    return np.array(graph.nodes[dataset.subject].attributes[CLASS].to_pylist(), dtype=np.int64)


def acm(folder: Path, seed: int) -> Graph:
    links = {
        f"paper-{kind}": (kind, *np.loadtxt(folder / name, dtype=np.int64, ndmin=2).T)
        for kind, name in (("author", "pa.txt"), ("subject", "ps.txt"))
    }
    words = sp.load_npz(folder / "p_feat.npz").toarray() > 0
    labels = np.load(folder / "labels.npy", allow_pickle=False).astype(np.int64)
    return built("paper", words, labels, links, seed)


def imdb(folder: Path, seed: int) -> Graph:
    from sklearn.feature_extraction.text import CountVectorizer

    with (folder / "movie_metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["director_name"] and row["actor_1_name"]]
    genres = [[part for part in row["genres"].split("|") if part in GENRES] for row in rows]
    rows = [row for row, found in zip(rows, genres, strict=True) if found]
    labels = np.array([GENRES.index(found[0]) for found in genres if found])
    words = CountVectorizer(min_df=FEWEST_MOVIES).fit_transform([row["plot_keywords"] for row in rows])
    casts = [[row[f"actor_{place}_name"] for place in (1, 2, 3)] for row in rows]
    links = {
        "movie-actor": ("actor", *_named([[name for name in cast if name] for cast in casts])),
        "movie-director": ("director", *_named([[row["director_name"]] for row in rows])),
    }
    return built("movie", words.toarray(), labels, links, seed)


def amazon(folder: Path, seed: int) -> Graph:
    with gzip.open(folder / "user_item.dat.gz", "rt") as file:
        user, item = np.loadtxt(file, delimiter=",", usecols=(0, 1), dtype=np.int64).T
    view, brand, category = (
        np.loadtxt(folder / f"item_{kind}.dat", delimiter=",", dtype=np.int64, ndmin=2).T
        for kind in ("view", "brand", "category")
    )
    values = np.zeros((int(item.max()) + 1, int(category[1].max()) + 1), dtype=np.float32)
    values[category[0], category[1]] = 1
    links = {"item-user": ("user", item, user), "item-view": ("view", *view), "item-brand": ("brand", *brand)}
    return built("item", values, None, links, seed)


def _named(lists: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Links from every list to its names, numbered in their order; a name twice in a list is one link."""
    numbers = {name: place for place, name in enumerate(sorted({name for names in lists for name in names}))}
    pairs = sorted({(place, numbers[name]) for place, names in enumerate(lists) for name in names})
    source, target = np.array(pairs, dtype=np.int64).T
    return source, target


def built(subject: str, values: np.ndarray, labels: np.ndarray | None, links: Links, seed: int) -> Graph:
    """The graph whose relations go from ``subject``, with features ``values`` and classes, to other types."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(len(values))  # the old number of the new node
    place = np.argsort(number)
    attributes: dict[str, np.ndarray | pa.Array] = {FEATURES: values[number].astype(np.float32)}
    declared = [Attribute(name=FEATURES, kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)]
    if labels is not None:
        attributes[CLASS] = pa.array(labels[number].astype(str))
        declared.append(Attribute(name=CLASS, protection=Protection.PUBLIC, label=True))
    counts = {kind: int(target.max()) + 1 for kind, _, target in links.values()}
    schema = GraphSchema(
        node_types=(
            NodeType(name=subject, count=len(values), attributes=tuple(declared)),
            *(NodeType(name=kind, count=count) for kind, count in counts.items()),
        ),
        edge_types=tuple(
            EdgeType(name=name, source=subject, target=kind) for name, (kind, _, _) in links.items()
        ),
    )
    tables = {
        name: EdgeTable(place[source], rng.permutation(counts[kind])[target])
        for name, (kind, source, target) in links.items()
    }
    nodes = {subject: NodeTable(len(values), None, attributes)}
    return Graph.build(schema, nodes, tables)


DATASETS = {
    "acm": Dataset("acm_heco", acm, "paper", "paper-author"),
    "imdb": Dataset("imdb_movies", imdb, "movie", "movie-actor"),
    "amazon": Dataset("amazon_hetedp", amazon, "item", "item-user", classes=False),
}
