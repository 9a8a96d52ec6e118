"""The query by which a cluster scales its workers: on the real schema, with the rights of who asks it."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg.types.json import Jsonb
from sqlalchemy import make_url

from core.datasets.models import VersionState
from core.identity.service import Principal
from core.jobs.models import JobState
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.releases import sharded
from tests.support.inline import taken
from tests.support.releases import job_row, parted_dataset, queued_job, ready_dataset

pytestmark = pytest.mark.extras

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


def asked(services: Services, name: str = "worker", at_once: int = 1) -> int:
    """How many pods of that name the trigger's query asks for, where one takes so many shards ``at_once``."""
    component = "gpu-autoscaling/worker-gpu" if name == "worker-gpu" else "autoscaling/worker"
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "components" / f"{component}.yaml").read_text())
    (scaled,) = [
        each for each in documents if (each["kind"], each["metadata"]["name"]) == ("ScaledObject", name)
    ]
    (trigger,) = scaled["spec"]["triggers"]
    address = make_url(services.settings.database_url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        owner.execute((DEPLOY / "postgres" / "roles.sql").read_bytes())
    with psycopg.connect(
        address.set(username="graphveil_verifier").render_as_string(hide_password=False)
    ) as verifier:
        query = trigger["metadata"]["query"]
        if at_once > 1:
            assert query.count(" / 1.0") == 1
            query = query.replace(" / 1.0", f" / {at_once}.0")
        row = verifier.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def test_each_job_asks_for_a_pod_and_a_stream_for_one(services: Services, principal: Principal) -> None:
    assert asked(services) == 0
    dataset = ready_dataset(services, principal)
    jobs = [queued_job(services, principal, dataset.id, key=f"k{number}").id for number in range(4)]
    assert asked(services) == 4
    address = make_url(services.settings.database_url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        for step, job_id in enumerate(jobs[:3]):
            owner.execute(
                "UPDATE jobs SET spec = jsonb_set(spec, '{release,tick}', %s) WHERE id = %s",
                (Jsonb({"stream_id": "stream_a", "step": step}), job_id),
            )
    assert asked(services) == 2
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        owner.execute("UPDATE jobs SET state = %s WHERE id = %s", (JobState.RUNNING, jobs[0]))
        owner.execute("UPDATE jobs SET state = %s WHERE id = %s", (JobState.AWAITING_APPROVAL, jobs[3]))
    assert asked(services) == 1


def test_each_shard_that_is_not_drawn_asks_for_a_pod_in_place_of_its_job(
    services: Services, principal: Principal
) -> None:
    settings = services.settings.model_copy(update={"shard_edges": 200})
    dataset = parted_dataset(services, principal)
    job = queued_job(Services(services.db, services.store, settings), principal, dataset.id)
    assert asked(services) == 1
    assert taken(settings, Topic.RUN, job.id)
    count = job_row(services, job.id).shards
    assert count is not None
    assert count > 1
    assert asked(services) == count
    assert taken(settings, Topic.SHARD, f"{job.id}.0")
    assert asked(services) == count - 1


def test_shards_that_one_pod_takes_at_once_ask_for_one_pod(services: Services, principal: Principal) -> None:
    """As where an engine draws them: those that a worker holds, and so many of a job that wait."""
    settings = services.settings.model_copy(update={"shard_edges": 100})
    dataset = parted_dataset(services, principal)
    jobs = [
        queued_job(Services(services.db, services.store, settings), principal, dataset.id, key=key)
        for key in ("k1", "k2")
    ]
    for job in jobs:
        assert taken(settings, Topic.RUN, job.id)
    first, second = (job_row(services, job.id).shards or 0 for job in jobs)
    assert min(first, second) > 3
    assert asked(services) == first + second
    assert asked(services, at_once=sharded.MOST_AT_ONCE) == 2
    address = make_url(services.settings.database_url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        owner.execute(
            "UPDATE shards SET state = 'drawing', leased_by = 'w1' WHERE job_id = %s AND number < 3",
            (jobs[0].id,),
        )
    assert asked(services) == 1 + first - 3 + second
    assert asked(services, at_once=2) == 1 + -(-(first - 3) // 2) + -(-second // 2)


def test_each_upload_that_is_not_validated_asks_for_a_validator(
    services: Services, principal: Principal
) -> None:
    ready_dataset(services, principal)
    assert asked(services, "validator") == 0
    address = make_url(services.settings.database_url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        owner.execute("UPDATE dataset_versions SET state = %s", (VersionState.VALIDATING,))
    assert asked(services, "validator") == 1
    assert asked(services) == 0


def test_a_job_that_waits_for_a_gpu_asks_for_a_pod_with_one(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    jobs = [queued_job(services, principal, dataset.id, key=f"k{number}").id for number in range(3)]
    address = make_url(services.settings.database_url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as owner:
        owner.execute("UPDATE jobs SET gpu_only = true WHERE id = ANY(%s)", (jobs[:2],))
        owner.execute("UPDATE jobs SET state = %s WHERE id = %s", (JobState.RUNNING, jobs[0]))
    assert (asked(services), asked(services, "worker-gpu")) == (1, 2)
