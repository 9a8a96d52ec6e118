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
from functools import partial
from pathlib import Path

import structlog

from core.settings import Settings
from tests.support import postgres
from tests.support.cuts import OPERATIONS, Operation, Wired, wired
from tests.support.doorbells import KILLED, Doorbell
from tests.support.kills import KILLS, Kill
from tests.support.proxy import Moment, wire
from tests.support.servers import Postgres, redis
from tests.support.shelves import StoreMoment
from tests.support.stops import STOPS
from tests.support.victims import LEDGER, Watched
from tests.support.world import World, open_world

Injection = Callable[[], tuple[bool, list[str]]]


@contextmanager
def scene() -> Iterator[Wired]:
    """A service of its own, also by way of a wire that breaks."""
    with postgres.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        database = cluster.create()
        settings = Settings(
            database_url=cluster.address(database),
            redis_url="redis://127.0.0.1:1/0",  # the table takes the work itself
            storage_url=(Path(folder) / "objects").as_uri(),
            master_key=secrets.token_hex(32),
            fingerprint_key=secrets.token_hex(32),
            work_folder=Path(folder) / "work",
            rate_limit_per_minute=0,
            rate_limit_jobs_per_minute=0,
        )
        server = Postgres(cluster)
        server.durable(database)  # what is killed must have kept what it said
        world = open_world(settings)
        with wire(settings.database_url, server) as made, wired(world, made) as here:
            yield here
        world.close()


def spread(count: int, times: int) -> list[int]:
    """So many numbers from 1 to ``count``, evenly; all of them, again and again, where there are fewer."""
    if times >= count:
        return [1 + k % count for k in range(times)]
    return [count - (count * k) // times for k in range(times)]


Fault = tuple[str, Callable[[], list[Injection]]]
"""Its name, and what prepares its injections: that costs a run or two of the operation."""


def faults(here: Wired, bell: Doorbell, times: int) -> Iterator[Fault]:
    """Each fault."""
    for operation in OPERATIONS.values():
        for moment in (*Moment, *StoreMoment):
            what = "object store" if isinstance(moment, StoreMoment) else "connection cut"
            kind = "PostgreSQL" if isinstance(moment, Moment) and moment.kills else what
            yield f"{kind}: {operation.name}, {moment.value}", partial(_each, here, operation, moment, times)
    world = here.world
    for kill in KILLS.values():
        for where, watched in (("its lines", kill.watched), ("the ledger's lines", LEDGER)):
            yield f"kill -9: {kill.name}, {where}", partial(_lines, world, kill, watched, times)
    for stop in STOPS.values():
        yield f"worker stopped: {stop.name}", partial(lambda s: [partial(s.injected, world)] * times, stop)
    for name, killed in KILLED.items():
        yield f"Redis killed: {name}", partial(lambda k: [partial(k, bell)] * times, killed)


def _each(here: Wired, operation: Operation, moment: Moment | StoreMoment, times: int) -> list[Injection]:
    length = operation.length(here, moment)
    numbers = spread(length, times) if length else []  # an operation that does not use the store
    return [partial(operation.injected, here, moment, number) for number in numbers]


def _lines(world: World, kill: Kill, watched: Watched, times: int) -> list[Injection]:
    lines = kill.lines(world, world.settings.work_folder, watched)
    return [partial(kill.injected, world, lines[number - 1]) for number in spread(len(lines), times)]


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
    totals = [0, 0, 0]
    print("| fault | injected | happened | violations |\n|---|---:|---:|---:|")
    with scene() as here, tempfile.TemporaryDirectory() as folder, redis(Path(folder)) as server:
        for name, prepare in faults(here, Doorbell(here.world, server), asked.times):
            if time.monotonic() > ends:
                break
            if asked.only not in name:
                continue
            outcomes = [inject() for inject in prepare()]
            if not outcomes:
                continue
            row = (
                len(outcomes),
                sum(fired for fired, _ in outcomes),
                sum(bool(flaws) for _, flaws in outcomes),
            )
            totals = [total + count for total, count in zip(totals, row, strict=True)]
            print(f"| {name} | {' | '.join(map(str, row))} |", flush=True)
            for _, flaws in outcomes:
                for flaw in flaws:
                    print(f"  {flaw}", file=sys.stderr)
    print(f"| all | {' | '.join(map(str, totals))} |")
    return 1 if totals[2] else 0


if __name__ == "__main__":
    sys.exit(main())
