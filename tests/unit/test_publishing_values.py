"""What edges carry, in a release: of public relations copied, of protected ones nowhere, and said so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.whole import read_graph, write_graph
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

NODES, LINKS = 30, 90
SECRET = 987654
AMOUNT = EdgeAttribute(name="amount", kind="integer", bounds=(0, 10**6), aggregate="sum")
WEIGHT = EdgeAttribute(name="weight", kind="number", bounds=(0, 1))
SIGN = EdgeAttribute(name="sign", kind="category", categories=("minus", "plus"))
SCHEMA = GraphSchema(
    node_types=(NodeType(count=NODES),),
    edge_types=(
        EdgeType(name="pays", attributes=(AMOUNT,)),
        EdgeType(
            name="near", public=True, attributes=(WEIGHT, SIGN), multiplicity="each", records_per_slot=9
        ),
    ),
)


def original(seed: int = 0, schema: GraphSchema = SCHEMA) -> Graph:
    """Random links; every payment is of the secret amount, and what is near is the same for all seeds."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(9)
    columns = {
        "weight": fixed.integers(0, 9, LINKS) / 8,
        "sign": fixed.integers(0, 2, LINKS).astype(np.int32),
    }
    amounts = EdgeValues({"amount": np.full(NODES, SECRET, dtype=np.int32)})
    ring = np.arange(NODES), (np.arange(NODES) + 1 + rng.integers(0, NODES - 2)) % NODES
    edges = {
        "pays": EdgeTable(*ring, None, amounts),
        "near": EdgeTable(*fixed.integers(0, NODES // 3, (2, LINKS)), None, EdgeValues(columns)),
    }
    return Graph.build(schema, {}, edges)


def releases(generator: Any, out: Path, **changes: Any) -> Path:
    asked = {
        "unit": Unit.EDGE,
        "edge_types": ("pays",),
        "formats": ("csv", "graphml", "node_link"),
        **changes,
    }
    publish(generator, original(), out, **asked)
    return out / "job"


def test_no_value_of_a_protected_relation_is_released_even_if_the_sample_carries_some(tmp_path: Path) -> None:
    job = releases(Fixed(original(1)), tmp_path)
    declared = GraphSchema.model_validate_json((job / "release" / "schema.json").read_bytes())
    assert declared == released_schema(SCHEMA, ("pays",))
    assert declared.edge_type("pays").attributes == ()
    table = pq.read_table(job / "release" / "edges.parquet")
    assert "amount" not in table.column_names
    for path in (job / "release").iterdir():
        if path.suffix != ".parquet" and path.name != "public.json":
            assert b"amount" not in path.read_bytes()
            assert str(SECRET).encode() not in path.read_bytes()


def test_what_edges_of_a_public_relation_carry_is_copied(tmp_path: Path) -> None:
    job = releases(Fixed(original(1)), tmp_path)
    back = bundle.read_aligned(job / "release", job / "private" / "alignment.parquet")
    expected = original().edges["near"]
    assert back.edges["near"].values.edge.tolist() == expected.values.edge.tolist()
    for name, column in expected.values.columns.items():
        assert back.edges["near"].values.columns[name].tolist() == column.tolist()
    rows = pq.read_table(job / "release" / "edges.parquet")
    near = rows.filter(np.array(rows["type"].to_pylist()) == "near")
    assert near.num_rows == expected.values.count > expected.count
    assert set(near["sign"].to_pylist()) == {"minus", "plus"}
    assert "sign" in (job / "release" / "graph.csv").read_text().splitlines()[0]


def test_a_report_and_a_plan_say_in_one_sentence_what_is_left_out(tmp_path: Path) -> None:
    releases(Fixed(original(1)), tmp_path)
    told = [each for each in public_of(tmp_path)["caveats"] if each["code"] == "edge_attributes_left_out"]
    assert [each["text"] for each in told] == [
        "What edges carry is not synthesised, and is not part of this release: amount of pays."
    ]


def test_the_public_part_is_the_same_whatever_the_edges_carry(tmp_path: Path) -> None:
    parts = []
    for name, amount in (("one", 1), ("other", 2)):
        graph = original()
        held = EdgeValues({"amount": np.full(graph.edges["pays"].count, amount, dtype=np.int32)})
        table = graph.edges["pays"]
        carried = EdgeTable(table.source, table.target, None, held)
        again = Graph.build(SCHEMA, {}, {"near": graph.edges["near"], "pays": carried})
        publish(
            Fixed(original(1)),
            again,
            tmp_path / name,
            unit=Unit.EDGE,
            edge_types=("pays",),
            formats=(),
            seed=7,
            measurements=False,  # their noise is never the same twice
        )
        found = public_of(tmp_path / name)
        found["provenance"].pop("artifacts")
        parts.append(json.dumps(found))
    assert parts[0] == parts[1]


def test_a_further_sample_copies_what_public_edges_carry(tmp_path: Path) -> None:
    write_graph(original(), tmp_path / "original")
    recorder, generator = MemoryRecorder(), Fixed(original(1))
    asked = {"unit": Unit.EDGE, "edge_types": ("pays",), "formats": ()}
    release.publish(
        generator,
        tmp_path / "original",
        spec(generator, SCHEMA, **asked),
        tmp_path / "job",
        recorder,
        lambda *_: None,
    )
    (tmp_path / "job" / "schema.json").write_text(SCHEMA.model_dump_json())
    entries = [entry.to_json() for entry in recorder.entries]
    (tmp_path / "job" / "transcript.json").write_text(json.dumps(entries))
    again = spec(generator, SCHEMA, job_id="job-2", sample_of="job-1", **asked)
    sample.draw(Fixed(original(2)), tmp_path / "job", again, tmp_path / "again", lambda *_: None)
    release_folder = tmp_path / "again" / "release"
    back = bundle.read_aligned(release_folder, tmp_path / "again" / "private" / "alignment.parquet")
    assert back.edges["near"].values.columns["sign"].tolist() == (
        original().edges["near"].values.columns["sign"].tolist()
    )
    assert back.edges["pays"].values is None


@pytest.mark.parametrize("method", ["dcsbm", "random_rewire"])
def test_methods_take_a_graph_whose_edges_carry_values(tmp_path: Path, method: str) -> None:
    generator = registry.get(method)
    job = releases(generator, tmp_path, formats=())
    assert read_graph(tmp_path / "original").edges["pays"].values is not None
    assert "amount" not in pq.read_table(job / "release" / "edges.parquet").column_names
    asked = evaluation(method=method, unit=Unit.EDGE, nano_epsilon=10**9, edge_types=("pays",), suite="quick")
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=job,
        spec=asked,
        out=tmp_path / "evaluation",
        progress=lambda *_: None,
    )
    assert (tmp_path / "evaluation" / "curator.json").exists()


def synthesised(tmp_path: Path, **params: Any) -> tuple[Path, MemoryRecorder]:
    """A release by a method that was asked for what edges carry, and its transcript."""
    write_graph(original(), tmp_path / "original")
    recorder, generator = MemoryRecorder(), registry.get("dcsbm")
    asked = spec(generator, SCHEMA, **ASKED, params={"attribute_share": 0.4, **params})
    release.publish(generator, tmp_path / "original", asked, tmp_path / "job", recorder, lambda *_: None)
    (tmp_path / "job" / "schema.json").write_text(SCHEMA.model_dump_json())
    entries = [entry.to_json() for entry in recorder.entries]
    (tmp_path / "job" / "transcript.json").write_text(json.dumps(entries))
    return tmp_path / "job", recorder


ASKED = {
    "unit": Unit.EDGE,
    "edge_types": ("pays",),
    "formats": ("csv", "graphml", "node_link"),
    "nano_epsilon": 20 * 10**9,  # so that there are edges
}


def test_a_method_that_is_asked_for_them_releases_values_in_every_format(tmp_path: Path) -> None:
    job, recorder = synthesised(tmp_path)
    declared = GraphSchema.model_validate_json((job / "release" / "schema.json").read_bytes())
    assert declared.edge_type("pays").attributes == (AMOUNT,)
    back = bundle.read_aligned(job / "release", job / "private" / "alignment.parquet")
    pays = back.edges["pays"]
    assert pays.count == pays.values.count > 0
    assert 0 <= pays.values.columns["amount"].min() <= pays.values.columns["amount"].max() <= 10**6
    for name in ("graph.csv", "graph.graphml", "graph.json"):
        assert b"amount" in (job / "release" / name).read_bytes()
    spent = sum(each.event.nano_epsilon for each in recorder.entries)
    assert spent <= 20 * 10**9
    reads = [each.event.nano_epsilon for each in recorder.entries if "amount" in each.purpose]
    assert sum(reads) == 8 * 10**9


@pytest.mark.parametrize("form", ["csv", "tsv", "graphml", "gml", "node_link", "matrix_market", "npz"])
def test_every_format_of_a_release_holds_its_values(tmp_path: Path, form: str) -> None:
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(SCHEMA.edge_types[0],))
    of = Graph.build(schema, {}, {"pays": original().edges["pays"]})
    asked = {**ASKED, "formats": (form,), "params": {"attribute_share": 0.4}}
    publish(registry.get("dcsbm"), of, tmp_path, **asked)
    folder = tmp_path / "job" / "release"
    (path,) = folder.glob("graph.*")
    expected = pq.read_table(folder / "edges.parquet")["amount"].to_pylist()
    if form == "npz":
        arrays = [np.ravel(array).tolist() for array in np.load(path).values() if array.dtype.kind in "if"]
        assert any(set(each) == set(expected) for each in arrays)  # an undirected edge has two entries
    else:
        text = path.read_text()
        assert all(str(amount) in text for amount in expected)


