"""The comparison of defaults with an earlier checkout: releases repeat, and tables say what changed."""

import json

import numpy as np

from core.methods import registry
from papers._shared.benchmarks.defaults import LEARNED, ROOT, figures, pairs_of, run_missing, table


def test_figures_of_a_graph_and_itself():
    nodes, pairs, communities = pairs_of("karate")
    assert (nodes, len(pairs), len(communities)) == (34, 78, 34)
    assert figures(nodes, pairs, pairs) == {"degrees": 0.0, "triangles": 0.0, "true edges": 1.0}
    star = np.stack([np.zeros(33, dtype=np.int64), np.arange(1, 34)], 1)
    assert figures(nodes, pairs, star)["triangles"] == 1.0


def test_the_methods_are_there():
    assert set(LEARNED) <= set(registry.generators())


def test_a_checkout_beside_itself_makes_the_same_releases_once(tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    asked = type("Asked", (), {"before": ROOT, "only": ["dpggan"], "results": results})()
    run_missing(asked, [])
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(lines) == 12
    told = list(table(lines))
    assert len(told) == 4
    assert all(row.endswith("| 3 of 3 |") and "→" not in row for row in told[2:])
    assert len({line["digest"] for line in lines}) == 6
    capsys.readouterr()
    run_missing(asked, lines)
    assert not capsys.readouterr().out
    other = {**lines[0], "digest": "another", "triangles": 9.0}
    assert "→" in "".join(table([other, *lines[1:]]))
