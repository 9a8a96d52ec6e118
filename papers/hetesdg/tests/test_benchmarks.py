"""HeteSDG's benchmarks: files become the right graphs, figures are what they say, tables hold the results."""

from __future__ import annotations

import gzip
import json
from argparse import Namespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import results_file
from benchmarks.link_splits import Split
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Protection
from core.methods.registry import get
from papers.hetesdg.benchmarks import attacks as hetesdg_attacks
from papers.hetesdg.benchmarks import graph as hetesdg_graph
from papers.hetesdg.benchmarks import plain as hetesdg_plain
from papers.hetesdg.benchmarks import rows as hetesdg_rows
from papers.hetesdg.benchmarks import tables as hetesdg_tables
from papers.hetesdg.benchmarks.data import (
    DATASETS,
    FEWEST_MOVIES,
    acm,
    amazon,
    built,
    classes_of,
    features_of,
    imdb,
)
from papers.hetesdg.benchmarks.reported import LINKS, NODES
from papers.hetesdg.benchmarks.scale import planted

CLASSES = np.array([0, 0, 1, 1])


def small() -> Graph:
    """Four papers, three authors: 0-a, 1-a, 1-b, 2-b, 3-c."""
    source, target = np.array([0, 1, 1, 2, 3]), np.array([0, 0, 1, 1, 2])
    graph = built("paper", np.eye(4), CLASSES, {"paper-author": ("author", source, target)}, 0)
    places = np.argmax(np.asarray(graph.nodes["paper"].attributes["features"]), axis=1)
    # Numbers are shuffled: the tests below speak of the order above.
    assert sorted(places) == [0, 1, 2, 3]
    table = EdgeTable(source, target)
    return Graph.build(graph.schema, graph.nodes, {"paper-author": table})


def test_acm_is_read_without_its_authors_features(tmp_path):
    (tmp_path / "pa.txt").write_text("0\t0\n0\t1\n1\t1\n2\t2\n")
    (tmp_path / "ps.txt").write_text("0\t0\n1\t0\n2\t1\n")
    sp.save_npz(tmp_path / "p_feat.npz", sp.csr_matrix([[0.5, 0, 0], [0, 0.5, 0], [0, 0.2, 0.2]]))
    np.save(tmp_path / "labels.npy", np.array([0.0, 1.0, 2.0]))
    graph, dataset = acm(tmp_path, 1), DATASETS["acm"]
    assert {name: table.count for name, table in graph.nodes.items()} == {
        "paper": 3,
        "author": 3,
        "subject": 2,
    }
    assert (graph.edges["paper-author"].count, graph.edges["paper-subject"].count) == (4, 3)
    # A node's words, its class and its degree move together when numbers are shuffled.
    found = {
        (tuple(words), int(klass), int(degree))
        for words, klass, degree in zip(
            features_of(graph, dataset).tolist(),
            classes_of(graph, dataset),
            np.bincount(graph.edges["paper-author"].source, minlength=3),
            strict=True,
        )
    }
    assert found == {((1, 0, 0), 0, 2), ((0, 1, 0), 1, 1), ((0, 1, 1), 2, 1)}


def test_imdb_is_filtered_as_hetedp_does(tmp_path):
    head = "director_name,actor_1_name,actor_2_name,actor_3_name,genres,plot_keywords,movie_title"
    rows = [f"d{i},a,b{i},,Crime|Drama|Action,love|war in space,m{i}" for i in range(FEWEST_MOVIES)]
    rows += [
        "d0,a,a,c,Action,love,m9",
        ",a,b,c,Action,love,x",
        "d1,,b,c,Action,love,y",
        "d1,a,b,c,Crime,love,z",
    ]
    (tmp_path / "movie_metadata.csv").write_text("\n".join([head, *rows]) + "\n")
    graph, dataset = imdb(tmp_path, 1), DATASETS["imdb"]
    assert graph.nodes["movie"].count == FEWEST_MOVIES + 1
    assert (graph.nodes["actor"].count, graph.nodes["director"].count) == (FEWEST_MOVIES + 2, FEWEST_MOVIES)
    assert graph.edges["movie-actor"].count == 2 * FEWEST_MOVIES + 2  # an actor twice in a movie is one link
    assert sorted(classes_of(graph, dataset)) == [0] + [2] * FEWEST_MOVIES  # the first genre of the three
    assert sorted(features_of(graph, dataset).sum(axis=1)) == [1] + [4] * FEWEST_MOVIES


