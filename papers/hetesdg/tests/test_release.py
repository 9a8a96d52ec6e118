"""A release of typed rows and vectors, as it is published: files beside the graph, and a promise for rows."""

import json

import pyarrow.parquet as pq

from core.privacy.units import Unit
from papers.hetesdg import GENERATOR
from papers.hetesdg.tests.toys import AUTHORS, PAPERS, TOPICS, typed
from tests.support.publishing import public_of, publish


def test_rows_vectors_and_a_graph_are_published_together(tmp_path):
    publish(
        GENERATOR,
        typed(),
        tmp_path,
        unit=Unit.EDGE,
        edge_types=("writes", "about"),
        nano_epsilon=4 * 10**9,
        delta_atto=10**13,
        formats=(),
        params={"release": ["graph", "features", "embedding"], "rows": True},
    )
    folder = tmp_path / "job" / "release"
    rows, vectors = (pq.read_table(folder / f"{name}.parquet") for name in ("features", "embedding"))
    assert rows.num_rows == AUTHORS
    assert set(rows["type"].to_pylist()) == {"author"}
    assert vectors.num_rows == AUTHORS + PAPERS + TOPICS
    ids = set(pq.read_table(folder / "nodes.parquet")["id"].to_pylist())
    assert set(vectors["id"].to_pylist()) == ids
    public = public_of(tmp_path)
    assert public["guarantee"]["kind"] == "approximate"
    assert "protected attributes" in public["guarantee"]["statement"]
    assert "history" not in json.dumps(pq.read_schema(folder / "nodes.parquet").names)
