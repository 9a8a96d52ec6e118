"""DPGGAN's tables: what their rows release, and what is printed of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.small_graphs import keys
from papers.dpggan import training
from papers.dpggan.benchmarks.attacks import needed
from papers.dpggan.benchmarks.networks import COLUMNS, tables
from papers.dpggan.benchmarks.rows import ROWS, fitted, reading, release
from tests.support.generating import graph_of, random_pairs

GRAPH = graph_of(random_pairs(30, 0.2), 30)


def test_the_unsafe_row_s_networks_see_the_original_and_no_other_row_s_do():
    assert [label for label, row in ROWS.items() if row.unsafe] == ["unsafe: an encoder of the original"]
    model = fitted(ROWS["dpggan, noisy graph"], GRAPH, 1.0)
    with reading(GRAPH):
        np.testing.assert_array_equal(training.union_of(model, ("edge",)).keys[0], np.sort(keys(GRAPH)))
    noisy = training.union_of(model, ("edge",)).keys[0]
    np.testing.assert_array_equal(noisy, model.cells["edge", None]["y"])


def test_the_original_s_row_is_the_original():
    synthetic, fit, _ = release("original", GRAPH, 0.0)
    assert synthetic is GRAPH
    assert fit == 0


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_an_auc_needs_the_epsilon_that_allows_it_and_no_more(epsilon):
    allowed = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert needed(allowed) == pytest.approx(epsilon)
    assert needed(1 - allowed) == 0
    assert needed(1.0) == math.inf


def test_a_table_has_means_over_runs_and_what_was_reported_at_the_same_epsilon():
    def line(label, **more):
        figures = dict.fromkeys(COLUMNS, 1.0) | more
        return {"set": "dblp", "label": label, "epsilon": 1.0, "graphs": 2, "figures": figures}

    told = list(tables([line("tmf"), line("dpggan", TC=2.0, GIN=0.5), line("dpggan", TC=4.0)]))
    rows = [row for row in told if row.startswith("| 1.0")]
    names = ["dpggan", "tmf", "*paper, DPGGAN*", "*paper, DPGVAE*", "*published program, DPGGAN*"]
    assert [row.split(" | ")[1] for row in rows] == names
    assert rows[0] == "| 1.0 | dpggan | 2 | 1 | 3 | 1 | 1 | 1 | 1 | 1 | 1 | 0.5 |"
    assert len({row.count("|") for row in told if row.startswith("|")}) == 1
