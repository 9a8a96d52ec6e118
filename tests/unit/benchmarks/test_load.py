"""What counts as an edge and as a node in the files of the public graphs."""

import gzip

import numpy as np
import pytest

from benchmarks import static_graphs
from benchmarks.load import load_static, numbers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "from,to,weight\n1,2,7\n2,3,8\n"),
        ("a.txt", "# 9 9\n% 9\n  -1 (a comment)\n1\t2\t7\n 2 3 8\n"),
        ("a.txt.gz", "1 2 7\n2 3 8\n"),
    ],
)
def test_headers_and_comments_are_no_rows(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert numbers(path, (0, -1)).tolist() == [[1, 7], [2, 8]]
    assert numbers(path, (0, 1), skipped=1).tolist() == [[2, 3]]


def test_a_universe_may_have_nodes_without_an_edge(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\n5,9\n9,5\n5,5\n")
    (tmp_path / "labels.csv").write_text("node,label\n5,1\n7,1\n9,0\n")
    alone = load_static(tmp_path / "edges.csv")
    assert (alone.nodes["node"].count, alone.edges["edge"].count) == (2, 1)
    whole = load_static(tmp_path / "edges.csv", universe=tmp_path / "labels.csv")
    assert (whole.nodes["node"].count, whole.edges["edge"].count) == (3, 1)


def test_node_numbers_do_not_follow_the_file(tmp_path):
    """Of 2,000 nodes of a path, hardly any keeps the place that it has in the file."""
    (tmp_path / "path.txt").write_text("".join(f"{n} {n + 1}\n" for n in range(1_999)))
    table = load_static(tmp_path / "path.txt").edges["edge"]
    assert np.count_nonzero(table.target - table.source == 1) < 20


def test_a_file_that_has_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(static_graphs.SOURCES, "tiny", static_graphs.Source("tiny.txt", 2))
    (tmp_path / "tiny.txt").write_text("1 2\n2 3\n")
    assert static_graphs.load("tiny", tmp_path).edges["edge"].count == 2
    (tmp_path / "tiny.txt").write_text("1 2\n")
    with pytest.raises(ValueError, match="1 edges, not 2"):
        static_graphs.load("tiny", tmp_path)
