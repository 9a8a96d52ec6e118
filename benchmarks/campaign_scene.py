"""The running stack as a fault campaign sees it: small jobs on it, who works on them, and what must hold."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import redis
from celery import Celery
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from benchmarks.stack import ComposeStack
from benchmarks.supervised import Supervised
from core.datasets.models import Dataset
from core.jobs.states import TERMINAL
from core.outbox.models import Topic
from core.streams.models import Stream
from core.workflows.common.context import open_services
from core.workflows.ledger import verify
from graphveil.errors import ProblemError, TransportError
from graphveil.sdk.client import Graphveil
from tests.support.faults import children_of
from tests.support.releases import SCHEMA, job_row, ring_edges
from tests.support.world import Piece, World
from worker.limits import PROCESS_NAME

STUCK_SECONDS = 120.0
"""Work that has not ended so long after a fault is lost or stuck."""
QUEUES = ("graphveil", "graphveil-checks", "graphveil-uploads")
REFUSALS = frozenset({"budget-exceeded", "account-blocked"})
AGAIN = frozenset({429, 500, 502, 503, 504})
POOR_EPSILON, RICH_EPSILON = "0.05", "900"
Answer = TypeVar("Answer")


@dataclass
class Scene:
    """Two datasets, one with a budget for five jobs; ``open_jobs``: those of this injection."""

    stack: ComposeStack
    client: Graphveil
    world: World
    chance: random.Random
    datasets: dict[str, str] = field(default_factory=dict)
    open_jobs: list[str] = field(default_factory=list)
    refused: int = 0
    made: int = 0

    @classmethod
    def of(cls, stack: ComposeStack, seed: int) -> Scene:
        """The scene, its datasets ready."""
        os.environ.update(stack.store_environment)
        settings = stack.settings
        world = World(settings, open_services(settings), Dataset(), Dataset(), Stream())
        scene = cls(stack, Graphveil(stack.url, stack.token), world, random.Random(seed))
        for name, epsilon in (("rich", RICH_EPSILON), ("poor", POOR_EPSILON)):
            scene.register(name, epsilon)
        return scene

    def close(self) -> None:
        """Connections are closed."""
        self.client.close()
        self.world.services.close()

    def register(self, name: str, epsilon: str) -> None:
        """A ready dataset takes that role: its content is its own, so that it has a budget of its own."""
        self.made += 1
        declared = {"unit": "edge", "epsilon": epsilon, "graph_schema": SCHEMA.model_dump(mode="json")}
        dataset_id = self.answered(lambda: self.client.register_dataset(f"{name}-{self.made}", **declared)).id
        file = self.stack.folder / "edges.csv"
        file.write_bytes(ring_edges() + f"{self.made % 29},{(self.made * 7 + 3) % 29}\n".encode())
        self.answered(lambda: self.client.upload(dataset_id, file, part="edges"))
        found = self.answered(lambda: self.client.wait_ready(dataset_id, timeout_seconds=STUCK_SECONDS))
        if found.state != "ready":
            raise RuntimeError(f"a dataset ended {found.state}")
        self.datasets[name] = dataset_id

    def answered(self, call: Callable[[], Answer]) -> Answer:
        """What the service answers once it does; a refusal is an answer. RuntimeError after two minutes."""
        ends = time.monotonic() + STUCK_SECONDS
        while True:
            try:
                return call()
            except TransportError:
                last = "no answer"
            except ProblemError as error:
                if error.status not in AGAIN:
                    raise
                last = str(error)
            if time.monotonic() > ends:
                raise RuntimeError(f"the service did not answer within {STUCK_SECONDS:.0f} s: {last}")
            time.sleep(0.2)

    def submit(self, name: str = "rich") -> str | None:
        """A job of 0.01 epsilon was taken; None where its budget refused it. Repeats make one job."""
        key = secrets.token_hex(8)
        request = {"epsilon": "0.01", "method": "edgerand", "repeat": True, "suite": "quick"}
        try:
            job = self.answered(
                lambda: self.client.submit(self.datasets[name], idempotency_key=key, **request)
            )
        except ProblemError as error:
            if error.slug not in REFUSALS:
                raise
            self.refused += 1
            if error.slug == "account-blocked":
                self.register(name, RICH_EPSILON if name == "rich" else POOR_EPSILON)
            return None
        self.open_jobs.append(job.id)
        return job.id

    # who works

    def process(self, name: str) -> Supervised:
        """One supervised process."""
        return self.stack.processes[name]

    @property
    def workers(self) -> list[Supervised]:
        """Every worker."""
        return [each for name, each in self.stack.processes.items() if name.startswith("worker")]

    def at_work(self, job_id: str, seconds: float = 30.0) -> int | None:
        """The process that holds the job, by its id; None if nobody did within the time."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            job = job_row(self.world.services, job_id)
            if job.state == "running" and job.leased_by:
                return int(job.leased_by.split("-")[-2])
            if job.state in TERMINAL:
                return None
            time.sleep(0.05)
        return None

    def worker_of(self, holder: int | None) -> Supervised:
        """The worker whose process that is; any where it is nobody's."""
        found = [each for each in self.workers if holder in children_of(each.pid)]
        return found[0] if found else self.chance.choice(self.workers)

    @property
    def broker(self) -> redis.Redis:
        """A connection to the broker."""
        return redis.Redis.from_url(self.stack.redis_url)

    def ring(self, job_id: str, times: int) -> None:
        """The job is announced that often more, as by a relay that repeats itself."""
        app = Celery(broker=self.stack.redis_url)
        for _ in range(times):
            app.send_task(f"graphveil.{Topic.RUN.value}", args=[job_id], queue=QUEUES[0], retry=False)
        app.close()

    # what must hold

    def settled(self, since: float) -> list[str]:
        """Waits for the open jobs; those that have not ended within two minutes of the fault."""
        while time.monotonic() - since < STUCK_SECONDS:
            states = self._asked(self.states)
            if all(state in TERMINAL for state in states.values()):
                return []
            time.sleep(0.1)
        return [f"{job_id} is {state} after two minutes" for job_id, state in self.states().items()
                if state not in TERMINAL]  # fmt: skip

    def states(self) -> dict[str, str]:
        """The open jobs' states, as the database has them."""
        return {job_id: job_row(self.world.services, job_id).state for job_id in self.open_jobs}

    def flaws(self) -> list[str]:
        """What does not hold: in the ledger, in any promise, in the open jobs' entries and files."""
        found = self._asked(self.world.flaws)
        for job_id in self.open_jobs:
            found += self._asked(lambda job_id=job_id: self.world.flaws_of(Piece(Topic.RUN, job_id)))
        verified = self._asked(lambda: verify.verify_all(self.world.services))
        found += [f"verify: {flaw.subject}: {flaw.detail}" for flaw in verified.flaws]
        health = self.answered(self.client.ledger_health)
        found += [f"health: {each.name} is violated" for each in health.promises if each.status == "violated"]
        return list(dict.fromkeys(found))

    def lost_evaluations(self) -> list[str]:
        """Waits for the comparisons; those that nobody finishes: none of them ended within two minutes."""
        left, moved = self._waiting(), time.monotonic()
        while left and time.monotonic() - moved < STUCK_SECONDS:
            time.sleep(1.0)
            before, left = left, self._waiting()
            moved = time.monotonic() if left < before else moved
        return [f"{left} comparisons wait"] if left else []

    def charged_jobs(self) -> dict[str, int]:
        """How many jobs, published ones and charges there are, over everything."""
        with self.world.services.db.transaction() as session:
            statement = """SELECT (SELECT count(*) FROM jobs),
                (SELECT count(*) FROM jobs WHERE state = 'published'),
                (SELECT count(*) FROM ledger_entries WHERE kind = 'charge')"""
            row = session.execute(text(statement)).one()
        return dict(zip(("jobs", "published", "charges"), map(int, row), strict=True))

    def _waiting(self) -> int:
        with self.world.services.db.transaction() as session:
            found = session.execute(
                text("SELECT count(*) FROM evaluations WHERE state IN ('pending', 'running')")
            )
            return int(found.scalar_one())

    def _asked(self, call: Callable[[], Answer]) -> Answer:
        """The answer, as soon as the database gives one."""
        ends = time.monotonic() + STUCK_SECONDS
        while True:
            try:
                return call()
            except SQLAlchemyError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.2)


def descendants(pid: int) -> list[int]:
    """The process and all below it that are there now."""
    found = [pid]
    for each in found:
        with suppress(FileNotFoundError, ProcessLookupError):
            found += children_of(each)
    return found


def generator_of(holder: int, kind: str = "") -> int | None:
    """The child of that kind, or of any, that works for the worker's process, if one runs."""
    for child in descendants(holder)[1:]:
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{child}/comm").read_text().startswith(f"{PROCESS_NAME}{kind}"):
                return child
    return None
