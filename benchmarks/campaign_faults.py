"""The faults of a campaign: what each does to the running stack, and how often it is done.

A fault is given the job that it is to hit, and returns whether it happened. What it breaks is whole again
when it returns, or is being started again by the supervisor.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.campaign_scene import QUEUES, Scene, descendants, generator_of
from benchmarks.store_gate import Gate
from tests.support.faults import alive

DAEMONS = ("validator", "relay", "reaper", "verifier", "webhooks", "exporter")
AWAY_SECONDS = (1.0, 5.0)
"""How long storage goes on refusing: between these."""
UNTIL_SECONDS = 30.0
PAUSE_BEYOND_SECONDS = 2.0
JUMPS = {"a day ahead": 86_400, "a day back": -86_400}
DATABASE_JUMPS = {"an hour ahead": 3_600, "half a minute back": -30}

Inject = Callable[[Scene, str], bool]


@dataclass(frozen=True)
class Fault:
    """``kind``: the row of the table that it belongs to; ``times``: how often in one campaign."""

    kind: str
    name: str
    times: int
    inject: Inject


def _killed(name: str, scene: Scene, job_id: str) -> bool:
    """``kill -9`` of the first process; the others of its container go with it."""
    _now_or_later(scene)
    process = scene.process(name)
    return process.ended(process.send(signal.SIGKILL), 10.0)


def _stopped(name: str, scene: Scene, job_id: str) -> bool:
    """As ``docker stop``: asked, and killed after the grace, which it must not come to."""
    _now_or_later(scene)
    return _asked_to_stop(scene.process(name).send(signal.SIGTERM), scene, name)


def _asked_to_stop(pid: int, scene: Scene, name: str) -> bool:
    process = scene.process(name)
    if process.ended(pid, process.stop_seconds):
        return True
    os.kill(pid, signal.SIGKILL)
    raise RuntimeError(f"{name} did not stop within {process.stop_seconds:.0f} s")


def _api_process_killed(scene: Scene, job_id: str) -> bool:
    _now_or_later(scene)
    children = descendants(scene.process("api").pid)[1:]
    return _gone(scene.chance.choice(children)) if children else False


def _worker(number: int, scene: Scene, job_id: str) -> bool:
    """The worker that is at the job, or any, gets the signal."""
    holder = scene.at_work(job_id)
    _now_or_later(scene)
    worker = scene.worker_of(holder)
    pid = worker.send(number)
    if number == signal.SIGTERM:
        return _asked_to_stop(pid, scene, worker.name)
    return worker.ended(pid, 10.0)


def _worker_process_killed(scene: Scene, job_id: str) -> bool:
    """The process of the pool that is at the job: its parent lives on and makes another."""
    holder = scene.at_work(job_id)
    _now_or_later(scene)
    return holder is not None and _gone(holder)


def _generator_killed(scene: Scene, job_id: str) -> bool:
    holder = scene.at_work(job_id)
    ends = time.monotonic() + 5.0
    while holder is not None and time.monotonic() < ends:
        child = generator_of(holder)
        if child is not None:
            time.sleep(scene.chance.uniform(0.0, 1.0))
            return _gone(child)
        time.sleep(0.02)
    return False


def _paused(scene: Scene, job_id: str) -> bool:
    """The job's worker stands still past its lease, another takes the job, and the first wakes up."""
    holder = scene.at_work(job_id)
    if holder is None:
        return False
    frozen = descendants(scene.worker_of(holder).pid)
    for pid in frozen:
        _signal(pid, signal.SIGSTOP)
    time.sleep(scene.world.settings.lease_seconds + PAUSE_BEYOND_SECONDS + scene.chance.uniform(0.0, 4.0))
    for pid in frozen:
        _signal(pid, signal.SIGCONT)
    return True


def _rung_for_both(scene: Scene, job_id: str) -> bool:
    scene.ring(job_id, len(scene.workers))
    return True


def _rung_when_done(scene: Scene, job_id: str) -> bool:
    """Messages of a job come while it runs, and again once it has ended."""
    scene.ring(job_id, 2)
    scene.settled(time.monotonic())
    scene.ring(job_id, 2)
    time.sleep(1.0)
    return True


def _lost_messages(scene: Scene, job_id: str) -> bool:
    """More jobs than workers, and what waits in the broker is gone."""
    for _ in scene.workers:
        scene.submit()
    ends = time.monotonic() + 5.0
    with scene.broker as broker:
        while time.monotonic() < ends:
            if broker.llen(QUEUES[0]):
                return bool(broker.delete(*QUEUES))
            time.sleep(0.01)
    return False


def _flushed(scene: Scene, job_id: str) -> bool:
    _now_or_later(scene)
    with scene.broker as broker:
        return bool(broker.flushall())


def _redis(number: int, scene: Scene, job_id: str) -> bool:
    _now_or_later(scene)
    process = scene.process("redis")
    return process.ended(process.send(number), process.stop_seconds)


