"""A service that draws small graphs in several shards, and jobs of it at each point of their way."""

from __future__ import annotations

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from tests.support.inline import Sabotage, taken
from tests.support.releases import job_row, queued_job

SHARD_EDGES = 200  # of the ring's 600


def small_shards(settings: Settings) -> Settings:
    """The same settings, with shards that are smaller than the ring."""
    return settings.model_copy(update={"shard_edges": SHARD_EDGES})


def fitted_job(services: Services, caller: Principal, dataset: Dataset, key: str = "k1") -> Job:
    """A job whose shards wait: at least two."""
    job = queued_job(services, caller, dataset.id, key)
    assert taken(services.settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert (row.state, row.leased_by, row.fitted_attempt) == ("running", None, row.attempt)
    assert (row.shards or 0) > 1
    return row


def shard(job: Job, number: int = 0) -> str:
    """How a message names a shard of the job."""
    return f"{job.id}.{number}"


def draw(services: Services, job: Job, *numbers: int, sabotage: Sabotage | None = None) -> None:
    """A worker has drawn these shards of the job, all of them unless some are named."""
    for number in numbers or range(job.shards or 0):
        assert taken(services.settings, Topic.SHARD, shard(job, number), sabotage)


def drawn_job(services: Services, caller: Principal, dataset: Dataset, key: str = "k1") -> Job:
    """A job whose shards are drawn, and which waits to be joined."""
    job = fitted_job(services, caller, dataset, key)
    draw(services, job)
    row = job_row(services, job.id)
    assert row.state == "queued"
    return row
