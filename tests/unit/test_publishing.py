"""A release from end to end: what it holds, what it never holds, what is refused before data is read."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeIds, NodeType
from core.graphs.stored.whole import read_graph, write_graph
from core.methods import registry
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit
from core.publishing import bundle, release
from core.publishing.release import run_release
from core.publishing.spec import ReleaseTask
from core.reports.model import PublicPart
from tests.support.publishing import (
    NANO,
    SECRET,
    STEPS,
    USERS,
    Fixed,
    graph,
    public_of,
    publish,
    schema,
    spec,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of graph 1 whose synthetic part is graph 2."""
    out = tmp_path_factory.mktemp("released")
    publish(Fixed(graph(2)), graph(1), out)
    return out


def test_the_bundle_holds_the_named_files_and_the_manifest_tells_them_truly(released):
    job = released / "job"
    entries = json.loads((job / "manifest.json").read_text())
    roles = {entry["name"]: entry["role"] for entry in entries}
    assert roles == {
        "private/alignment.parquet": "private",
        "private/model/model.json": "private",
        "release/edges.parquet": "artifact",
        "release/graph.csv": "artifact",
        "release/graph.graphml": "artifact",
        "release/measurements.json": "artifact",
        "release/measurements.parquet": "artifact",
        "release/nodes.csv": "artifact",
        "release/nodes.parquet": "artifact",
        "release/public.json": "report",
        "release/schema.json": "artifact",
    }
    for entry in entries:
        content = (job / entry["name"]).read_bytes()
        assert entry["size_bytes"] == len(content)
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    named = public_of(released)["provenance"]["artifacts"]
    assert {a["name"]: a["sha256"] for a in named} == {
        e["name"].removeprefix("release/"): e["sha256"] for e in entries if e["role"] == "artifact"
    }
    assert {e["media_type"] for e in entries if e["name"].endswith(".csv")} == {"text/csv"}


def test_a_delimited_release_lists_every_node_beside_its_edges(released):
    release = released / "job" / "release"
    listed = pl.read_csv(release / "nodes.csv", infer_schema=False)
    assert listed["id"].to_list() == pq.read_table(release / "nodes.parquet")["id"].to_pylist()


def test_the_tables_are_plain_columns(released):
    nodes = pq.read_table(released / "job" / "release" / "nodes.parquet")
    edges = pq.read_table(released / "job" / "release" / "edges.parquet")
    assert nodes.column_names == ["id", "type", "region"]
    assert edges.column_names == ["source", "target", "type", "step"]
    assert {str(edges.schema.field(name).type) for name in ("source", "target", "type")} == {"string"}
    assert set(edges["type"].to_pylist()) == {"talks", "knows", "near"}
    timed = {
        kind: {row["step"] is not None for row in edges.to_pylist() if row["type"] == kind}
        for kind in ("talks", "knows", "near")
    }
    assert timed == {"talks": {True}, "knows": {False}, "near": {False}}
    assert set(edges["source"].to_pylist()) <= set(nodes["id"].to_pylist())
    assert nodes["id"].to_pylist()[0] == "user-000001"


def test_withheld_and_protected_attributes_ids_and_other_relations_are_nowhere(released):
    for path in (released / "job").rglob("*"):
        if path.is_file() and path.suffix == ".parquet":
            text = json.dumps(pq.read_table(path).to_pydict()) + str(pq.read_schema(path))
        elif path.is_file():
            text = path.read_text()
        else:
            continue
        for hidden in (SECRET, "123456789", "diagnosis", "income", "person-", "joins"):
            assert hidden not in text, (path.name, hidden)


def test_the_alignment_leads_every_edge_back_to_its_nodes(released):
    found = bundle.read_aligned(
        released / "job" / "release", released / "job" / "private" / "alignment.parquet"
    )
    synthetic, original = graph(2), graph(1)
    for name, expected in (("talks", synthetic), ("knows", synthetic), ("near", original)):
        ours, theirs = found.edges[name], expected.edges[name]
        assert ours.source.tolist() == theirs.source.tolist()
        assert ours.target.tolist() == theirs.target.tolist()
    assert found.edges["talks"].step.tolist() == synthetic.edges["talks"].step.tolist()


