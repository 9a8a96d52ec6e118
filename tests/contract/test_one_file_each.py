"""A format and a metric are one file each: found, tested and documented without a change of another file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = (
    "tests/unit/graphs/test_formats.py::test_names",
    "tests/unit/graphs/test_exports.py::test_what_is_only_written_is_never_read",
    "tests/property/test_graphs_formats.py::test_every_format_gives_back_a_static_graph[semicolons]",
    "tests/unit/test_publishing_order.py::test_neighbours_as_uploads[semicolons]",
    "tests/unit/evaluation/test_structure.py::test_every_metric_has_its_own_name_and_says_what_it_means",
    "tests/unit/evaluation/test_structure.py::test_every_suite_gives_every_one_of_its_metrics",
)

MEASURED = """
import json
import tests.support.toys
import numpy as np
from core.evaluation import suite
from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from docs.build import pages

schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(),))
path, star = (
    Graph.build(schema, {}, {"edge": EdgeTable(np.array(a), np.array(b))})
    for a, b in (([0, 1, 2], [1, 2, 3]), ([0, 0, 0], [1, 2, 3]))
)
public = suite.public_statistics(star)
compared = suite.compare(path, star, Suite.QUICK, lambda *_: None)
print(json.dumps({
    "means": public["edge_types"][0]["means"],
    "described": public["metrics"]["leaf_share"]["title"],
    "both": compared["edge_types"][0]["rows"][0]["scalars"]["leaf_share"],
    "order": list(public["metrics"]),
    "page": next(text for path, text in pages().items() if path.name == "metrics.md"),
}))
"""


def child(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_a_metric_is_measured_compared_and_documented():
    found = json.loads(child("-c", MEASURED))
    assert found["means"]["leaf_share"] == pytest.approx(3 / 4)
    assert (found["both"]["original"], found["both"]["synthetic"]) == (0.5, 0.75)
    assert found["described"] == "Leaves"
    assert found["order"][-1] == "leaf_share"  # behind those whose order is said
    assert "| `leaf_share` | quick | Nodes of one edge / nodes. |" in found["page"]


@pytest.mark.audits
def test_the_suite_holds_with_a_format_and_a_metric_more(tmp_path: Path):
    """Those of its cases that bear the format's name are there because the format is."""
    plain = ("-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'child'}")
    assert "[100%]" in child(*plain, "-p", "tests.support.toys", *TESTS)
