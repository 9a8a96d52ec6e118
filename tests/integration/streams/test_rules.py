"""The rules of a stream: order, repeats, refusals, limits, budget, closing."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from core.datasets import repository as datasets
from core.errors import (
    BudgetExceeded,
    Conflict,
    DatasetNotReady,
    Forbidden,
    IdempotencyKeyReused,
    InvalidInput,
    NotAccepted,
    NotFound,
    PayloadTooLarge,
    SnapshotConflict,
    SnapshotEarly,
    SnapshotLate,
    StreamBusy,
    StreamClosed,
    UnknownFormat,
)
from core.graphs import formats
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs import repository as jobs
from core.jobs.models import Job
from core.ledger import service as ledger
from core.methods import registry
from core.methods.base import PublicFacts
from core.privacy.accounting.plan import PrivacyPlan
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import begin_ingest, finish_ingest
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs.cancel import cancel_job
from core.workflows.jobs.submit import JobRequest, plan_job
from core.workflows.operations.archive import archive_dataset
from core.workflows.streams.lifecycle import (
    StreamRequest,
    close_stream,
    create_stream,
    get_stream,
    list_streams,
    plan_stream,
)
from core.workflows.streams.queries import get_snapshot, list_snapshots
from tests.support.methods import answering
from tests.support.releases import job_row, ready_dataset, stored_keys, violations
from tests.support.streams import (
    ledger_spent,
    open_stream,
    publish,
    rows,
    seen,
    send,
    stream_dataset,
    with_settings,
)

READER = Principal("acme", "key_reader", "reader", frozenset({Role.REQUESTER}))
STRANGER = Principal("other", "key_other", "other", frozenset({Role.REQUESTER, Role.CURATOR}))
BAD = b"source,target\n0,1\n0,99\n"


@pytest.fixture
def dataset_id(services: Services, principal: Principal) -> str:
    return stream_dataset(services, principal).id


def reserved(services: Services, account_id: str) -> int:
    """The fullest window's reserved nano-epsilon."""
    with services.db.transaction() as session:
        return ledger.statement(session, account_id).reserved.nano_epsilon


def test_a_stream_is_planned_without_data(services: Services, principal: Principal, dataset_id: str) -> None:
    request = StreamRequest(dataset_id=dataset_id, epsilon="3", method="psgraph", first_step=7)
    plan = plan_stream(services, READER, request)
    assert (plan.window, plan.step_epsilon, plan.window_epsilon) == (3, "1", "3")
    assert plan.amounts == {"untimed": 0, "delta": 0, "step/7": 10**9}
    assert (plan.window_fits, plan.budget_after.reserved.nano_epsilon) == (True, 3 * 10**9)
    dear = plan_stream(services, READER, request.model_copy(update={"epsilon": "3.3"}))
    assert (dear.window_fits, dear.budget_after.reserved.nano_epsilon) == (False, 0)
    chosen = plan_stream(services, READER, request.model_copy(update={"method": "auto"}))
    assert chosen.chosen_because
    with services.db.transaction() as session:
        (version,) = datasets.versions(session, [dataset_id])
    services.store.put(version.object_key, [secrets.token_bytes(4096)])  # noise where the graph was
    assert plan_stream(services, READER, request).model_dump_json() == plan.model_dump_json()
    assert {line.query for line in plan.precision} >= {"edge_count", "degrees"}
    assert list_streams(services, READER).items == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"window": 4}, "window"),
        ({"edge_types": ["friend"]}, "edge_types.0"),
        ({"parameters": {"no_such": 1}}, "parameters.no_such"),
        ({"epsilon": "0.0000000001"}, "epsilon"),
        ({"first_step": 100_000}, "first_step"),
        ({"method": "auto", "parameters": {"a": 1}}, "parameters.a"),
    ],
)
def test_a_stream_that_cannot_be_is_refused(
    services: Services, dataset_id: str, change: dict[str, Any], field: str
) -> None:
    asked = {"dataset_id": dataset_id, "epsilon": "3", "method": "psgraph"} | change
    with pytest.raises(InvalidInput) as refused:
        create_stream(services, READER, StreamRequest(**asked), "k")
    assert refused.value.members["field"] == field