def test_amazon_has_categories_as_features_and_no_classes(tmp_path):
    with gzip.open(tmp_path / "user_item.dat.gz", "wt") as file:
        file.write("0,0,5,1\n1,0,4,2\n1,1,5,3\n")
    for kind, lines in (("view", "0,0\n1,1\n"), ("brand", "0,0\n1,0\n"), ("category", "0,0\n0,2\n1,1\n")):
        (tmp_path / f"item_{kind}.dat").write_text(lines)
    graph, dataset = amazon(tmp_path, 1), DATASETS["amazon"]
    assert {name: table.count for name, table in graph.edges.items()} == {
        "item-user": 3,
        "item-view": 2,
        "item-brand": 2,
    }
    assert sorted(features_of(graph, dataset).tolist()) == [[0, 1, 0], [1, 0, 1]]
    assert not dataset.classes


@pytest.mark.parametrize("rows", [hetesdg_rows.ROWS, hetesdg_graph.ROWS])
def test_every_row_names_parameters_that_its_method_takes(rows):
    for label, row in rows.items():
        claimed = {row.of_epsilon: 1.0} if row.of_epsilon else {}
        for extra in (row.links, row.nodes):
            wanted = {**row.parameters, **(extra or {}), **claimed}
            params = get(row.method).Params.varied(**wanted)
            assert all(getattr(params, name) == value for name, value in wanted.items()), label


def test_paths_come_back_to_other_nodes_only():
    found = hetesdg_graph.paths(small(), "paper-author")
    assert found["source"].tolist() == [1, 2, 1, 0]
    assert found["target"].tolist() == [1, 1, 0]


def test_class_mix_is_of_the_ends_of_paths():
    # Paths 0-1, 1-0 (class 0 with 0) and 1-2, 2-1 (class 0 with 1).
    assert hetesdg_graph.class_mix(small(), "paper-author", CLASSES).tolist() == [[0.5, 0.25], [0.25, 0.0]]


def test_a_copy_is_no_distance_away_and_plain_rows_keep_what_they_pay_for():
    graph = planted(600)
    found = hetesdg_graph.figures(graph, graph, None)
    assert found["true_links left-right"] == found["links left-right"] == 1
    assert all(value == 0 for name, value in found.items() if "links" not in name)
    for label in hetesdg_graph.PLAIN:
        drawn, _ = hetesdg_graph.release(label, graph, 50.0)
        again = hetesdg_graph.figures(graph, drawn, None)
        assert again["links left-right"] == pytest.approx(1, abs=0.25)
        if label == "sorted":
            assert again["degree_tv left-right target"] < 0.05
            assert again["true_links left-right"] < 0.2


def test_scorers_rank_what_they_know():
    graph = planted(3_000)
    cell = hetesdg_tables.Cell("-", LINKS, "-", "degree product, exact", 0.0, 0)
    clean, leaky = (hetesdg_tables.link_figures(graph, "left-right", split, cell) for split in Split)
    assert clean["low"] < clean["value"] < clean["high"]
    assert leaky["low"] > max(60, clean["high"])  # a link that is there makes both degrees larger
    paid = cell._replace(label="degree only", epsilon=50.0)
    assert hetesdg_tables.link_figures(graph, "left-right", Split.LEAKY, paid)["value"] > 60
    hops = hetesdg_plain.exact_hops(small(), "paper", 0.0)
    assert hops.shape == (4, 4)
    own = np.asarray(small().nodes["paper"].attributes["features"])
    # Paper 1 meets papers 0 and 2, paper 3 nobody.
    assert np.allclose(hops[1], (own[0] + own[2]) / 2)
    assert not hops[3].any()


