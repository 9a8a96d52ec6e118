"""A job whose dataset is in parts: fitted once, drawn in shards, joined and charged in one commit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from sqlalchemy import text

from core.datasets.models import Dataset
from core.errors import InvalidInput, LeaseLost, NotAccepted, StorageError
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.partable import Part
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.reports.model import PublicPart
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.sensitive_links import receive_list
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs.cancel import cancel_job
from core.workflows.jobs.menu import MenuEntry, MenuRequest, plan_menu
from core.workflows.jobs.queries import events, get_job
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.operations.archive import archive_dataset
from core.workflows.releases import sharded
from core.workflows.releases.queries import get_report, listed, open_artifact
from tests.support.faults import assert_sound, endings, lapse
from tests.support.inline import taken
from tests.support.releases import (
    NODES,
    SCHEMA,
    job_row,
    parted_dataset,
    queued_job,
    ring_edges,
    spent,
    stored_keys,
)
from tests.support.sharded import draw, drawn_job, fitted_job, shard, small_shards
from worker.reaper import reap_once

PAID = ["reserve", "forfeit"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return small_shards(settings)


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return parted_dataset(services, principal)


def shown(services: Services, principal: Principal, job: Job) -> tuple[str, tuple[int, int] | None]:
    found = get_job(services, principal, job.id)
    return found.state, None if found.shards is None else (found.shards.drawn, found.shards.total)


def edges_of(services: Services, principal: Principal, job: Job) -> tuple[np.ndarray, np.ndarray]:
    files = listed(services, principal, job.id).items
    names = [each.name for each in files if each.name.startswith("edges-")]
    tables = []
    for name in sorted(names):
        _, chunks = open_artifact(services, principal, job.id, name)
        tables.append(pq.read_table(io.BytesIO(b"".join(chunks))))
    return tuple(np.concatenate([each[end].to_numpy() for each in tables]) for end in ("source", "target"))


def test_it_is_fitted_drawn_and_joined_and_charged_once(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    total = job.shards or 0
    assert shown(services, principal, job) == ("running", (0, total))
    assert endings(services, job.id) == ["reserve"]
    draw(services, job, *range(total - 1))
    assert shown(services, principal, job) == ("running", (total - 1, total))
    assert not taken(settings, Topic.RUN, job.id)  # nothing is there to be joined
    assert not taken(settings, Topic.SHARD, shard(job))  # and no shard is drawn twice
    draw(services, job, total - 1)
    assert shown(services, principal, job) == ("queued", (total, total))
    assert endings(services, job.id) == ["reserve"]
    assert artifacts_none(services, job)

    assert taken(settings, Topic.RUN, job.id)
    assert shown(services, principal, job) == ("published", (total, total))
    assert endings(services, job.id) == ["reserve", "charge"]
    assert_sound(services, job.id)
    assert stored_keys(services, "staging") == []
    assert shards_left(services) == 0
    source, target = edges_of(services, principal, job)
    assert (source < target).all()
    assert len(np.unique(source * NODES + target)) == len(source)
    public = PublicPart.model_validate(get_report(services, principal, job.id)["public"])
    (told,) = public.statistics.edge_types
    assert told.edges == len(source)
    degrees = np.bincount(np.concatenate([source, target]), minlength=NODES)
    assert told.degrees[0].maximum == degrees.max()
    assert told.means["mean_degree"] == pytest.approx(2 * len(source) / NODES)
    assert public.transcript.operations == 4
    assert {each.name for each in public.provenance.artifacts} >= {
        f"edges-{number:05d}-of-{total:05d}.parquet" for number in range(total)
    }
    steps = [(each.done, each.total) for each in events(services, principal, job.id) if each.stage == "draw"]
    assert steps == [(done, total) for done in range(total + 1)]


def artifacts_none(services: Services, job: Job) -> bool:
    return stored_keys(services, f"releases/{job.id}") == []


def shards_left(services: Services) -> int:
    with services.db.transaction() as session:
        return session.execute(text("SELECT count(*) FROM shards")).scalar_one()


def test_nothing_is_compared_with_the_original_and_no_curator_waits_for_it(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    assert taken(settings, Topic.RUN, job.id)
    assert get_job(services, principal, job.id).evaluation is None
    assert "curator" not in get_report(services, principal, job.id)
    assert not taken(settings, Topic.EVALUATE, job.id)
    with pytest.raises(NotAccepted, match="drawn once"):
        submit_sample(services, principal, job.id, SampleRequest(), "again")


def test_a_cancel_while_shards_are_drawn_ends_the_job_at_once_and_its_cost_stays(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    draw(services, job, 0)
    work = sharded.begin_shard(services, shard(job, 1), "other")
    assert work is not None
    cancel_job(services, principal, job.id)
    assert shown(services, principal, job) == ("cancelled", None)
    assert endings(services, job.id) == PAID
    budget = get_job(services, principal, job.id).budget
    assert budget is not None
    assert budget.outcome == "spent"
    with pytest.raises(LeaseLost):
        sharded.finish_shard(services, work)
    assert not taken(settings, Topic.SHARD, shard(job, 1))
    reap_once(services)
    assert stored_keys(services, "staging") == []
    assert_sound(services, job.id)


def test_an_archived_dataset_stops_its_shards_and_its_law_cannot_be_read(
    services: Services, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    archive_dataset(services, principal, dataset.id)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("cancelled", "dataset_archived")
    assert endings(services, job.id) == PAID
    reap_once(services)
    assert stored_keys(services, "staging") == []
    assert shards_left(services) == 0


def test_of_two_workers_that_hold_a_shard_the_late_one_changes_nothing(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    late = sharded.begin_shard(services, shard(job), "late")
    assert late is not None
    lapse(services)
    reap_once(services)
    assert taken(settings, Topic.SHARD, shard(job))
    told = told_of(services, job)
    part = Part("edges-00000-of-00001.parquet", "0" * 64, 1, 1, 0, 0)
    with pytest.raises(LeaseLost):
        sharded.record_part(services, late, part)
    with pytest.raises(LeaseLost):
        sharded.finish_shard(services, late)
    with pytest.raises(LeaseLost):
        sharded.hand_back_shard(services, late)
    assert told_of(services, job) == told
    draw(services, job, *range(1, job.shards or 0))
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"


def told_of(services: Services, job: Job, number: int = 0) -> tuple[Any, ...]:
    with services.db.transaction() as session:
        query = text("SELECT state, attempt, sha256, size_bytes, rows FROM shards WHERE id = :id")
        return tuple(session.execute(query, {"id": shard(job, number)}).one())


def test_a_shard_that_is_drawn_again_has_the_same_bytes(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    """Its part is lost from the store: what joins finds it gone, and another worker draws it anew."""
    job = drawn_job(services, principal, dataset)
    before = told_of(services, job, 1)
    (key,) = [key for key in stored_keys(services, f"staging/{job.id}/parts") if "/00001-" in key]
    services.store.delete(key)
    assert taken(settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert (row.state, row.leased_by) == ("running", None)
    assert shown(services, principal, job) == ("running", ((job.shards or 0) - 1, job.shards))
    draw(services, job, 1)
    after = told_of(services, job, 1)
    assert after == ("drawn", before[1] + 1, *before[2:])
    assert key in stored_keys(services, f"staging/{job.id}/parts")
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert endings(services, job.id) == ["reserve", "charge"]
    assert_sound(services, job.id)


def test_an_altered_part_is_drawn_again(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    key = stored_keys(services, f"staging/{job.id}/parts")[0]
    services.store.put(key, [b"other bytes"])
    assert taken(settings, Topic.RUN, job.id)
    assert told_of(services, job)[0] == "waiting"
    draw(services, job, 0)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert_sound(services, job.id)


def test_other_bytes_at_the_second_time_fail_the_job(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    (key,) = [key for key in stored_keys(services, f"staging/{job.id}/parts") if "/00001-" in key]
    services.store.delete(key)
    assert taken(settings, Topic.RUN, job.id)
    other = told_of(services, job, 0)[2]
    with services.db.transaction() as session:
        session.execute(
            text("UPDATE shards SET sha256 = :other WHERE id = :id"), {"other": other, "id": shard(job, 1)}
        )
    draw(services, job, 1)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "invalid_release")
    assert endings(services, job.id) == PAID
    assert_sound(services, job.id)


def test_a_law_that_is_gone_fails_the_job_after_its_attempts_and_the_cost_stays(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    services.store.delete(sharded.fitted_key(job.id, job.attempt, sharded.LAW))
    for attempt in range(settings.max_attempts):
        assert job_row(services, job.id).state == "running"
        assert told_of(services, job)[:2] == ("waiting", attempt)
        draw(services, job, 0)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "drawing_lost")
    budget = get_job(services, principal, job.id).budget
    assert budget is not None
    assert budget.outcome == "spent"
    assert endings(services, job.id) == PAID
    assert_sound(services, job.id)
    reap_once(services)
    assert stored_keys(services, "staging") == []


def test_an_outage_while_joining_keeps_the_law_the_parts_and_the_reservation(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    before = spent(services, job)
    for _ in range(settings.max_attempts - 1):
        with mock.patch("worker.kinds.release.publish.stage", side_effect=StorageError("away")):
            assert taken(settings, Topic.RUN, job.id)
        row = job_row(services, job.id)
        assert (row.state, row.reservation_id) == ("queued", job.reservation_id)
        assert row.first_read_at == job.first_read_at
        reap_once(services)
    assert spent(services, job) == before
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert endings(services, job.id) == ["reserve", "charge"]
    assert_sound(services, job.id)


def test_a_job_that_nobody_can_join_fails_and_its_cost_stays(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    for _ in range(settings.max_attempts):
        with mock.patch("worker.kinds.release.publish.stage", side_effect=StorageError("away")):
            assert taken(settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "drawing_lost")
    assert endings(services, job.id) == PAID
    assert_sound(services, job.id)


def test_a_cancel_while_it_is_joined_wins_over_the_commit(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)

    def cancel(kind: str) -> None:
        if kind == "join":
            cancel_job(services, principal, job.id)

    assert taken(settings, Topic.RUN, job.id, cancel)
    assert job_row(services, job.id).state == "cancelled"
    assert endings(services, job.id) == PAID
    assert_sound(services, job.id)


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"method": "psgraph"}, "method", "dcsbm with the parameters"),
        ({"method": "dcsbm"}, "parameters.triangle_share", "dcsbm with the parameters"),
        ({"formats": ["csv"]}, "formats", "parquet"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused_with_what_can(
    services: Services, principal: Principal, dataset: Dataset, asked: Any, field: str, words: str
) -> None:
    before = spent(services, queued_job(services, principal, dataset.id))
    with pytest.raises(NotAccepted, match=words) as refusal:
        queued_job(services, principal, dataset.id, "k2", **asked)
    assert refusal.value.members["field"] == field
    assert spent(services, queued_job(services, principal, dataset.id)) == before


def test_a_menu_says_which_methods_can(services: Services, principal: Principal, dataset: Dataset) -> None:
    request = MenuRequest(
        dataset_id=dataset.id, methods=[MenuEntry(method="auto"), MenuEntry(method="psgraph")], epsilons=["1"]
    )
    auto, psgraph = plan_menu(services, principal, request).items
    assert (auto.method, auto.refused) == ("dcsbm", None)
    assert psgraph.refused is not None
    assert "edges together" in psgraph.refused.detail


def test_a_public_dataset_takes_no_seed_in_parts(services: Services, principal: Principal) -> None:
    dataset = parted_dataset(services, principal, "known", public=True)
    with pytest.raises(NotAccepted, match="takes no seed"):
        queued_job(services, principal, dataset.id, seed=1)


def test_no_links_are_named_in_it(services: Services, principal: Principal, dataset: Dataset) -> None:
    links = [b"source,target\n0,1\n"]
    with pytest.raises(NotAccepted, match="in parts"):
        receive_list(services, principal, dataset.id, format="csv", options={}, chunks=links, length=None)


def upload(services: Services, principal: Principal, dataset: Dataset, part: str, rows: bytes) -> Any:
    return receive_part(
        services, principal, dataset.id, part=part, format="csv", options={}, chunks=[rows], length=None
    )


TYPED = GraphSchema(
    node_types=(NodeType(name="person", count=NODES), NodeType(name="firm", count=20)),
    edge_types=(
        EdgeType(name="calls", source="person", target="person", temporal=True),
        EdgeType(name="owns", source="firm", target="firm"),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


def test_relations_and_snapshots_are_published_from_files_of_both(
    services: Services, settings: Settings, principal: Principal
) -> None:
    declared = NewDataset(name="typed", unit="pair", epsilon="6", graph_schema=TYPED, in_parts=True)
    dataset = register_dataset(services, principal, declared)
    rng = np.random.default_rng(3)
    rows = [f"calls,{u},{v},{t}\n" for u, v, t in rng.integers(0, (NODES, NODES, 2), (700, 3)).tolist()]
    rows += [f"owns,{u},{v},\n" for u, v in rng.integers(0, 20, (60, 2)).tolist()]
    for part in (0, 1):
        content = "type,source,target,time\n" + "".join(rows[part::2])
        version = upload(services, principal, dataset, f"edges-{part + 1}-of-2", content.encode())
    assert taken(settings, Topic.INGEST, version.id)
    assert findings(services, version.id) == []
    job = queued_job(services, principal, dataset.id, "typed", epsilon="6")
    assert taken(settings, Topic.RUN, job.id)
    job = job_row(services, job.id)
    assert (job.shards or 0) > 3
    draw(services, job)
    assert taken(settings, Topic.RUN, job.id)
    assert (shown(services, principal, job)[0], *spent(services, job)) == ("published", "6", "0")
    public = PublicPart.model_validate(get_report(services, principal, job.id)["public"])
    assert [each.name for each in public.statistics.edge_types] == ["calls", "owns"]
    assert [row.step for row in public.statistics.edge_types[0].rows] == [0, 1]
    assert {part.name for part in public.provenance.artifacts} >= {
        f"edges-{number:05d}-of-{job.shards:05d}.parquet" for number in range(job.shards or 0)
    }


def test_files_come_in_any_order_and_the_last_that_is_missing_completes_them(
    services: Services, principal: Principal
) -> None:
    declared = NewDataset(name="files", unit="edge", epsilon="1", graph_schema=SCHEMA, in_parts=True)
    dataset = register_dataset(services, principal, declared)
    rows = b"source,target\n0,1\n"
    assert upload(services, principal, dataset, "edges-3-of-3", rows).state == "uploading"
    assert upload(services, principal, dataset, "edges-1-of-3", rows).state == "uploading"
    assert upload(services, principal, dataset, "edges-1-of-3", rows).state == "uploading"  # sent again
    with pytest.raises(InvalidInput, match="edges-1-of-3 was received"):
        upload(services, principal, dataset, "edges-2-of-2", rows)
    for part in ("edges-0-of-3", "edges-4-of-3", "edges-01-of-3", "edges-1-of-1000", "edges-1"):
        with pytest.raises(InvalidInput, match="no such part"):
            upload(services, principal, dataset, part, rows)
    assert upload(services, principal, dataset, "edges-2-of-3", rows).state == "queued"


def test_a_dataset_that_is_not_in_parts_takes_one_file_and_fewer_rows(
    services: Services, principal: Principal
) -> None:
    few = services.settings.model_copy(update={"max_edges_in_memory": 100})
    small = Services(services.db, services.store, few)
    declared = {"unit": "edge", "epsilon": "1", "graph_schema": SCHEMA}
    dataset = register_dataset(small, principal, NewDataset(name="whole", **declared))
    with pytest.raises(InvalidInput, match="in_parts"):
        upload(small, principal, dataset, "edges-1-of-2", ring_edges())
    version = upload(small, principal, dataset, "edges", ring_edges())
    assert taken(few, Topic.INGEST, version.id)
    assert findings(services, version.id) == [
        "the file has more than 100 rows; register a dataset that is declared in_parts for as many"
    ]
    parted = register_dataset(small, principal, NewDataset(name="in-parts", in_parts=True, **declared))
    version = upload(small, principal, parted, "edges", ring_edges())
    assert taken(few, Topic.INGEST, version.id)
    assert findings(services, version.id) == []


def findings(services: Services, version_id: str) -> list[str]:
    with services.db.transaction() as session:
        query = text("SELECT findings FROM dataset_versions WHERE id = :id")
        found = session.execute(query, {"id": version_id}).scalar_one()
    return [each["message"] for each in found or []]


ONE_TARGET = {"directed": True, "functional": True}


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ({"graph_schema": None}, "graph_schema"),
        ({"graph_schema": {**SCHEMA.model_dump(), "edge_types": [ONE_TARGET]}}, "in_parts"),
    ],
)
def test_only_what_can_be_counted_in_parts_is_declared_so(
    services: Services, principal: Principal, declared: Any, field: str
) -> None:
    values = {"name": "odd", "unit": "edge", "epsilon": "1", "in_parts": True} | declared
    with pytest.raises(InvalidInput) as refusal:
        register_dataset(services, principal, NewDataset.model_validate(values))
    assert refusal.value.members["field"] == field


def test_the_child_that_draws_a_shard_is_given_law_and_number_alone(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    seen: list[tuple[str, list[str]]] = []
    held = sharded.fetch_fitted

    def fetched(services: Services, work: Any, name: str, folder: Path) -> None:
        held(services, work, name, folder)
        seen.append((name, sorted(path.name for path in folder.parent.rglob("*") if path.is_file())))

    with mock.patch("worker.kinds.shard.sharded.fetch_fitted", fetched):
        draw(services, job, 0)
    assert seen == [("law", ["nodes.parquet", "strips.parquet"])]


@pytest.fixture(autouse=True)
def _no_pauses() -> Iterator[None]:
    """A job that was handed back may be taken at once."""
    with mock.patch("core.work.service.retry_pause", return_value=0.0):
        yield
