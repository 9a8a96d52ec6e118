"""How fast a full queue drains, and what that does to the api and to memory.

    python -m benchmarks.drain [--jobs 1000] [--later 100] [--seconds S] [--workers 2]

Starts every process of docker-compose.yml (:mod:`benchmarks.stack`), queues the smallest jobs there are
through ``POST /jobs``, some of them only while the others drain, asks ``GET /jobs/{id}`` all the while,
and samples the resident memory and CPU time of every process. Prints jobs a minute, latencies, CPU
seconds a job, and memory in the first and the last quarter of the drain. The exit code is 1 where a job
did not end published, a charge is missing or stands alone, or the ledger does not verify. With
``--seconds`` it stops after so long, and says how many were left.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sqlalchemy import text

from benchmarks.campaign_scene import Scene, descendants
from benchmarks.fault_campaign import UNLIMITED
from benchmarks.stack import ComposeStack
from worker.limits import PROCESS_NAME

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 5.0
GET_EVERY_SECONDS = 0.25
FLAT_SHARE, FLAT_BYTES = 0.05, 8 * 2**20
"""Memory is flat where its last quarter is no more than this above its first."""


@dataclass
class Samples:
    """``memory``: by process, each sample's bytes with the moment; ``cpu``: seconds, first and last."""

    memory: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    cpu: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, stack: ComposeStack) -> None:
        """One sample of every process; the generators' own processes are left out of its memory."""
        now = time.monotonic()
        for name, process in stack.processes.items():
            members = descendants(process.pid)
            lasting = [pid for pid in members if not _name(pid).startswith(PROCESS_NAME)]
            self.memory.setdefault(name, []).append((now, sum(map(_resident, lasting))))
            spent = sum(map(_cpu, members))
            self.cpu[name] = (self.cpu.get(name, (spent, spent))[0], spent)

    def quarters(self, name: str) -> tuple[float, float]:
        """The medians of the first and the last quarter, in bytes."""
        values = [value for _, value in self.memory[name]]
        quarter = max(1, len(values) // 4)
        return statistics.median(values[:quarter]), statistics.median(values[-quarter:])

    def flat(self, name: str) -> bool:
        """Whether the last quarter is not above the first."""
        first, last = self.quarters(name)
        return last - first <= max(FLAT_BYTES, FLAT_SHARE * first)


def _name(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/comm").read_text()
    return ""


def _resident(pid: int) -> int:
    """Resident memory of its own: what PostgreSQL's processes share fills up once, and is counted in none."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _cpu(pid: int) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / TICKS
    return 0.0


class Reader(threading.Thread):
    """Asks for one job after another; ``seconds`` of each answer."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(name="reader", daemon=True)
        self._scene, self._stopped = scene, threading.Event()
        self.seconds: list[float] = []

    def run(self) -> None:
        """Until it is stopped."""
        while not self._stopped.wait(GET_EVERY_SECONDS):
            job_id = self._scene.chance.choice(self._scene.open_jobs)
            began = time.monotonic()
            self._scene.answered(partial(self._scene.client.job, job_id))
            self.seconds.append(time.monotonic() - began)

    def stop(self) -> None:
        """No further request is sent."""
        self._stopped.set()
        self.join()


def timed_submit(scene: Scene, seconds: list[float]) -> None:
    """One more job waits; how long the answer took is kept."""
    began = time.monotonic()
    if scene.submit() is None:
        raise RuntimeError("the dataset's budget refused a job")
    seconds.append(time.monotonic() - began)


def ended(scene: Scene) -> tuple[int, int]:
    """How many jobs have been published, and how many ended otherwise."""
    counted = """SELECT count(*) FILTER (WHERE state = 'published'),
        count(*) FILTER (WHERE state IN ('failed', 'cancelled', 'rejected')) FROM jobs"""
    with scene.world.services.db.transaction() as session:
        done, failed = session.execute(text(counted)).one()
    return int(done), int(failed)


def told(name: str, seconds: list[float]) -> str:
    """A row of latencies."""
    ordered = sorted(seconds)
    p50, p99 = (ordered[min(len(ordered) - 1, len(ordered) * share // 100)] * 1e3 for share in (50, 99))
    return f"| {name} | {len(ordered)} | {p50:.0f} | {p99:.0f} | {ordered[-1] * 1e3:.0f} |"


def report(samples: Samples, done: int) -> Iterator[str]:
    """Memory and CPU of every process, as Markdown."""
    yield "| process | MiB, first quarter | MiB, last quarter | flat | CPU s a job |"
    yield "|---|---:|---:|---|---:|"
    for name in samples.memory:
        first, last = (value / 2**20 for value in samples.quarters(name))
        began, ended = samples.cpu[name]
        flat = "yes" if samples.flat(name) else "no"
        yield f"| {name} | {first:.0f} | {last:.0f} | {flat} | {(ended - began) / max(1, done):.3f} |"


def drain(scene: Scene, asked: argparse.Namespace) -> bool:
    """Whether everything was published, charged once and verified; the figures are printed."""
    filling: list[float] = []
    posting: list[float] = []
    for _ in range(asked.jobs - asked.later):
        timed_submit(scene, filling)
    samples, reader = Samples(), Reader(scene)
    reader.start()
    (before, failed), began = ended(scene), time.monotonic()
    ends = began + asked.seconds
    every = max(1, (asked.jobs - asked.later) // max(1, asked.later))
    done = before
    while done + failed < asked.jobs and time.monotonic() < ends:
        samples.take(scene.stack)
        while len(posting) < asked.later and len(posting) * every < done:
            timed_submit(scene, posting)
        time.sleep(SAMPLE_SECONDS)
        done, failed = ended(scene)
    reader.stop()
    minutes = (time.monotonic() - began) / 60
    print(f"{done} of {asked.jobs} jobs published, {failed} failed, on {asked.workers} workers")
    print(f"{done - before} of them within {minutes:.1f} min: {(done - before) / minutes:.1f} a minute")
    print("\n| request | answers | p50 ms | p99 ms | longest ms |\n|---|---:|---:|---:|---:|")
    print(told("`POST /jobs`, filling the queue", filling))
    print(told("`POST /jobs`, during the drain", posting or [0.0]))
    print(told("`GET /jobs/{id}`, during the drain", reader.seconds) + "\n")
    print("\n".join(report(samples, done - before)))
    print(f"load average {os.getloadavg()}, {os.cpu_count()} cores")
    counts = scene.charged_jobs()
    flaws = scene.world.flaws()
    if counts["jobs"] != len(scene.open_jobs) or counts["charges"] != counts["published"]:
        flaws.append("jobs or charges are missing")
    print("\n".join(flaws) or "every promise holds", counts)
    print(scene.stack.command("-m", "api.admin.ledger", "verify"))
    unfinished = len(scene.open_jobs) - done - failed
    print(f"{unfinished} left" if unfinished else "the queue is empty")
    return not flaws and not failed and (not unfinished or time.monotonic() >= ends)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--later", type=int, default=100, help="jobs that are queued only during the drain")
    parser.add_argument("--seconds", type=float, default=8 * 3_600.0, help="the drain is left after so long")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="gv-drain-", dir="/tmp", ignore_cleanup_errors=True) as name,
        ComposeStack(Path(name), settings=UNLIMITED, workers=asked.workers) as stack,
    ):
        scene = Scene.of(stack, seed=0)
        good = drain(scene, asked)
        scene.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
