"""The w-event account under a stream that does not end: the ledger service on a real PostgreSQL.

    python -m benchmarks.ledger_soak --ticks 1000000 --window 10 --per-transaction 25

Two processes share one account and spend the whole of every window. Each release reserves, keeps and charges
epsilon / w a tick, or with ``--method`` what a live stream of that method plans for it; now and then it
forfeits, gives back and asks again, tries one nano-epsilon too much, or asks for the whole graph. Both race
for the last tick of every chunk, which only one may have. Every stage is checked against the ledger's
invariants, and its windows are summed again from the entries alone. A line of JSON a stage, one at the end;
an error, and exit status 1, when anything is not as it must be.

``--stretch`` ticks make one release, as when a backlog of snapshots is released at once; in every tenth
chunk, whatever the stretch, each tick is released alone. Times are told for both. ``--per-transaction`` joins
the transitions of that many releases, as a stream that catches up would; 1 is how single snapshots arrive.
``--durable`` waits for the disk at every commit, as the service does.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db import migrate
from core.db.session import Database
from core.errors import BudgetExceeded
from core.ids import new_id
from core.ledger import service
from core.ledger.invariants import INVARIANTS, ChainIntact
from deploy.local.servers import EmbeddedPostgres

PROCESSES = 2
CHUNK = 500
SHARE = 10**8
DIGESTS = {"edges.parquet": "ab" * 32}
TABLES = ("budget_accounts", "budget_balances", "budget_holds", "ledger_entries")

# Every window of every step of the stream, gaps included, summed from the entries; the balances have no say.
FULLEST = text("""
WITH spend AS (
    SELECT CAST(substr(m.key, 6) AS integer) AS step,
        sum(CASE WHEN e.kind = 'reserve' THEN 1 WHEN e.kind IN ('release', 'expire') THEN -1 ELSE 0 END
            * CAST(m.value AS numeric)) AS amount
    FROM ledger_entries AS e, jsonb_each_text(e.amounts) AS m
    WHERE e.account_id = :account_id AND m.key LIKE 'step/%' GROUP BY 1
), stream AS (
    SELECT step, coalesce(amount, 0) AS amount
    FROM generate_series(0, :ticks - 1) AS step LEFT JOIN spend USING (step)
)
SELECT max(total), (SELECT count(*) FROM spend), (SELECT min(amount) FROM stream) FROM (
    SELECT sum(amount) OVER (ORDER BY step ROWS BETWEEN :reach PRECEDING AND CURRENT ROW) AS total FROM stream
) AS windows
""")
USED = text("""
SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()
""")


@dataclass(frozen=True)
class Stream:
    """What every process of the soak knows."""

    url: str
    account_id: str
    window: int
    stretch: int
    per_transaction: int
    costs: tuple[int, ...]
    """Nano-epsilon of a window's steps, by their place in it."""

    def amounts(self, steps: Iterable[int]) -> dict[str, int]:
        """What those steps cost."""
        return {f"step/{step}": self.costs[step % self.window] for step in steps}


def planned(method: str, window: int) -> tuple[int, ...]:
    """What a live stream of the method is charged for the steps of a window, by its own plans."""
    from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
    from core.methods import registry
    from core.methods.base import PublicFacts
    from core.privacy.units import Unit

    schema = GraphSchema(
        node_types=(NodeType(count=10_000),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=1)
    )
    generator = registry.get(method)
    return tuple(
        generator.plan(
            generator.Params(), PublicFacts(schema, Unit.W_EVENT, window, window * SHARE, 0, ("edge",), step)
        ).spend("basic")[f"step/{step}"]
        for step in range(window)
    )


Tally = Counter[str]
"""How often what happened; under names that begin with ``ticks``, ``seconds`` and ``cpu``, sums of those."""


