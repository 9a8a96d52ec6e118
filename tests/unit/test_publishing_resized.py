"""A release at another number of nodes: what it tells and leaves out, how it is compared, and who may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, NodeType, Protection
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing import checks
from core.publishing.evaluate import run_evaluation
from core.publishing.release import run_release
from core.publishing.sample import run_sample
from core.publishing.spec import ReleaseTask
from core.reports.html.render import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from tests.support.publishing import evaluation, spec

NODES = 60
EDGES = EdgeType(name="knows", source="person", target="person", edge_bound=300)
SCHEMA = GraphSchema(node_types=(NodeType(name="person", count=NODES),), edge_types=(EDGES,))
METHOD = registry.get("degree_triangle")


def quiet(*_: Any) -> None:
    """Take no notice of progress."""


def asked(**changes: Any) -> ReleaseTask:
    values = {"edge_types": ("knows",), "unit": Unit.EDGE, "params": METHOD.Params().model_dump(mode="json")}
    return spec(METHOD, SCHEMA, **{"formats": ("csv",), **values, **changes})


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A release of three times the original's nodes, and what a further sample of it finds."""
    rng = np.random.default_rng(5)
    original = Graph.build(
        SCHEMA, {"person": NodeTable(NODES)}, {"knows": EdgeTable(*rng.integers(0, NODES, (2, 250)))}
    )
    write_graph(original, tmp_path / "original")
    recorder = MemoryRecorder()
    run_release(
        graph_folder=tmp_path / "original",
        task=asked(size={"nodes": 3 * NODES, "of": NODES}),
        out=tmp_path / "job",
        recorder=recorder,
        progress=quiet,
    )
    (tmp_path / "job" / "schema.json").write_text(SCHEMA.model_dump_json())
    transcript = [entry.to_json() for entry in recorder.entries]
    (tmp_path / "job" / "transcript.json").write_text(json.dumps(transcript))
    return tmp_path


def public(folder: Path) -> PublicPart:
    return PublicPart.model_validate_json((folder / "release" / "public.json").read_bytes())


def test_the_release_says_at_which_size_it_was_drawn_and_costs_what_it_would(published: Path) -> None:
    part = public(published / "job")
    assert part.statistics.nodes == {"person": 3 * NODES}
    assert part.provenance.size is not None
    assert (part.provenance.size.nodes, part.provenance.size.of) == (3 * NODES, NODES)
    assert "another_size" in {notice.code for notice in part.caveats}
    assert part.guarantee.epsilon == "1"
    release = published / "job" / "release"
    assert pq.read_metadata(release / "nodes.parquet").num_rows == 3 * NODES
    # What was measured is of the original's nodes, and no declared bound of its holds here.
    assert not list(release.glob("measurement*"))
    declared = GraphSchema.model_validate_json((release / "schema.json").read_bytes())
    assert (declared.node_types[0].count, declared.edge_types[0].edge_bound) == (3 * NODES, None)
    assert "size" not in asked().model_dump(mode="json")["release"]


@pytest.mark.parametrize("size", [{"nodes": 3 * NODES, "of": NODES}, {"nodes": 25, "of": NODES}])
def test_its_model_is_that_of_the_original_and_draws_any_size_again(published: Path, size: Any) -> None:
    task = asked(job_id="job-2", sample_of="job-1", size=size)
    run_sample(source=published / "job", task=task, out=published / "again", progress=quiet)
    part = public(published / "again")
    assert part.statistics.nodes == {"person": size["nodes"]}
    assert part.provenance.sample_of == "job-1"
    assert part.transcript == public(published / "job").transcript


def test_counts_are_compared_in_proportion_and_nobody_is_looked_for(published: Path) -> None:
    run_evaluation(
        graph_folder=published / "original",
        release_folder=published / "job",
        spec=evaluation(
            suite="standard",
            method=METHOD.name,
            params=asked().release.params,
            unit=Unit.EDGE,
            nano_epsilon=asked().release.nano_epsilon,
            edge_types=("knows",),
            size={"nodes": 3 * NODES, "of": NODES},
        ),
        out=published,
        progress=quiet,
    )
    found = json.loads((published / "curator.json").read_text())
    report = Report(public=public(published / "job"), curator=found)
    assert report.curator is not None
    assert report.curator.comparison.scaled == 3
    edges = report.curator.comparison.edge_types[0].means.scalars["edges"]
    assert edges.original == pytest.approx(3 * original_edges(published))
    assert report.curator.attacks.degree_signature is None
    assert not report.curator.attacks.inference
    assert not report.curator.tasks
    assert report.curator.warnings[0].code == "scaled_comparison"
    for shown in (render(report), markdown(report)):
        assert "times the original" in shown


def original_edges(folder: Path) -> int:
    from core.publishing.original import read_original

    return read_original(folder / "original", snapshot=False, protected_values=False).edges["knows"].count


def refused(method: str, params: dict[str, Any], schema: GraphSchema, **released: bool) -> str:
    names = [each.name for each in schema.edge_types if not each.public]
    with pytest.raises(NotAccepted) as refusal:
        checks.check_size(method, params, schema, checks.released_schema(schema, names, **released))
    assert refusal.value.members["field"] == "size"
    return refusal.value.message


def test_methods_that_cannot_are_refused_by_name_and_those_that_can_are_named() -> None:
    said = refused("edgerand", {}, SCHEMA)
    assert said.startswith("edgerand ")
    assert "dcsbm" in said
    assert "degree_triangle" in said
    structures = {"structures": {"knows": {"method": "tmf"}}}
    assert refused("composed", structures, SCHEMA).startswith("tmf ")


def test_what_belongs_to_single_nodes_of_the_original_is_refused() -> None:
    kind = NodeType(name="person", count=NODES, attributes=(Attribute(name="age", protection="public"),))
    other = NodeType(name="place", count=5)
    near = EdgeType(name="near", source="person", target="person", public=True)
    for changed in (
        SCHEMA.model_copy(update={"node_types": (kind,)}),
        SCHEMA.model_copy(update={"node_types": (*SCHEMA.node_types, other)}),
        SCHEMA.model_copy(update={"edge_types": (*SCHEMA.edge_types, near)}),
        SCHEMA.model_copy(update={"node_ids": NodeIds.PUBLIC}),
    ):
        assert "Another number of nodes is not drawn of" in refused("dcsbm", {}, changed)
    protected = Attribute(
        name="age", protection=Protection.PROTECTED, kind="category", categories=("young", "old")
    )
    schema = SCHEMA.model_copy(update={"node_types": (kind.model_copy(update={"attributes": (protected,)}),)})
    assert "carry=false" in refused("dcsbm", {}, schema, node_values=True)