def test_public_attributes_move_with_their_nodes(released):
    nodes = pq.read_table(released / "job" / "release" / "nodes.parquet").to_pylist()
    aligned = pq.read_table(released / "job" / "private" / "alignment.parquet").to_pylist()
    users = [row["original"] for row in aligned if row["type"] == "user"]
    shown = [row["region"] for row in nodes if row["type"] == "user"]
    assert shown == [f"region-{index}" for index in users]
    assert sorted(users) == list(range(USERS))
    assert users != list(range(USERS))


def test_the_public_report_is_valid_and_says_what_was_paid(released):
    part = PublicPart.model_validate(public_of(released))
    assert (part.guarantee.kind, part.guarantee.epsilon, part.guarantee.unit) == ("pure", "1", Unit.EVENT)
    assert part.transcript.operations == STEPS + 1
    assert part.provenance.randomness == "operating system"
    assert {n.code for n in part.caveats} >= {"node_privacy_not_offered", "unit_event", "attributes_left_out"}
    assert [t.name for t in part.statistics.edge_types] == ["talks", "knows", "near"]
    assert part.parameters == {"extra_reads": 0, "edge_types": ["talks", "knows"]}
    assert "seconds" not in json.dumps(public_of(released))


def test_one_synthetic_graph_gives_one_public_part_whatever_the_original(tmp_path):
    sample = graph(9, NodeIds.PUBLIC)
    calls = [
        publish(Fixed(sample), graph(seed, NodeIds.PUBLIC), tmp_path / str(seed), measurements=False)
        for seed in (1, 2)
    ]
    first, second = ((tmp_path / str(seed) / "job" / "release") for seed in (1, 2))
    assert {p.name for p in first.iterdir()} == {p.name for p in second.iterdir()}
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name
    assert calls[0] == calls[1]  # progress tells nothing either


def test_public_ids_are_kept(tmp_path):
    publish(Fixed(graph(2, NodeIds.PUBLIC)), graph(1, NodeIds.PUBLIC), tmp_path)
    nodes = pq.read_table(tmp_path / "job" / "release" / "nodes.parquet").to_pylist()
    assert [row["id"] for row in nodes[:USERS]] == sorted(f"person-{i}@example.org" for i in range(USERS))


def test_pseudonyms_are_fresh_each_time_unless_a_public_dataset_seeds_them(tmp_path):
    def order(name: str, **changes: Any) -> bytes:
        publish(Fixed(graph(2)), graph(1), tmp_path / name, **changes)
        return (tmp_path / name / "job" / "release" / "edges.parquet").read_bytes()

    assert order("a") != order("b")
    assert order("c", seed=5) == order("d", seed=5)
    assert public_of(tmp_path / "c")["provenance"]["randomness"] == "seeded"
    assert "seeded_sampling" in {n["code"] for n in public_of(tmp_path / "c")["caveats"]}


def test_an_unmetered_fit_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(errors.UnmeteredFit):
        publish(Fixed(graph(2), metered=False), graph(1), tmp_path)
    assert not (tmp_path / "job").exists()


def test_a_fit_that_exceeds_its_plan_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(errors.PlanExceeded):
        publish(Fixed(graph(2)), graph(1), tmp_path, params={"extra_reads": 1})
    assert not (tmp_path / "job").exists()


def test_a_sample_with_another_universe_is_refused(tmp_path):
    small = GraphSchema(
        node_types=(NodeType(name="user", count=3), NodeType(name="group", count=1)),
        edge_types=(EdgeType(name="knows", source="user", target="user"),),
    )
    wrong = Graph.build(small, {"user": NodeTable(3), "group": NodeTable(1)}, {})
    with pytest.raises(errors.PrivacyViolation, match="does not match"):
        publish(Fixed(wrong), graph(1), tmp_path)
    assert not (tmp_path / "job").exists()


def refused(tmp_path: Path, wanted: type[Exception], asked: ReleaseTask, generator: Any = None) -> None:
    """The release is refused although only the public schema exists: no data can have been read."""
    folder = tmp_path / "schema-only"
    folder.mkdir()
    (folder / "schema.json").write_text(schema().model_dump_json())
    recorder = MemoryRecorder()
    method = registry.get(asked.release.method) if generator is None else generator
    with pytest.raises(wanted) as caught:
        release.publish(method, folder, asked, tmp_path / "job", recorder, lambda *_: None)
    assert type(caught.value) is wanted
    assert recorder.entries == []
    assert not (tmp_path / "job").exists()