def soak(
    url: str,
    *,
    ticks: int,
    window: int,
    stage: int,
    stretch: int = 1,
    per_transaction: int = 1,
    method: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The account has seen ``ticks`` ticks; one finding a stage. Raises AssertionError where one is wrong.

    ``ticks`` and ``stage`` are multiples of ``2 * CHUNK``, and ``window`` at most half a chunk.
    """
    if ticks % stage or stage % (PROCESSES * CHUNK) or not 1 < window <= CHUNK // 2:
        raise ValueError("ticks and stages are whole chunks, and a window is at most half a chunk")
    database = Database(url)
    costs = (SHARE,) * window if method is None else planned(method, window)
    with database.transaction() as session:
        account = service.open_account(
            session,
            tenant="soak",
            domain=new_id("domain"),
            unit="w-event",
            window=window,
            filter="basic",
            nano_epsilon=sum(costs),
            delta_atto=0,
            actor="soak",
            reason="soak",
        )
    stream = Stream(url, account.id, window, stretch, per_transaction, costs)
    size = _sizes(database)
    for first in range(0, ticks, stage):
        blocks, started = _blocks(database), time.perf_counter()
        tally = _run(stream, first, first + stage)
        seconds = time.perf_counter() - started
        blocks = _blocks(database) - blocks
        sizes = _sizes(database)
        kinds = [kind for kind in ("alone", "stretch") if tally[f"ticks {kind}"]]
        yield {
            "ticks": first + stage,
            "milliseconds_per_tick": round(seconds / stage * 1e3, 3),
            **{
                f"milliseconds_per_tick_{kind}": round(
                    tally[f"seconds {kind}"] / PROCESSES / tally[f"ticks {kind}"] * 1e3, 3
                )
                for kind in kinds
            },
            "client_cpu_milliseconds_per_tick": round(tally["cpu"] / stage * 1e3, 3),
            "blocks_per_tick": round(blocks / stage, 1),
            "bytes_per_tick": {name: round((sizes[name] - size[name]) / stage, 1) for name in TABLES},
            **_checked(database, stream, first + stage, chain=first + stage == ticks),
            "outcomes": {name: count for name, count in sorted(tally.items()) if isinstance(count, int)},
        }
        size = sizes
    database.dispose()


def _run(stream: Stream, first: int, last: int) -> Tally:
    """The steps from ``first`` to before ``last`` are spent, by all processes at once."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(PROCESSES), context.Queue()
    workers = [
        context.Process(target=_work, args=(stream, first, last, number, barrier, answers))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    tally = Tally()
    told = 0
    while told < PROCESSES and not any(worker.exitcode for worker in workers):
        try:
            tally += answers.get(timeout=0.5)
            told += 1
        except queue.Empty:
            continue
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0, "a process of the soak failed"
    contests = (last - first) // CHUNK
    assert tally["contest won"] == tally["contest lost"] == contests, tally
    assert tally["ticks alone"] + tally["ticks stretch"] + contests == last - first, tally
    return tally


def _work(stream: Stream, first: int, last: int, number: int, barrier: Any, answers: Any) -> None:
    """One process: its chunks but for their last ticks, and a race for those."""
    database, tally = Database(stream.url), Tally()
    try:
        for round_first in range(first, last, PROCESSES * CHUNK):
            alone = stream.stretch == 1 or round_first // (PROCESSES * CHUNK) % 10 == 0
            started = time.perf_counter()
            chunk = round_first + number * CHUNK
            _chunk(database, stream, chunk, 1 if alone else stream.stretch, tally)
            kind = "alone" if alone else "stretch"
            tally[f"ticks {kind}"] += CHUNK - 1
            tally[f"seconds {kind}"] += time.perf_counter() - started  # type: ignore[assignment]
            barrier.wait(timeout=600)
            for other in range(PROCESSES):
                step = round_first + (other + 1) * CHUNK - 1
                with database.transaction() as session:
                    won = _fits(session, stream, stream.amounts([step]), step, tally)
                tally["contest won" if won else "contest lost"] += 1
            barrier.wait(timeout=600)
    except BaseException:
        barrier.abort()
        raise
    database.dispose()
    tally["cpu"] += time.process_time()  # type: ignore[assignment]
    answers.put(tally)


def _chunk(database: Database, stream: Stream, chunk: int, stretch: int, tally: Tally) -> None:
    """The chunk's ticks but the last are spent, ``stretch`` of them a release."""
    end = chunk + CHUNK - 1
    releases = [range(first, min(first + stretch, end)) for first in range(chunk, end, stretch)]
    for start in range(0, len(releases), stream.per_transaction):
        with database.transaction() as session:
            for steps in releases[start : start + stream.per_transaction]:
                _release(session, stream, steps, chunk, tally)


def _release(session: Session, stream: Stream, steps: range, chunk: int, tally: Tally) -> None:
    """The life of one release, with what now and then goes otherwise."""
    amounts = stream.amounts(steps)
    number, last = steps[0] // len(steps), steps[-1]
    if number % 101 == 0:
        reservation = _reserve(session, stream, amounts, number)
        service.release(
            session, reservation, reason="host gone", actor="soak", give_back=False, block_after=3
        )
        tally["given back"] += 1
    spent = _fits(session, stream, amounts, number, tally)
    assert spent, f"ticks {steps} were refused"
    if last - chunk < stream.window:
        return
    # The window that ends here is this process's own, and full: not one nano-epsilon more fits.
    whole = {f"step/{step}": 1 for step in range(last, last + 3)}
    for every, extra in ((103, {f"step/{last}": 1}), (107, whole | {"untimed": 1}), (109, {"untimed": 1})):
        if number % every == 0:
            assert not _fits(session, stream, extra, number, tally)


def _fits(session: Session, stream: Stream, amounts: dict[str, int], number: int, tally: Tally) -> bool:
    """True when the amounts were reserved and spent; False when they were refused."""
    try:
        reservation = _reserve(session, stream, amounts, number)
    except BudgetExceeded:
        tally["refused"] += 1
        return False
    service.keep(session, reservation)
    if number % 97 == 0:
        service.forfeit(session, reservation, reason="timed_out", actor="soak")
    else:
        service.charge(session, reservation, digests=DIGESTS, actor="soak")
    tally["forfeited" if number % 97 == 0 else "charged"] += 1
    return True


def _reserve(session: Session, stream: Stream, amounts: dict[str, int], number: int) -> str:
    return service.reserve(
        session,
        stream.account_id,
        amounts=amounts,
        unit="w-event",
        window=stream.window,
        job_id=f"job_{number}",
        actor="soak",
        expires_in_seconds=3600.0,
    )


def _checked(database: Database, stream: Stream, ticks: int, *, chain: bool) -> dict[str, Any]:
    """Seconds of the checks and the fullest window. The chain is walked where asked: O(entries) in Python."""
    started = time.perf_counter()
    with database.transaction() as session:
        for invariant in INVARIANTS:
            if chain or not isinstance(invariant, ChainIntact):
                violations = invariant.check(session, stream.account_id)
                assert violations == [], violations
        parameters = {"account_id": stream.account_id, "ticks": ticks, "reach": stream.window - 1}
        fullest, steps, least = session.execute(FULLEST, parameters).one()
        told = service.statement(session, stream.account_id)
    due = sum(stream.costs), ticks, min(stream.costs)
    assert (fullest, steps, least) == due, (fullest, steps, least)
    assert told.remaining.nano_epsilon == told.reserved.nano_epsilon == 0
    return {
        "fullest_window": int(fullest),
        "capacity": sum(stream.costs),
        "chain_walked": chain,
        "check_seconds": round(time.perf_counter() - started, 1),
    }


def _sizes(database: Database) -> dict[str, int]:
    with database.transaction() as session:
        query = "SELECT " + ", ".join(f"pg_total_relation_size('{name}')" for name in TABLES)
        return dict(zip(TABLES, session.execute(text(query)).one(), strict=True))


def _blocks(database: Database) -> int:
    """Pages that the database has looked at so far; told with a little delay."""
    time.sleep(1.1)
    with database.transaction() as session:
        return int(session.execute(USED).scalar_one())


def main() -> int:
    """A soak on a server of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ticks", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--stretch", type=int, default=1)
    parser.add_argument("--per-transaction", type=int, default=1)
    parser.add_argument("--method", help="charge what its live streams plan; evenly if absent")
    parser.add_argument("--stage", type=int, default=100_000)
    parser.add_argument("--durable", action="store_true")
    parser.add_argument(
        "--folder", type=Path, help="where the server keeps its files; a temporary one if absent"
    )
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="gv-soak-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(folder / "data", password=secrets.token_hex(16)) as server:
        migrate.upgrade(server.url)
        if not options.durable:
            database = Database(server.url)
            with database.transaction() as session:
                session.execute(text("ALTER DATABASE graphveil SET synchronous_commit = off"))
            database.dispose()
        found = []
        for finding in soak(
            server.url,
            ticks=options.ticks,
            window=options.window,
            stage=options.stage,
            stretch=options.stretch,
            per_transaction=options.per_transaction,
            method=options.method,
        ):
            found.append(finding)
            print(json.dumps(finding), flush=True)
    first, last = found[0], found[-1]
    compared = [name for name in first if "_per_tick" in name and name in last]
    ratios = {name: round(last[name] / first[name], 3) for name in compared if name != "bytes_per_tick"}
    ratios["bytes_per_tick"] = round(
        sum(last["bytes_per_tick"].values()) / sum(first["bytes_per_tick"].values()), 3
    )
    print(json.dumps({"ticks": last["ticks"], "last_stage_over_first": ratios}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
