"""A weighted release: every pair with its weight, in every format, whatever the nodes are called."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from core.errors import PrivacyViolation
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.stored.whole import write_graph
from core.graphs.views.sensitive import SensitiveLinks, write_sensitive
from core.methods import registry
from core.methods.base import no_progress
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing import bundle, release, sample
from core.publishing.release import with_weights
from tests.support.attacked_graphs import clustered
from tests.support.publishing import spec

NODES = 400
PARAMS = {"steps": 12, "interval": 6, "surrogate_steps": 4, "alpha": 0.05, "release": "weighted"}
FORMATS = ("csv", "graphml", "npz", "matrix_market")


def published(folder: Path, *, directed: bool = False, second: bool = False, **changes: Any) -> Path:
    u, v = clustered()
    relations = (EdgeType(directed=directed), *([EdgeType(name="near", public=True)] if second else []))
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=relations)
    edges = {"edge": EdgeTable(u, v)} | ({"near": EdgeTable(u[:9], v[:9])} if second else {})
    original = Graph.build(schema, {}, edges)
    write_graph(original, folder / "original")
    table = original.edges["edge"]
    hidden = SensitiveLinks.of(original, {"edge": (table.source[::9], table.target[::9])})
    write_sensitive(hidden, folder / "original")
    asked = spec(
        registry.get("ppgsl"),
        schema,
        **{"params": PARAMS, "edge_types": ("edge",), "unit": Unit.EDGE} | changes,
    )
    recorder, out = MemoryRecorder(), folder / "out"
    release.publish(registry.get("ppgsl"), folder / "original", asked, out, recorder, no_progress)
    (out / "schema.json").write_text(schema.model_dump_json())
    (out / "transcript.json").write_text(json.dumps([entry.to_json() for entry in recorder.entries]))
    return out


def weights_of(out: Path) -> dict[frozenset[int], float]:
    """By the original's indices: what the release says of each pair."""
    order = bundle.read_alignment(out / "private" / "alignment.parquet")["node"]
    names = pq.read_table(out / "release" / "nodes.parquet")["id"].to_pylist()
    at = {name: int(order[place]) for place, name in enumerate(names)}
    rows = pq.read_table(out / "release" / "edges.parquet").to_pylist()
    return {
        frozenset((at[row["source"]], at[row["target"]])): row["weight"]
        for row in rows
        if row["type"] == "edge"
    }


def kept(out: Path) -> dict[frozenset[int], float]:
    """The same, as the private model has it."""
    model = registry.get("ppgsl").load(out / "private" / "model")
    keys, values = model.edge_weights()["edge"]
    ends = zip(*np.divmod(keys, NODES), strict=True)
    return {frozenset((int(a), int(b))): w for (a, b), w in zip(ends, values.tolist(), strict=True)}


def test_every_pair_is_published_with_its_own_weight_in_every_format(tmp_path):
    out = published(tmp_path, formats=FORMATS)
    expected = kept(out)
    found = weights_of(out)
    assert found == expected
    assert all(0 < weight <= 1 for weight in found.values())
    assert len({round(weight, 4) for weight in found.values()}) > 50  # no rounding
    assert any(weight < 0.5 for weight in found.values())
    assert len(found) > 800
    table = pq.read_table(out / "release" / "edges.parquet").to_pylist()
    by_name = {frozenset((row["source"], row["target"])): row["weight"] for row in table}
    with (out / "release" / "graph.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    said = {frozenset((line["source"], line["target"])): float(line["weight"]) for line in lines}
    assert said == pytest.approx(by_name)
    made = nx.read_graphml(out / "release" / "graph.graphml")
    assert {frozenset(ends[:2]): ends[2] for ends in made.edges(data="weight")} == pytest.approx(by_name)
    matrix = sp.load_npz(out / "release" / "graph.npz")
    assert sorted(matrix.data) == pytest.approx(sorted([*by_name.values(), *by_name.values()]))
    assert abs(matrix - scipy.io.mmread(out / "release" / "graph.mtx")).max() < 1e-6


def test_what_is_measured_of_it_are_the_pairs_from_a_half_on(tmp_path):
    out = published(tmp_path)
    present = {pair for pair, weight in weights_of(out).items() if weight >= 0.5}
    back = bundle.read_aligned(out / "release", out / "private" / "alignment.parquet").edges["edge"]
    pairs = zip(back.source.tolist(), back.target.tolist(), strict=True)
    assert {frozenset(pair) for pair in pairs} == present
    public = json.loads((out / "release" / "public.json").read_bytes())
    assert public["statistics"]["edge_types"][0]["edges"] == len(present)
    assert public["parameters"]["release"] == "weighted"


@pytest.mark.parametrize("directed", [False, True])
def test_a_further_sample_has_the_same_weights_under_other_names(tmp_path, directed):
    out = published(tmp_path, directed=directed, second=True)
    schema = GraphSchema.model_validate_json((out / "schema.json").read_text())
    asked = spec(
        registry.get("ppgsl"),
        schema,
        job_id="job-2",
        sample_of="job-1",
        params=PARAMS,
        edge_types=("edge",),
        unit=Unit.EDGE,
    )
    sample.draw(registry.get("ppgsl"), out, asked, tmp_path / "again", no_progress)
    assert weights_of(tmp_path / "again") == weights_of(out) == kept(out)
    rows = pq.read_table(out / "release" / "edges.parquet").to_pylist()
    assert {row["weight"] for row in rows if row["type"] == "near"} == {None}


def test_hidden_links_have_no_weight(tmp_path):
    out = published(tmp_path)
    hidden = registry.get("ppgsl").load(out / "private" / "model").hidden.of_relation("edge")
    pairs = {frozenset(pair) for pair in zip(*(ends.tolist() for ends in hidden), strict=True)}
    assert pairs
    assert not pairs & weights_of(out).keys()


def test_a_plain_release_has_no_column_of_weights(tmp_path):
    out = published(tmp_path, params=PARAMS | {"release": "graph"}, formats=("csv",))
    assert "weight" not in pq.read_schema(out / "release" / "edges.parquet").names
    assert (out / "release" / "graph.csv").read_text().startswith("source,target\n")


def test_an_edge_without_a_weight_is_never_published():
    graph = Graph.build(
        GraphSchema(node_types=(NodeType(count=4),)), {}, {"edge": EdgeTable(np.array([0]), np.array([3]))}
    )
    some = {"edge": (np.array([1]), np.array([0.5], dtype=np.float32))}
    with pytest.raises(PrivacyViolation):
        with_weights(graph, {"node": np.arange(4)}, some)
    with pytest.raises(ValueError, match="no float32"):
        graph.weighted({"edge": np.ones(2, dtype=np.float32)})
