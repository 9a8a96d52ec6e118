"""Protected attributes of nodes, in a release: drawn with its edges where asked for, else nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import PrivacyViolation
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing import bundle, release, sample
from core.publishing.checks import released_schema
from core.publishing.evaluate import run_evaluation
from core.reports.evidence import CuratorPart
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from tests.support.publishing import Fixed, evaluation, public_of, publish, spec

NODES = 60
PARTY = Attribute(name="party", protection="protected", categories=("left", "right"), label=True)
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(18, 65))
CITY = Attribute(name="city", protection="public")
NOTE = Attribute(name="note", protection="withheld")
SCHEMA = GraphSchema(
    node_types=(NodeType(count=NODES, attributes=(AGE, PARTY, CITY, NOTE)),),
    edge_types=(EdgeType(name="knows"),),
)
ASKED: dict[str, Any] = {
    "unit": Unit.EDGE,
    "edge_types": ("knows",),
    "formats": ("csv", "graphml", "node_link"),
    "nano_epsilon": 20 * 10**9,  # so that there are edges
}
SHARE = {"node_attribute_share": 0.2}


def original() -> Graph:
    """Two parties, each of one parity, linked inside; the young are on the left."""
    left = np.arange(NODES) % 2 == 0
    source, target = np.triu_indices(NODES, 1)
    kept = (source % 2 == target % 2) & (np.random.default_rng(1).random(len(source)) < 0.4)
    columns = {
        "party": pa.array(np.where(left, "left", "right").tolist()),
        "age": np.where(left, 12.5, 70.5),
        "city": pa.array([f"city-{node % 3}" for node in range(NODES)]),
        "note": pa.array([f"secret-{node}" for node in range(NODES)]),
    }
    table = NodeTable(NODES, None, columns)
    return Graph.build(SCHEMA, {"node": table}, {"knows": EdgeTable(source[kept], target[kept])})


def synthesised(tmp_path: Path, **changes: Any) -> Path:
    """A release by a method that was asked for what nodes carry."""
    write_graph(original(), tmp_path / "original")
    recorder, generator = MemoryRecorder(), registry.get("dcsbm")
    asked = spec(generator, SCHEMA, **(ASKED | {"params": SHARE} | changes))
    release.publish(generator, tmp_path / "original", asked, tmp_path / "job", recorder, lambda *_: None)
    (tmp_path / "job" / "schema.json").write_text(SCHEMA.model_dump_json())
    entries = [entry.to_json() for entry in recorder.entries]
    (tmp_path / "job" / "transcript.json").write_text(json.dumps(entries))
    return tmp_path / "job"


def aligned(job: Path) -> Graph:
    return bundle.read_aligned(job / "release", job / "private" / "alignment.parquet")


def test_a_release_that_was_not_asked_for_them_holds_none_even_if_the_sample_does(tmp_path: Path) -> None:
    publish(Fixed(original()), original(), tmp_path, **ASKED)
    declared = GraphSchema.model_validate_json((tmp_path / "job" / "release" / "schema.json").read_bytes())
    assert [each.name for each in declared.node_types[0].attributes] == ["city"]
    assert pq.read_table(tmp_path / "job" / "release" / "nodes.parquet").column_names == [
        "id",
        "type",
        "city",
    ]
    assert "attributes_left_out" in {each["code"] for each in public_of(tmp_path)["caveats"]}


def test_a_release_has_synthetic_values_beside_public_ones_that_are_copied(tmp_path: Path) -> None:
    job = synthesised(tmp_path)
    declared = GraphSchema.model_validate_json((job / "release" / "schema.json").read_bytes())
    assert {each.name: str(each.protection) for each in declared.node_types[0].attributes} == {
        "age": "protected",
        "party": "protected",
        "city": "public",
    }
    table = pq.read_table(job / "release" / "nodes.parquet")
    assert set(table["party"].to_pylist()) == {"left", "right"}
    assert all(0 <= age <= 90 for age in table["age"].to_pylist())
    order = bundle.read_alignment(job / "private" / "alignment.parquet")["node"]
    assert table["city"].to_pylist() == [f"city-{node % 3}" for node in order]
    back = aligned(job).nodes["node"].attributes
    assert back["party"].take(pa.array(order)).to_pylist() == table["party"].to_pylist()
    assert back["age"][order].tolist() == table["age"].to_pylist()
    assert "note" not in table.column_names
    assert not any(b"secret-" in path.read_bytes() for path in (job / "release").iterdir())


@pytest.mark.parametrize("form", ["csv", "tsv", "graphml", "gml", "node_link"])
def test_every_format_of_a_release_holds_the_nodes_values(tmp_path: Path, form: str) -> None:
    job = synthesised(tmp_path, formats=(form,))
    written = {path.name: path.read_bytes() for path in (job / "release").iterdir()}
    party = pq.read_table(job / "release" / "nodes.parquet")["party"].to_pylist()
    text = b"".join(content for name, content in written.items() if name.endswith(_ENDINGS[form])).decode()
    assert all(text.count(each) >= party.count(each) for each in ("left", "right"))


_ENDINGS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "graphml": ".graphml",
    "gml": ".gml",
    "node_link": "graph.json",
}


def test_a_report_says_what_is_synthesised_and_what_covers_a_row_by_itself(tmp_path: Path) -> None:
    synthesised(tmp_path)
    part = public_of(tmp_path)
    told = {each["code"]: each["text"] for each in part["caveats"]}
    assert "attributes_left_out" not in told
    text = told["node_values_synthesised"]
    assert "party, age of node" in text
    assert "at epsilon 20" in text
    assert "at most 4 says" in text
    assert "Not part of this release: note of node." in text
    statement = part["guarantee"]["statement"]
    assert "For one node's row of protected attributes, replaced by any other row" in statement
    assert part["guarantee"]["epsilon"] == "20"


def test_a_further_sample_draws_edges_anew_and_a_comparison_reads_labels(tmp_path: Path) -> None:
    job, generator = synthesised(tmp_path), registry.get("dcsbm")
    again = spec(generator, SCHEMA, job_id="job-2", sample_of="job-1", params=SHARE, **ASKED)
    sample.draw(generator, job, again, tmp_path / "again", lambda *_: None)
    drawn = [aligned(each) for each in (job, tmp_path / "again")]
    assert all(set(each.nodes["node"].attributes) == {"age", "party"} for each in drawn)
    assert not np.array_equal(drawn[0].edges["knows"].target, drawn[1].edges["knows"].target)
    asked = evaluation(
        method="dcsbm", suite="standard", params=SHARE, shadows=1, shadow_links=10**6, **_evaluated()
    )
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=job,
        spec=asked,
        out=tmp_path / "evaluation",
        progress=lambda *_: None,
    )
    part = json.loads((tmp_path / "evaluation" / "curator.json").read_text())
    found = {each["name"]: each["row"] for each in part["comparison"]["edge_types"][0]["node_values"]}
    assert set(found) == {"party", "age"}
    assert found["party"]["scalars"]["node_value_assortativity"]["original"] == pytest.approx(1)
    assert 0 <= found["party"]["distances"]["node_value_mixing_distance"] <= 1
    public = PublicPart.model_validate(public_of(tmp_path))
    report = Report(public=public, curator=CuratorPart.model_validate(part))
    assert "What nodes carry: party" in render(report)
    assert "What nodes carry: party" in markdown(report)


def _evaluated() -> dict[str, Any]:
    return {name: value for name, value in ASKED.items() if name != "formats"}


def test_a_sample_without_what_the_release_declares_is_a_violation() -> None:
    declared = released_schema(SCHEMA, ("knows",), node_values=True)
    bare = Graph.build(SCHEMA, {}, {"knows": original().edges["knows"]})
    with pytest.raises(PrivacyViolation):
        release.dress(bare, original(), declared, ("knows",), np.random.default_rng(1))