def test_a_method_whose_steps_pass_epsilon_together_opens_no_stream(
    services: Services, dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No step alone is too dear, nor is the first window; the second one is."""
    true = registry.get("psgraph").plan

    def plan(params: Any, public: PublicFacts) -> PrivacyPlan:
        dear = public.tick in (2, 3)
        return true(params, replace(public, nano_epsilon=public.nano_epsilon * (4 if dear else 1) // 2))

    answering(monkeypatch, "psgraph", plan=plan)
    with pytest.raises(NotAccepted, match="window") as refused:
        create_stream(
            services, READER, StreamRequest(dataset_id=dataset_id, epsilon="3", method="psgraph"), "k"
        )
    assert refused.value.members["field"] == "epsilon"


def test_a_plan_that_grew_since_the_opening_passes_no_window_of_the_stream(
    services: Services, principal: Principal, dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account has room for it; what the stream promised has not."""
    stream = open_stream(services, principal, dataset_id, epsilon="1.5")
    send(services, principal, stream, 0)
    true = registry.get("psgraph").plan

    def dearer(params: Any, public: PublicFacts) -> PrivacyPlan:
        return true(params, replace(public, nano_epsilon=public.nano_epsilon * 5 // 4))

    answering(monkeypatch, "psgraph", plan=dearer)
    send(services, principal, stream, 1)
    with pytest.raises(BudgetExceeded, match=r"opened for 1\.5") as refused:
        send(services, principal, stream, 2)
    assert refused.value.members["requested"] == "1.75"
    assert get_stream(services, principal, stream.id).next_step == 2


@pytest.mark.parametrize("presence", ["event", "state", "cumulative"])
def test_a_plan_warns_of_relations_that_outlast_a_window(
    services: Services, principal: Principal, presence: str
) -> None:
    relation = EdgeType(name="contact", temporal=True, presence=presence)
    schema = GraphSchema(
        node_types=(NodeType(count=24),), edge_types=(relation,), time=TimeGrid(start=100, width=10, count=4)
    )
    dataset = stream_dataset(services, principal, graph_schema=schema)
    live = plan_stream(services, READER, StreamRequest(dataset_id=dataset.id, epsilon="3"))
    job = plan_job(services, READER, JobRequest(dataset_id=dataset.id, epsilon="3"))
    assert live.warnings == job.warnings
    assert len(live.warnings) == (0 if presence == "event" else 1)


def test_a_stream_needs_w_event_and_time(services: Services, principal: Principal) -> None:
    static = ready_dataset(services, principal)
    with pytest.raises(NotAccepted, match="w-event"):
        open_stream(services, principal, static.id)


def test_persons_have_no_stream_being_in_every_snapshot(services: Services, principal: Principal) -> None:
    schema = GraphSchema(
        node_types=(NodeType(count=24, protected=True),),
        edge_types=(EdgeType(name="contact", temporal=True),),
        time=TimeGrid(start=100, width=10, count=4),
    )
    dataset = stream_dataset(services, principal, unit="node", window=None, graph_schema=schema)
    with pytest.raises(NotAccepted, match=r"a node has edges in every snapshot.*Publish the finished graph"):
        open_stream(services, principal, dataset.id)


def test_opening_repeats_itself_and_has_a_limit(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    request = StreamRequest(dataset_id=dataset_id, epsilon="3", method="psgraph", label="calls")
    stream, repeated = create_stream(services, READER, request, "k")
    again = create_stream(services, READER, request, "k")
    assert (repeated, again[1], again[0].id) == (False, True, stream.id)
    with pytest.raises(IdempotencyKeyReused):
        create_stream(services, READER, request.model_copy(update={"label": "other"}), "k")
    with pytest.raises(Conflict, match="1 streams"):
        create_stream(with_settings(services, max_open_streams=1), READER, request, "k2")
    newer, _ = create_stream(services, READER, request, "k3")
    page = list_streams(services, READER, dataset_id, "open", limit=1)
    assert [each.id for each in page.items] == [newer.id]
    rest = list_streams(services, READER, dataset_id, "open", page.next_cursor)
    assert ([each.id for each in rest.items], rest.next_cursor) == ([stream.id], None)
    assert list_streams(services, STRANGER).items == []
    with pytest.raises(NotFound):
        get_stream(services, STRANGER, stream.id)


def test_relations_default_to_those_that_the_method_takes(services: Services, principal: Principal) -> None:
    schema = GraphSchema(
        node_types=(NodeType(name="node", count=24), NodeType(name="place", count=5)),
        edge_types=(
            EdgeType(name="contact", temporal=True),
            EdgeType(name="call", temporal=True, directed=True),
            EdgeType(name="visit", target="place", temporal=True),
            EdgeType(name="family"),
            EdgeType(name="map", source="place", target="place", temporal=True, public=True),
        ),
        time=TimeGrid(count=4),
    )
    dataset = ready_dataset_of(services, principal, schema)
    assert open_stream(services, principal, dataset).edge_types == ["contact"]
    both = open_stream(services, principal, dataset, "s2", method="edgerand")
    assert both.edge_types == ["contact", "visit"]
    named = open_stream(services, principal, dataset, "s3", method="edgerand", edge_types=["visit", "call"])
    assert named.edge_types == ["call", "visit"]
    with pytest.raises(NotAccepted):
        open_stream(services, principal, dataset, "s4", edge_types=["visit"])
    with pytest.raises(NotAccepted):
        open_stream(services, principal, dataset, "s5", edge_types=["family"])
    view, _ = send(services, principal, both, 0, b"source,target,type,time\n0,1,contact,0\n3,4,visit,0\n")
    assert publish(services, view.job_id)
    assert seen(services, principal, both, 0).state == "published"


def ready_dataset_of(services: Services, principal: Principal, schema: GraphSchema) -> str:
    new = NewDataset(name="several", unit="w-event", window=3, epsilon="9", graph_schema=schema)
    dataset = register_dataset(services, principal, new)
    content = b"source,target,time,type\n0,1,,family\n"
    version = receive_part(
        services, principal, dataset.id, part="edges", format="csv", options={}, chunks=[content], length=None
    )
    work = begin_ingest(services, version.id, "tests")
    assert work is not None
    report = canonicalise(
        work.files, work.schema, work.graph_folder, work.limits, fingerprint_key=work.fingerprint_key
    )
    finish_ingest(services, work, report.to_json())
    return dataset.id


def test_steps_come_in_order(services: Services, principal: Principal, dataset_id: str) -> None:
    stream = open_stream(services, principal, dataset_id, first_step=5)
    for late in (0, 4):
        with pytest.raises(SnapshotLate) as refused:
            send(services, principal, stream, late)
        assert refused.value.members["next_step"] == 5
    with pytest.raises(SnapshotEarly) as early:
        send(services, principal, stream, 6)
    assert early.value.members["next_step"] == 5
    view, _ = send(services, principal, stream, 0, step=None, time=155)
    assert (view.step, view.starts_at) == (5, 150)
    assert get_stream(services, READER, stream.id).next_step == 6
    for wrong in ({"step": None, "time": 99}, {"step": -1}, {"step": 10**6}, {"step": None}, {"time": 155}):
        with pytest.raises(InvalidInput):
            send(services, principal, stream, 5, **wrong)
    assert len(stored_keys(services, "uploads")) == 1
    assert len(list_snapshots(services, principal, stream.id).items) == 1


def test_missing_steps_are_published_as_empty(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id, missing_steps="empty")
    few = with_settings(services, max_missing_steps=1)
    with pytest.raises(SnapshotEarly) as refused:
        send(few, principal, stream, 2)
    assert refused.value.members["limit"] == 1
    assert stored_keys(services, "uploads") == []
    view, _ = send(services, principal, stream, 2)
    page = list_snapshots(services, principal, stream.id)
    assert [(each.step, each.size_bytes, each.state) for each in page.items] == [
        (0, 0, "queued"),
        (1, 0, "queued"),
        (2, len(rows(2)), "queued"),
    ]
    assert reserved(services, stream.account_id) == 3 * 10**9
    for each in page.items:
        assert publish(services, each.job_id)
    assert seen(services, principal, stream, 0).state == "published"
    assert send(services, principal, stream, 1, b"", format="parquet") == (
        seen(services, principal, stream, 1),
        True,
    )
    assert view.job_id == page.items[2].job_id


def test_the_same_again_is_the_same_and_other_bytes_a_conflict(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    view, _ = send(services, principal, stream, 0)
    assert send(services, principal, stream, 0) == (view, True)
    for other in ({"content": rows(1)}, {"format": "tsv"}, {"options": {"header": "true"}}, {"content": b""}):
        with pytest.raises(SnapshotConflict) as refused:
            send(services, principal, stream, 0, **other)
        assert refused.value.members["state"] == "waiting"
    assert len(stored_keys(services, "uploads")) == 1
    assert publish(services, view.job_id)
    again, repeated = send(services, principal, stream, 0)
    assert (again.state, repeated) == ("published", True)
    with pytest.raises(SnapshotConflict):
        send(services, principal, stream, 0, rows(1))
    assert reserved(services, stream.account_id) == 0


def test_a_refused_snapshot_costs_nothing_and_may_be_mended(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    bad, _ = send(services, principal, stream, 0, BAD)
    following, _ = send(services, principal, stream, 1)
    assert publish(services, bad.job_id)
    refused = seen(services, principal, stream, 0)
    assert (refused.state, refused.reason, refused.epsilon) == ("refused", "invalid_snapshot", "0")
    assert refused.findings is not None
    assert (refused.findings[0]["line"], refused.findings[0]["file"]) == (3, "edges")
    assert get_snapshot(services, READER, stream.id, 0).findings is None
    assert (job_row(services, bad.job_id).first_read_at, ledger_spent(services, bad.job_id)) == (None, 0)
    assert len(stored_keys(services, "uploads")) == 1  # that of the second
    assert send(services, principal, stream, 0, BAD)[1]  # the same bytes are the same refusal
    assert publish(services, following.job_id)  # the stream did not wait for the mending

    outside, _ = send(services, principal, stream, 0, b"source,target,time\n0,1,110\n")
    assert (outside.number, outside.state, outside.findings) == (1, "queued", None)
    assert publish(services, outside.job_id)
    told = seen(services, principal, stream, 0).findings
    assert told is not None
    assert "outside the grid 100 to 109" in told[0]["message"]
    mended, _ = send(services, principal, stream, 0, b"source,target,time\n0,1,109\n")
    assert mended.number == 2
    assert publish(services, mended.job_id)
    assert seen(services, principal, stream, 0).state == "published"
    assert ledger_spent(services, mended.job_id) == 10**9
    assert stored_keys(services, "uploads") == []
    assert violations(services) == []


def test_a_full_window_refuses_and_stores_nothing(services: Services, principal: Principal) -> None:
    dataset = stream_dataset(services, principal, epsilon="2.5")
    stream = open_stream(services, principal, dataset.id, missing_steps="empty")
    send(services, principal, stream, 0)
    with pytest.raises(BudgetExceeded) as refused:
        send(services, principal, stream, 2)  # steps 0, 1 and 2 are one window
    assert refused.value.members["window"] == [0, 2]
    assert get_stream(services, READER, stream.id).next_step == 1  # the missing step was not taken either
    assert len(stored_keys(services, "uploads")) == 1
    later = open_stream(services, principal, dataset.id, "s2", first_step=4)
    send(services, principal, later, 4)
    send(services, principal, stream, 1)
    with pytest.raises(BudgetExceeded) as future:
        send(services, principal, stream, 2)
    assert future.value.members["requested"] == "1"
    assert violations(services) == []


def test_of_concurrent_snapshots_of_one_step_one_is_taken(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    bodies = [rows(0), rows(0), rows(1), rows(0)]

    def attempt(body: bytes) -> str:
        try:
            return send(services, principal, stream, 0, body)[0].job_id
        except SnapshotConflict:
            return "conflict"

    with ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(attempt, bodies))
    taken = {answer for answer in answers if answer != "conflict"}
    assert len(taken) == 1
    assert answers.count("conflict") in (1, 3)
    assert reserved(services, stream.account_id) == 10**9
    assert len(stored_keys(services, "uploads")) == 1
    assert violations(services) == []


def test_a_stream_takes_so_many_waiting_snapshots(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    few = with_settings(services, max_waiting_snapshots=2)
    first, _ = send(few, principal, stream, 0)
    send(few, principal, stream, 1)
    with pytest.raises(StreamBusy) as refused:
        send(few, principal, stream, 2)
    assert (refused.value.members["waiting"], refused.value.members["limit"]) == (2, 2)
    assert refused.value.members["retry_after"] == services.settings.poll_after_seconds
    assert send(few, principal, stream, 0)[1]
    assert publish(services, first.job_id)
    send(few, principal, stream, 2)


def test_a_closed_stream_publishes_what_it_has(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    view, _ = send(services, principal, stream, 0)
    closed = close_stream(services, READER, stream.id)
    assert (closed.state, close_stream(services, READER, stream.id).closed_at) == ("closed", closed.closed_at)
    with pytest.raises(StreamClosed):
        send(services, principal, stream, 1)
    assert send(services, principal, stream, 0)[1]
    assert publish(services, view.job_id)
    assert seen(services, principal, stream, 0).state == "published"
    assert [each.id for each in list_streams(services, READER, state="closed").items] == [stream.id]


def test_a_cancelled_tick_is_final_and_the_stream_goes_on(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    first, _ = send(services, principal, stream, 0)
    second, _ = send(services, principal, stream, 1)
    cancel_job(services, principal, first.job_id)
    view = seen(services, principal, stream, 0)
    assert (view.state, view.epsilon, ledger_spent(services, first.job_id)) == ("cancelled", "0", 0)
    with pytest.raises(SnapshotConflict):
        send(services, principal, stream, 0, rows(1))
    assert publish(services, second.job_id)
    assert seen(services, principal, stream, 1).state == "published"


def test_archiving_closes_the_streams_and_cancels_their_ticks(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    done, _ = send(services, principal, stream, 0)
    assert publish(services, done.job_id)
    bad, _ = send(services, principal, stream, 1, BAD)
    assert publish(services, bad.job_id)
    assert seen(services, principal, stream, 1).findings  # they quote the rows
    waits, _ = send(services, principal, stream, 2)
    archive_dataset(services, principal, dataset_id)
    assert seen(services, principal, stream, 1).findings is None
    assert get_stream(services, READER, stream.id).state == "closed"
    assert seen(services, principal, stream, 2).reason == "dataset_archived"
    assert ledger_spent(services, waits.job_id) == 0
    with pytest.raises(StreamClosed):
        send(services, principal, stream, 3)
    assert stored_keys(services, f"datasets/{dataset_id}") == []
    assert not publish(services, waits.job_id)
    with pytest.raises(DatasetNotReady):
        open_stream(services, principal, dataset_id, "s2")


def test_what_cannot_be_a_snapshot_is_refused_before_it_is_read(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    with pytest.raises(Forbidden):
        send(services, READER, stream, 0)
    with pytest.raises(NotFound):
        send(services, STRANGER, stream, 0)
    with pytest.raises(UnknownFormat):
        send(services, principal, stream, 0, format="nothing")
    documents = [name for name in formats.read_names() if formats.reader(name).carries_nodes]
    assert "graphml" in documents
    for document in documents:
        with pytest.raises(NotAccepted, match=f"{document} file lists nodes"):
            send(services, principal, stream, 0, format=document)
    with pytest.raises(PayloadTooLarge):
        send(with_settings(services, max_upload_bytes=10), principal, stream, 0, length=None)
    with pytest.raises(InvalidInput, match="announced"):
        send(services, principal, stream, 0, length=7)
    assert stored_keys(services, "uploads") == []
    assert reserved(services, stream.account_id) == 0


def test_a_callers_key_cannot_stand_in_a_ticks_way(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    view, _ = send(services, principal, stream, 0)
    job: Job = job_row(services, view.job_id)
    assert " " in job.idempotency_key
    with services.db.transaction() as session:
        found, _ = jobs.by_key(session, tenant="acme", key=f"tick {stream.id} 0 0", key_id=principal.key_id)
    assert found is not None
    assert found.id == job.id
