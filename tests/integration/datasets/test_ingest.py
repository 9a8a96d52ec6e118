"""Validation under a lease: ready, rejected, proposed, tried again, lost."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr
from sqlalchemy import func, update
from structlog.testing import capture_logs

from core.datasets import repository
from core.datasets.models import Dataset, DatasetVersion
from core.errors import InvalidInput, InvalidTransition, LeaseLost, NotFound, StorageError
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.stored.whole import read_graph
from core.identity.models import Role
from core.outbox.models import Topic
from core.workflows.datasets import ingest, ingest_work, queries
from core.workflows.datasets.register import confirm_schema
from core.workflows.operations import leased, recover
from tests.integration.datasets.conftest import EDGES, SCHEMA, Curator


def let_lease_run_out(curator: Curator, version_id: str) -> None:
    with curator.services.db.transaction() as session:
        gone = func.now() - timedelta(seconds=1)
        session.execute(
            update(DatasetVersion).where(DatasetVersion.id == version_id).values(lease_expires_at=gone)
        )


def test_from_registration_to_a_ready_graph(
    curator: Curator, tmp_path: Path, work_files: Callable[[], list[Path]]
) -> None:
    dataset = curator.register()
    version = curator.send(dataset)
    work = curator.begin(version)
    assert stat.S_IMODE(work.folder.stat().st_mode) == 0o700
    assert work.files["edges"].path.read_bytes() == EDGES
    assert work.fingerprint_key.hex() not in repr(work)
    assert ingest.begin_ingest(curator.services, version.id, "worker-2") is None
    ingest.fail_ingest(curator.services, work)

    finished = curator.validate(version)
    assert (finished.state, finished.finished_at is not None) == ("ready", True)
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.current_version) == ("ready", 1)
    assert view.version is not None
    assert view.version.ingest_report is not None
    assert view.version.ingest_report["loops_dropped"] == 1
    assert "fingerprint" not in view.version.ingest_report
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    seen = queries.get_dataset(curator.services, requester, dataset.id)
    assert (seen.proposed_schema, seen.version, seen.graph_schema) == (
        None,
        None,
        SCHEMA.model_dump(mode="json"),
    )

    ingest.fetch_graph(curator.services, dataset.id, version.id, tmp_path / "graph")
    graph = read_graph(tmp_path / "graph")
    assert graph.schema == SCHEMA
    assert np.stack([graph.edges["edge"].source, graph.edges["edge"].target]).tolist() == [
        [0, 0, 1, 3],
        [1, 2, 2, 4],
    ]
    assert [key.rsplit("/", 1)[1] for key in curator.objects()] == ["graph-2"]  # the upload itself is gone
    assert work_files() == []


def test_a_rejected_upload_tells_its_curator_where(curator: Curator) -> None:
    dataset = curator.register()
    rejected = curator.validate(curator.send(dataset, b"source,target\n0,1\n0,99\n"))
    assert rejected.state == "rejected"
    assert rejected.findings
    assert rejected.findings[0]["file"] == "edges"
    assert rejected.findings[0]["line"] == 3
    assert curator.objects() == []
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.current_version) == ("rejected", None)
    assert view.version is not None
    assert view.version.ingest_report is not None
    assert "message" in view.version.ingest_report
    with pytest.raises(NotFound):
        ingest.fetch_graph(curator.services, dataset.id, rejected.id, Path("/nonexistent"))
    assert curator.validate(curator.send(dataset)).number == 2
    assert queries.get_dataset(curator.services, curator.principal, dataset.id).state == "ready"


def test_logs_say_nothing_of_the_content(curator: Curator) -> None:
    with capture_logs() as lines:
        curator.ready(name="one")
        curator.validate(curator.send(curator.register(name="two"), b"source,target\n0,99\n"))
        curator.validate(curator.send(curator.register(name="three", graph_schema=None)))
    assert {line["event"] for line in lines} >= {"part_received", "version_ready", "version_rejected"}
    told = {"event", "log_level", "logger_name", "dataset_id", "version_id", "part"}
    assert all(set(line) <= told for line in lines)


@pytest.mark.parametrize("name", ["master_key", "fingerprint_key"])
def test_a_worker_without_keys_takes_no_work(curator: Curator, name: str) -> None:
    version = curator.send(curator.register())
    settings = curator.services.settings.model_copy(update={name: SecretStr("")})
    with pytest.raises(InvalidInput, match=f"GRAPHVEIL_{name.upper()}"):
        ingest.begin_ingest(replace(curator.services, settings=settings), version.id, "blind")
    assert curator.begin(version).attempt == 1


def test_findings_are_limited(curator: Curator) -> None:
    version = curator.send(curator.register())
    many = [{"file": "edges", "line": n, "column": None, "message": "x"} for n in range(500)]
    rejected = ingest.reject_ingest(curator.services, curator.begin(version), many, "broken")
    assert rejected.findings is not None
    assert len(rejected.findings) == curator.services.settings.max_findings


def test_a_proposed_schema_waits_for_its_curator(curator: Curator, tmp_path: Path) -> None:
    dataset = curator.register(graph_schema=None)
    version = curator.send(dataset, b"source,target\nann,bob\nbob,cy\n")
    proposed = curator.validate(version)
    assert proposed.state == "proposed"
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.graph_schema) == ("proposed", None)
    assert view.proposed_schema is not None
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    seen = queries.get_dataset(curator.services, requester, dataset.id)
    assert (seen.state, seen.proposed_schema) == (
        "registered",
        None,
    )  # what became of it follows from its content
    temporal = {**view.proposed_schema, "time": {"count": 3}}
    temporal["edge_types"] = [{**temporal["edge_types"][0], "temporal": True}]
    with pytest.raises(InvalidInput, match="unit"):
        confirm_schema(curator.services, curator.principal, dataset.id, GraphSchema.model_validate(temporal))

    schema = GraphSchema.model_validate(view.proposed_schema)
    confirmed = confirm_schema(curator.services, curator.principal, dataset.id, schema)
    assert (confirmed.state, confirmed.proposed_schema) == ("validating", None)
    finished = curator.validate(version)
    assert finished.state == "ready", finished.findings
    ingest.fetch_graph(curator.services, dataset.id, version.id, tmp_path / "graph")
    assert read_graph(tmp_path / "graph").edges["edge"].count == 2
    assert len(curator.objects()) == 1
    with pytest.raises(InvalidTransition):
        confirm_schema(curator.services, curator.principal, dataset.id, schema)


def test_a_proposal_takes_its_own_file(curator: Curator, tmp_path: Path) -> None:
    """Dialect, roles and dates are kept with the parts: confirmed, they are read without a guess."""
    dataset = curator.register(graph_schema=None, unit="event")
    curator.send(dataset, "Id;full name;timeset\r1;Ann;\r2;Bob;\r3;Cy;\r".encode("utf-16"), part="nodes")
    edges = "sep=;\nvon;nach;Tag;Betrag;leer\n1; 2;31.12.2023;0,5;\n2;3;01.01.2024;1,5;\n".encode("latin-1")
    version = curator.send(dataset, edges)
    proposed = curator.validate(version)
    assert proposed.state == "proposed", proposed.findings
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert view.version is not None
    reading = next(each for each in view.version.readings if each.part == "edges")
    assert [column.called for column in reading.columns] == ["source", "target", "time", "Betrag", "-"]
    assert all(column.why for column in reading.columns)
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    assert queries.get_dataset(curator.services, requester, dataset.id).version is None

    schema = GraphSchema.model_validate(view.proposed_schema)
    confirm_schema(curator.services, curator.principal, dataset.id, schema)
    finished = curator.validate(version)
    assert finished.state == "ready", finished.findings
    ingest.fetch_graph(curator.services, dataset.id, version.id, tmp_path / "graph")
    table = read_graph(tmp_path / "graph").edges["edge"]
    assert table.values is not None
    assert (table.count, sorted(table.values.columns["Betrag"].tolist())) == (2, [0.5, 1.5])


def test_what_must_be_asked_is_told_to_curators_alone(curator: Curator) -> None:
    dataset = curator.register(graph_schema=None)
    version = curator.send(dataset, b"u,v\nv,w\n")
    proposed = curator.validate(version)
    assert proposed.state == "proposed", proposed.findings
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert view.version is not None
    (reading,) = view.version.readings
    (question,) = [each for each in reading.questions if each.must_be_answered]
    assert {answer.mapping["header"] for answer in question.answers} == {"true", "false"}
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    seen = queries.get_dataset(curator.services, requester, dataset.id)
    assert (seen.state, seen.version) == ("registered", None)
    schema = GraphSchema.model_validate(view.proposed_schema)
    with pytest.raises(InvalidInput, match="may be a header or a record"):
        confirm_schema(curator.services, curator.principal, dataset.id, schema)
    options = question.answers[0].mapping
    assert curator.validate(curator.send(dataset, b"u,v\nv,w\n", options=options)).state == "proposed"


def test_a_declared_universe_takes_the_place_of_the_derived_one(curator: Curator) -> None:
    dataset = curator.register(graph_schema=None)
    version = curator.send(dataset, b"source,target\n0,1\n1,3\n")
    curator.validate(version)
    schema = GraphSchema(node_types=(NodeType(count=5),), edge_types=(EdgeType(),))
    confirm_schema(curator.services, curator.principal, dataset.id, schema)
    finished = curator.validate(version)
    assert finished.state == "ready", finished.findings
    assert finished.ingest_report is not None
    assert finished.ingest_report["nodes"] == {"node": 5}


def refused_after_its_proposal(curator: Curator) -> tuple[Dataset, DatasetVersion, GraphSchema]:
    """An upload whose proposal was confirmed with too few nodes."""
    dataset = curator.register(graph_schema=None)
    version = curator.send(dataset, b"source,target\n0,1\n1,3\n")
    curator.validate(version)
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    fewer = GraphSchema(node_types=(NodeType(count=2),))
    confirm_schema(curator.services, curator.principal, dataset.id, fewer)
    assert curator.validate(version).state == "rejected"
    return dataset, version, GraphSchema.model_validate(view.proposed_schema)


def test_another_schema_validates_the_kept_file_again(curator: Curator) -> None:
    dataset, version, schema = refused_after_its_proposal(curator)
    confirmed = confirm_schema(curator.services, curator.principal, dataset.id, schema)
    assert confirmed.state == "validating"
    finished = curator.validate(version)
    assert finished.state == "ready", finished.findings
    assert finished.ingest_report is not None
    assert finished.ingest_report["nodes"] == {"node": 3}
    assert len(curator.objects()) == 1


def test_a_newer_upload_takes_the_place_of_a_kept_file(curator: Curator) -> None:
    dataset, version, _ = refused_after_its_proposal(curator)
    assert len(curator.objects()) == 2
    second = curator.send(dataset, b"source,target\n0,1\n")
    assert len(curator.objects()) == 1
    assert curator.validate(second).state == "ready"
    with curator.services.db.transaction() as session:
        assert not repository.parts(session, [version.id])


def test_a_newer_upload_takes_the_place_of_a_proposal(curator: Curator) -> None:
    dataset = curator.register(graph_schema=None)
    first = curator.validate(curator.send(dataset))
    second = curator.send(dataset)
    with curator.services.db.transaction() as session:
        versions = repository.versions(session, [dataset.id])
    assert [(v.id, v.state) for v in versions] == [(second.id, "queued"), (first.id, "erased")]
    assert len(curator.objects()) == 1


def test_a_schema_can_be_declared_before_the_first_upload(curator: Curator) -> None:
    dataset = curator.register(graph_schema=None)
    assert confirm_schema(curator.services, curator.principal, dataset.id, SCHEMA).state == "registered"
    assert curator.validate(curator.send(dataset)).state == "ready"


def test_a_new_version_is_used_once_it_is_ready(curator: Curator, tmp_path: Path) -> None:
    dataset = curator.ready()
    account = dataset.account_id
    bad = curator.send(dataset, b"source,target\n0,77\n")
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.current_version) == ("ready", 1)
    assert curator.validate(bad).state == "rejected"
    good = curator.send(dataset, b"source,target\n0,5\n")
    assert queries.get_dataset(curator.services, curator.principal, dataset.id).current_version == 1
    curator.validate(good)
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.current_version, view.account_id) == ("ready", 3, account)
    with curator.services.db.transaction() as session:
        oldest = repository.versions(session, [dataset.id])[-1]
    ingest.fetch_graph(curator.services, dataset.id, oldest.id, tmp_path / "old")  # jobs that run keep theirs
    assert read_graph(tmp_path / "old").edges["edge"].count == 4


def test_a_lost_lease_changes_nothing(curator: Curator, work_files: Callable[[], list[Path]]) -> None:
    version = curator.send(curator.register())
    slow = curator.begin(version, "slow")
    let_lease_run_out(curator, version.id)
    fast = curator.begin(version, "fast")
    assert fast.attempt == slow.attempt + 1
    before = curator.objects()
    with pytest.raises(LeaseLost):
        leased.heartbeat(curator.services, Topic.INGEST, slow.version_id, slow.attempt)
    for end in (
        lambda: ingest.reject_ingest(curator.services, slow, [], "late"),
        lambda: ingest.fail_ingest(curator.services, slow),
        lambda: ingest.propose(curator.services, slow, SCHEMA),
    ):
        with pytest.raises(LeaseLost):
            end()
    assert curator.objects() == before
    leased.heartbeat(curator.services, Topic.INGEST, fast.version_id, fast.attempt)
    assert not slow.folder.exists()
    assert fast.folder.exists()
    ingest_work.discard_work(fast)
    assert work_files() == []


def test_a_graph_stored_under_a_lost_lease_is_deleted(curator: Curator) -> None:
    version = curator.send(curator.register())
    slow = curator.begin(version, "slow")
    key = slow.fingerprint_key
    report = canonicalise(slow.files, slow.schema, slow.graph_folder, slow.limits, fingerprint_key=key)
    let_lease_run_out(curator, version.id)
    before = curator.objects()
    fast = curator.begin(version, "fast")
    with pytest.raises(LeaseLost):
        ingest.finish_ingest(curator.services, slow, report.to_json())
    assert curator.objects() == before
    ingest.fail_ingest(curator.services, fast)
    assert curator.validate(version).state == "ready"


def test_attempts_run_out(curator: Curator) -> None:
    dataset = curator.register()
    version = curator.send(dataset)
    for _ in range(curator.services.settings.max_attempts - 1):
        ingest.fail_ingest(curator.services, curator.begin(version))
    curator.begin(version)
    let_lease_run_out(curator, version.id)
    assert ingest.begin_ingest(curator.services, version.id, "one more") is None
    assert recover.recover_lost(curator.services, Topic.INGEST) == 1
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert view.state == "rejected"
    assert curator.objects() == []
    assert curator.validate(curator.send(dataset)).state == "ready"


def test_a_lost_validation_is_queued_again(curator: Curator) -> None:
    version = curator.send(curator.register())
    curator.begin(version)
    assert recover.recover_lost(curator.services, Topic.INGEST) == 0
    let_lease_run_out(curator, version.id)
    assert recover.recover_lost(curator.services, Topic.INGEST) == 1
    assert recover.recover_lost(curator.services, Topic.INGEST) == 0
    assert curator.validate(version).state == "ready"


def test_a_damaged_upload_is_not_validated(curator: Curator, work_files: Callable[[], list[Path]]) -> None:
    version = curator.send(curator.register())
    key = curator.objects()[0]
    data = bytearray(b"".join(curator.services.store.get(key)))
    data[-1] ^= 1
    curator.services.store.put(key, [bytes(data)])
    with pytest.raises(StorageError):
        ingest.begin_ingest(curator.services, version.id, "worker")
    assert work_files() == []


def test_a_graph_that_was_not_asked_for_is_refused(curator: Curator) -> None:
    version = curator.send(curator.register())
    work = curator.begin(version)
    other = GraphSchema(node_types=(NodeType(count=7),), edge_types=(EdgeType(),))
    report = canonicalise(work.files, other, work.graph_folder, fingerprint_key=work.fingerprint_key)
    with pytest.raises(InvalidInput):
        ingest.finish_ingest(curator.services, work, report.to_json())
    with pytest.raises(InvalidInput):
        ingest.finish_ingest(curator.services, work, report.to_json() | {"fingerprint": None})
    assert len(curator.objects()) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_columns_that_a_confirmed_schema_leaves_out_stay_out(curator: Curator, kept: bool) -> None:
    dataset = curator.register(graph_schema=None)
    version = curator.send(dataset, b"from,to,weight,note\na,b,.5,\nb,c,2,x\n")
    proposed = curator.validate(version)
    assert proposed.state == "proposed", proposed.findings
    assert proposed.ingest_report is not None
    assert list(proposed.ingest_report["columns_ignored"]) == ["note"]
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    schema = GraphSchema.model_validate(view.proposed_schema)
    assert [attribute.name for attribute in schema.edge_types[0].attributes] == ["weight"]
    if not kept:
        bare = tuple(relation.without_attributes() for relation in schema.edge_types)
        schema = schema.model_copy(update={"edge_types": bare})
    confirm_schema(curator.services, curator.principal, dataset.id, schema)
    ready = curator.validate(version)
    assert ready.state == "ready"