def _postgres(number: int, scene: Scene, job_id: str) -> bool:
    """SIGINT: fast; SIGQUIT: immediate, as a crash, and it recovers from its log."""
    _now_or_later(scene)
    process = scene.process("postgres")
    return process.ended(process.send(number), process.stop_seconds)


def _storage(state: Gate, scene: Scene, job_id: str) -> bool:
    """From some moment of the job's way until somebody was turned away, and a little longer."""
    _now_or_later(scene)
    gate = scene.stack.gate
    before, ends = gate.answered[state], time.monotonic() + UNTIL_SECONDS
    gate.state = state
    while gate.answered[state] == before and time.monotonic() < ends:
        time.sleep(0.05)
    time.sleep(scene.chance.uniform(*AWAY_SECONDS))
    gate.state = Gate.OPEN
    return gate.answered[state] > before


def _jumped(name: str, seconds: int, scene: Scene, job_id: str) -> bool:
    """The process's clock jumps under it, and stays so; its monotonic clock does not."""
    _now_or_later(scene)
    shift(scene, name, seconds)
    time.sleep(2.0)
    return True


def shift(scene: Scene, name: str, seconds: int) -> None:
    """The clock of the process is that much further from the true one."""
    file = scene.stack.folder / "clocks" / name
    with file.open("r+b") as shared:  # in place: the process has it mapped
        (before,) = struct.unpack("q", shared.read())
        shared.seek(0)
        shared.write(struct.pack("q", before + seconds))


def clocks(folder: Path, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The environment under which each process reads its clock's error from a file of its own. Needs a cc."""
    library = folder / "clock.so"
    source = Path(__file__).with_name("shifted_clock.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    (folder / "clocks").mkdir()
    for name in names:
        (folder / "clocks" / name).write_bytes(struct.pack("q", 0))
    return {
        name: {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(folder / "clocks" / name)} for name in names
    }


def _now_or_later(scene: Scene) -> None:
    """Some moment of the job's way."""
    time.sleep(scene.chance.uniform(0.0, 2.0))


def _gone(pid: int) -> bool:
    _signal(pid, signal.SIGKILL)
    ends = time.monotonic() + 5.0
    while alive(pid) and time.monotonic() < ends:
        time.sleep(0.02)
    return not alive(pid)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _fault(kind: str, name: str, times: int, inject: Callable[..., bool], *given: object) -> Fault:
    return Fault(kind, name, times, partial(inject, *given))


FAULTS = (
    _fault("kill -9", "api", 7, _killed, "api"),
    _fault("kill -9", "one process of the api", 6, _api_process_killed),
    _fault("kill -9", "worker", 12, _worker, signal.SIGKILL),
    _fault("kill -9", "the worker's process", 10, _worker_process_killed),
    _fault("kill -9", "the generator's process", 7, _generator_killed),
    *(_fault("kill -9", name, 7, _killed, name) for name in DAEMONS),
    _fault("SIGTERM", "api", 7, _stopped, "api"),
    _fault("SIGTERM", "worker", 8, _worker, signal.SIGTERM),
    *(_fault("SIGTERM", name, 5, _stopped, name) for name in DAEMONS),
    _fault("Redis", "restart", 7, _redis, signal.SIGTERM),
    _fault("Redis", "kill -9", 6, _redis, signal.SIGKILL),
    _fault("Redis", "FLUSHALL", 7, _flushed),
    _fault("PostgreSQL", "fast restart", 7, _postgres, signal.SIGINT),
    _fault("PostgreSQL", "immediate restart", 7, _postgres, signal.SIGQUIT),
    _fault("PostgreSQL", "kill -9", 5, _postgres, signal.SIGKILL),
    _fault("storage", "refuses (503)", 8, _storage, Gate.REFUSING),
    _fault("storage", "is full (507)", 8, _storage, Gate.FULL),
    _fault("messages", "lost", 8, _lost_messages),
    _fault("messages", "repeated, and again after the end", 7, _rung_when_done),
    _fault("two workers, one job", "rung for both", 7, _rung_for_both),
    _fault("two workers, one job", "paused past its lease", 7, _paused),
)

CLOCKED = ("api", "worker", "worker-2", "relay", "reaper", "verifier")
SHIFTED = (*CLOCKED, "postgres")
CLOCK_FAULTS = (
    *(
        _fault("clock jump", f"{name}: {what}", 1, _jumped, name, seconds)
        for name in CLOCKED
        for what, seconds in JUMPS.items()
    ),
    *(
        _fault("clock jump", f"PostgreSQL: {what}", 3, _jumped, "postgres", seconds)
        for what, seconds in DATABASE_JUMPS.items()
    ),
)
"""In a stack of their own, whose processes have the library of ``shifted_clock.c`` preloaded."""