def test_noisy_sums_of_rows_rank_links():
    graph = planted(3_000)
    cell = hetesdg_tables.Cell("-", LINKS, "-", "hetesdg, gaussian sums", 50.0, 0)
    found = hetesdg_tables.link_figures(graph, "left-right", Split.LEAKY, cell)
    assert found["low"] > 70
    nothing = hetesdg_tables.link_figures(graph, "left-right", Split.LEAKY, cell._replace(epsilon=0.02))
    assert nothing["value"] < found["value"] - 10


def test_protected_features_are_declared_so_and_the_class_stays():
    found = hetesdg_rows.protected(small()).schema.node_type("paper").attributes
    assert [(each.protection, each.label) for each in found] == [
        (Protection.PROTECTED, False),
        (Protection.PUBLIC, True),
    ]


@pytest.mark.parametrize("attacker", hetesdg_attacks.ATTACKERS)
def test_an_attacker_learns_classes_from_his_own_half(attacker):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 200)
    values = np.eye(4)[2 * classes + rng.integers(0, 2, 200)]
    target = 5 * np.repeat(classes, 3) + rng.integers(0, 5, 600)
    links = {"paper-author": ("author", np.repeat(np.arange(200), 3), target)}
    graph = built("paper", values, classes, links, 0)
    dataset = DATASETS["acm"]
    for label in ("exact hops", hetesdg_attacks.FEATURES):
        found = hetesdg_attacks.attacked(label, attacker, graph, dataset, 0.0, 1)
        assert found["semantic_knn"].micro_f1 > 0.9
    none = hetesdg_attacks.attacked("features only", attacker, graph, dataset, 0.0, 1)  # no column at all
    assert none["semantic_knn"] == none["majority"]


def test_a_part_keeps_the_links_of_its_own_nodes():
    found = hetesdg_attacks.part(small(), np.array([1, 3]))
    assert found.edges["paper-author"].source.tolist() == [1, 1, 3]
    assert found.nodes["paper"].count == 4


def line(label, epsilon, where, task, seed, **figures):
    cell = hetesdg_tables.Cell("imdb", task, where, label, epsilon, seed)
    return cell._asdict() | {"figures": figures}


def test_tables_give_means_and_name_the_split_and_what_others_say():
    leaky, clean = "movie-actor leaky", "movie-actor leak_free"
    lines = [
        line("hetesdg", 1.0, leaky, LINKS, 0, value=70.0),
        line("hetesdg", 1.0, leaky, LINKS, 1, value=72.0),
        line("degree product, exact", 0.0, leaky, LINKS, 0, value=73.9),
        line("hetesdg", 4.0, clean, LINKS, 0, value=60.0),
        line("hetesdg", 1.0, "80% known", NODES, 0, macro=57.0, micro=58.0),
    ]
    text = "\n".join(hetesdg_tables.tables(lines))
    assert "**imdb, AUC of links, movie-actor leaky**" in text
    assert "| hetesdg | 2 | 71.0 ± 1.0 |  |  |" in text
    assert "| degree product, exact | 1 |  |  | 73.9 ± 0.0 |" in text
    free = text.split("movie-actor leak_free")[1].split("**imdb")[0]
    assert "paper" not in free  # nobody else took the test links out
    assert text.count("HeteSDG, epsilon 1 74.56") == 1
    assert text.count("HeteSDG, epsilon 1 54.01") == 1
    assert "published program" in text


def test_only_missing_figures_are_made(tmp_path, monkeypatch):
    results = tmp_path / "results.jsonl"
    asked = Namespace(
        results=results,
        data=tmp_path,
        set=["imdb"],
        task=[NODES],
        relation=None,
        only=["features only", "degree only"],
        epsilon=[1.0],
        seeds=2,
    )
    monkeypatch.setattr(hetesdg_tables, "load", lambda *_: None)
    monkeypatch.setattr(hetesdg_tables, "measure", lambda *_: {"macro": 50.0})
    hetesdg_tables.run_missing(asked)
    assert len(results_file.read(results)) == 4  # two seeds, a fifth and four fifths known; no row of links
    hetesdg_tables.run_missing(asked)
    lines = results.read_text().splitlines()
    assert len(lines) == 4
    assert {json.loads(each)["label"] for each in lines} == {"features only"}