def test_a_report_says_what_is_synthesised_and_what_covers_a_changed_value(tmp_path: Path) -> None:
    synthesised(tmp_path)
    part = public_of(tmp_path)
    told = {each["code"]: each["text"] for each in part["caveats"]}
    assert "edge_attributes_left_out" not in told
    assert "amount of pays" in told["edge_values_synthesised"]
    assert "epsilon 16, twice" in told["edge_values_synthesised"]
    assert part["parameters"]["attribute_share"] == 0.4
    assert part["guarantee"]["epsilon"] == "20"


def test_a_further_sample_draws_values_anew_and_a_comparison_reads_them(tmp_path: Path) -> None:
    job, _ = synthesised(tmp_path)
    generator = registry.get("dcsbm")
    params = {"attribute_share": 0.4}
    again = spec(generator, SCHEMA, job_id="job-2", sample_of="job-1", params=params, **ASKED)
    sample.draw(generator, job, again, tmp_path / "again", lambda *_: None)
    drawn = [
        bundle.read_aligned(each / "release", each / "private" / "alignment.parquet").edges["pays"]
        for each in (job, tmp_path / "again")
    ]
    assert all(each.values.count == each.count for each in drawn)
    assert drawn[0].values.columns["amount"].tolist() != drawn[1].values.columns["amount"].tolist()
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=job,
        spec=evaluation(
            method="dcsbm",
            unit=Unit.EDGE,
            nano_epsilon=20 * 10**9,
            edge_types=("pays",),
            suite="standard",
            params=params,
            shadows=1,
            shadow_links=10**6,
        ),
        out=tmp_path / "evaluation",
        progress=lambda *_: None,
    )
    part = json.loads((tmp_path / "evaluation" / "curator.json").read_text())
    (carried,) = part["comparison"]["edge_types"][0]["values"]
    assert carried["name"] == "amount"
    assert carried["row"]["scalars"]["value_mean"]["original"] == SECRET
    assert 0 <= carried["row"]["distances"]["value_distance"] <= 1
    public = PublicPart.model_validate(public_of(tmp_path))
    report = Report(public=public, curator=CuratorPart.model_validate(part))
    assert "What edges carry: amount" in render(report)
    assert "What edges carry: amount" in markdown(report)