def test_a_tampered_plan_is_refused_before_the_data_is_opened(tmp_path):
    generator = Fixed(graph(2))
    plan = spec(generator, schema()).plan
    plan["allotments"][0]["event"]["nano_epsilon"] //= 2
    refused(tmp_path, errors.PlanExceeded, spec(generator, schema(), plan=plan), generator)


def test_a_plan_of_other_parameters_is_refused(tmp_path):
    generator = registry.get("psgraph")
    plan = spec(generator, schema(), nano_epsilon=2 * NANO).plan
    refused(tmp_path, errors.PlanExceeded, spec(generator, schema(), plan=plan))


def test_a_plan_dearer_than_asked_is_refused(tmp_path):
    class Dear(Fixed):
        def plan(self, params, public):
            event = Pure(2 * public.nano_epsilon, "laplace")
            return PrivacyPlan(
                self.name, public.unit, None, public.schema.steps, (Allotment("knows", None, event, "x"),)
            )

    generator = Dear(graph(2))
    refused(tmp_path, errors.PlanExceeded, spec(generator, schema()), generator)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"params": {"surprise": 1}}, errors.InvalidInput),
        ({"edge_types": ("near",)}, errors.NotAccepted),
        ({"edge_types": ("nothing",)}, errors.NotAccepted),
        ({"formats": ("docx",)}, errors.UnknownFormat),
        ({"formats": ("matrix_market",)}, errors.NotAccepted),
        ({"plan": {"method": "fixed"}}, errors.InvalidInput),
    ],
)
def test_what_does_not_fit_is_refused_before_the_data_is_opened(tmp_path, changes, error):
    generator = Fixed(graph(2))
    plan = spec(generator, schema()).plan
    refused(tmp_path, error, spec(generator, schema(), **({"plan": plan} | changes)), generator)


def test_an_unknown_method_is_refused(tmp_path):
    asked = spec(Fixed(graph(2)), schema(), method="no-such-method")
    with pytest.raises(errors.UnknownMethod):
        run_release(
            graph_folder=tmp_path,
            task=asked,
            out=tmp_path / "job",
            recorder=MemoryRecorder(),
            progress=lambda *_: None,
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"window": 2},
        {"unit": "w-event", "window": None, "plan": {}},
        {"nano_epsilon": 0, "plan": {}},
        {"nano_epsilon": 1.5, "plan": {}},
        {"delta_atto": 10**18, "plan": {}},
        {"edge_types": (), "plan": {}},
        {"edge_types": ("knows", "knows"), "plan": {}},
        {"formats": ("csv", "csv")},
        {"seed": -1},
        {"surprise": 1},
    ],
)
def test_a_spec_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ValidationError):
        spec(Fixed(graph(2)), schema(), **({"plan": {}} | changes))


def test_a_child_process_without_any_environment_can_publish(tmp_path):
    """And it loads nothing that it does not ask for: each release pays for its own imports."""
    original = graph(4)
    write_graph(original, tmp_path / "original")
    asked = spec(registry.get("psgraph"), original.schema, formats=())
    (tmp_path / "spec.json").write_text(asked.model_dump_json())
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from core.privacy.accounting.meter import MemoryRecorder\n"
        "from core.publishing.release import run_release\n"
        "from core.publishing.spec import ReleaseTask\n"
        "work = Path(sys.argv[2])\n"
        "task = ReleaseTask.model_validate_json((work / 'spec.json').read_bytes())\n"
        "run_release(graph_folder=work / 'original', task=task, out=work / 'job',\n"
        "            recorder=MemoryRecorder(), progress=lambda *_: None)\n"
        "print(sorted({'sklearn', 'scipy.stats', 'networkx', 'torch'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(tmp_path)], env={}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    assert (tmp_path / "job" / "manifest.json").exists()
    assert read_graph(tmp_path / "original").edges["talks"].count == original.edges["talks"].count
