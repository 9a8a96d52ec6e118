"""Mixed loads on a real database: how long jobs wait for a GPU, with a thousand others before them or none.

Workers are simulated: they hear their queues in order and claim as real ones do, and a job takes them a time
that is counted, not waited.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import text, update

from core.identity.service import Principal
from core.jobs.models import Job
from core.workers import repository as workers
from core.workflows.common.context import Services
from core.workflows.jobs import turns
from core.workflows.releases import publish
from tests.support.releases import queued_job, ready_dataset

pytestmark = pytest.mark.extras

CPU_JOBS, GPU_JOBS, CPU_WORKERS = 1_000, 10, 1
CPU_SECONDS, GPU_SECONDS = 600.0, 300.0
COPY = """
    INSERT INTO jobs ({names}) SELECT {values} FROM jobs, generate_series(1, :count) n WHERE id = :source
"""


@pytest.fixture
def queue(services: Services, principal: Principal) -> Callable[[str, int, bool], None]:
    """Adds so many queued jobs of a tenant, for a GPU or for any worker."""
    dataset = ready_dataset(services, principal)
    source = queued_job(services, principal, dataset.id).id
    names = [column.name for column in Job.__table__.columns]
    with services.db.transaction() as session:
        session.execute(update(Job).where(Job.id == source).values(state="cancelled"))
        session.execute(text("UPDATE outbox SET sent_at = now()"))

    def add(tenant: str, count: int, gpu_only: bool) -> None:
        kind = "gpu" if gpu_only else "cpu"
        with services.db.transaction() as session:
            held = session.execute(text("SELECT count(*) FROM jobs")).scalar_one()
            given = {
                "id": f"'job_{kind}_' || ({held} + n)",
                "idempotency_key": f"'{kind}' || ({held} + n)",
                "tenant": f"'{tenant}'",
                "state": "'queued'",
                "accelerator": "'useful'" if gpu_only else "'none'",
                "gpu_only": str(gpu_only),
                "created_at": "clock_timestamp()",
            }
            values = ", ".join(given.get(name, name) for name in names)
            statement = COPY.format(names=", ".join(names), values=values)
            session.execute(text(statement), {"count": count, "source": source})

    return add


def waits(
    services: Services, arrivals: list[float], add: Callable[[], None], lent: bool = True
) -> np.ndarray:
    """How long each job for a GPU waits, by when they arrive, which ``add`` makes one of.

    One worker holds a GPU, and is lent to other work when it has none of its own unless it is not ``lent``;
    CPU_WORKERS hold none.
    """
    with services.db.transaction() as session:
        assert workers.hold(session, "GPU-0", host="host", worker="gpu", lease_seconds=3_600)
    free = [(0.0, name) for name in ("gpu", *(f"cpu-{k}" for k in range(CPU_WORKERS)))]
    heapq.heapify(free)
    held: dict[str, str] = {}
    came, begun = 0, []
    while len(begun) < len(arrivals):
        now, worker = heapq.heappop(free)
        while came < len(arrivals) and arrivals[came] <= now:
            add()
            came += 1
        if worker in held:
            with services.db.transaction() as session:
                ended = update(Job).where(Job.id == held.pop(worker)).values(state="failed", leased_by=None)
                session.execute(ended)
        lanes = [True, False] if lent and worker == "gpu" else [worker == "gpu"]
        found = next(filter(None, (turns.next_job(services, gpu_only=lane) for lane in lanes)), None)
        if found is None:
            # Idle until somebody has done a job, or one comes.
            later = [at for at, name in free if name in held] + [*arrivals[came : came + 1]]
            heapq.heappush(free, (max(now + 1.0, min(later, default=0.0)), worker))
            continue
        assert publish.begin_job(services, found, worker) is not None
        held[worker] = found
        for_gpu = found.startswith("job_gpu_")
        assert not for_gpu or worker == "gpu"
        if for_gpu:
            begun.append(now)
        heapq.heappush(free, (now + (GPU_SECONDS if for_gpu else CPU_SECONDS), worker))
    return np.array(begun) - np.array(arrivals)


@pytest.mark.parametrize("lent", [True, False])
def test_the_p95_of_waits_for_a_gpu_is_the_same_with_a_thousand_other_jobs_before_them(
    services: Services, queue: Callable[[str, int, bool], None], lent: bool
) -> None:
    at_once = [0.0] * GPU_JOBS

    def add() -> None:
        queue("other", 1, True)

    alone = waits(services, at_once, add, lent)
    queue("many", CPU_JOBS, False)
    behind = waits(services, at_once, add, lent)
    assert np.percentile(alone, 95) == np.percentile(behind, 95) > 0
    assert (alone == behind).all()


def test_a_gpu_that_is_lent_costs_a_job_that_comes_later_one_other_job_at_most(
    services: Services, queue: Callable[[str, int, bool], None]
) -> None:
    queue("many", CPU_JOBS, False)
    rare = [100.0 + 2_000.0 * k for k in range(4)]
    found = waits(services, rare, lambda: queue("other", 1, True))
    assert 0 < found.max() <= CPU_SECONDS
    kept = waits(services, rare, lambda: queue("other", 1, True), lent=False)
    assert kept.max() <= 1.0
