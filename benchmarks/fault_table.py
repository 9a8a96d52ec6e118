"""``python -m benchmarks.fault_table [--times N] [--seconds S]``: what breaks, how often, and what it cost.

Each fault is injected N times, at moments spread over the operation, into a service on a real PostgreSQL.
After each, and again once the work has ended, every invariant is checked: those of the ledger, and those over
ledger, jobs, datasets and files. A violation is anything that does not hold.
"""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from core.settings import Settings
from tests.support import postgres
from tests.support.cuts import OPERATIONS, Wired, wired
from tests.support.kills import KILLS
from tests.support.proxy import Moment, wire
from tests.support.victims import LEDGER
from tests.support.world import World, open_world

Injection = Callable[[], tuple[bool, list[str]]]


@contextmanager
def scene() -> Iterator[Wired]:
    """A service of its own, also by way of a wire that breaks."""
    with postgres.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        database = cluster.create()
        settings = Settings(
            database_url=cluster.address(database),
            redis_url="redis://127.0.0.1:1/0",  # nobody rings: the table takes the work itself
            storage_url=(Path(folder) / "objects").as_uri(),
            master_key=secrets.token_hex(32),
            fingerprint_key=secrets.token_hex(32),
            work_folder=Path(folder) / "work",
            rate_limit_per_minute=0,
            rate_limit_jobs_per_minute=0,
        )
        world = open_world(settings)
        with wire(settings.database_url) as made, wired(world, made) as here:
            yield here
        world.close()


def spread(count: int, times: int) -> list[int]:
    """So many numbers from 1 to ``count``, evenly; all of them, again and again, where there are fewer."""
    if times >= count:
        return [1 + k % count for k in range(times)]
    return [count - (count * k) // times for k in range(times)]


def faults(here: Wired, times: int) -> Iterator[tuple[str, list[Injection]]]:
    """Each fault by name, with its injections."""
    for operation in OPERATIONS.values():
        for moment in Moment:
            length = operation.length(here, moment)
            yield (
                f"connection cut: {operation.name}, {moment.value}",
                [lambda n=n, o=operation, m=moment: o.injected(here, m, n) for n in spread(length, times)],
            )
    world = here.world
    for kill in KILLS.values():
        for where, watched in (("its lines", kill.watched), ("the ledger's lines", LEDGER)):
            lines = kill.lines(world, world.settings.work_folder, watched)
            picked = [lines[n - 1] for n in spread(len(lines), times)]
            yield (
                f"kill -9: {kill.name}, {where}",
                [lambda at=at, k=kill: _killed(world, k.name, at) for at in picked],
            )


def _killed(world: World, name: str, line: tuple[str, int]) -> tuple[bool, list[str]]:
    return KILLS[name].injected(world, line)


def main() -> int:
    """The exit code: 0 when nothing was violated."""
    parser = argparse.ArgumentParser(prog="benchmarks.fault_table")
    parser.add_argument("--times", type=int, default=5, help="injections of each fault")
    parser.add_argument("--seconds", type=float, default=600.0, help="no fault is begun after so long")
    parser.add_argument("--only", default="", help="faults whose name holds this")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    ends = time.monotonic() + asked.seconds
    injected = violated = 0
    print("| fault | injected | violations |\n|---|---:|---:|")
    with scene() as here:
        for name, injections in faults(here, asked.times):
            if time.monotonic() > ends:
                break
            if asked.only not in name:
                continue
            outcomes = [inject() for inject in injections]
            count, broken = sum(fired for fired, _ in outcomes), sum(bool(flaws) for _, flaws in outcomes)
            injected, violated = injected + count, violated + broken
            print(f"| {name} | {count} | {broken} |", flush=True)
            for _, flaws in outcomes:
                for flaw in flaws:
                    print(f"  {flaw}", file=sys.stderr)
    print(f"| all | {injected} | {violated} |")
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
