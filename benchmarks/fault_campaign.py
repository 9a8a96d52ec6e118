"""Faults of the whole stack, one after another, with work under way; and what must hold after each.

    python -m benchmarks.fault_campaign [--seconds S] [--seed N] [--part main|clocks|slow] [--out FILE]
    python -m benchmarks.fault_campaign --table FILE [FILE ...] [--short]

Starts every process of docker-compose.yml (:mod:`benchmarks.stack`), two workers, and for each fault:
submits a job, does the harm at a random moment of its way, submits another to a dataset whose budget is
nearly spent, and waits until every job has ended, two minutes at most. Then nothing may be wrong: every
promise of the ledger and of releases, each job's entries, files and digests, ``verify`` over every chain,
``GET /ledger/health``; every so often also ``python -m api.admin.ledger verify``. One JSON line each goes to
the file; the exit code is 0 where nothing was violated. Leases last 8 s instead of 90, and the reaper
looks every second, so that a campaign of hundreds ends within the hour; ``--part slow`` kills workers
under the times of docker-compose.yml. Comparisons are left waiting, unless ``--comparisons`` says
otherwise: they take more time than the releases. ``--part clocks`` needs a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.campaign_faults import CLOCK_FAULTS, FAULTS, SHIFTED, Fault, clocks
from benchmarks.campaign_scene import QUEUES, Scene
from benchmarks.stack import ComposeStack

QUICK = {
    "GRAPHVEIL_LEASE_SECONDS": "8",
    "GRAPHVEIL_HEARTBEAT_SECONDS": "1",
    "GRAPHVEIL_REAPER_POLL_SECONDS": "1",
    "GRAPHVEIL_RING_AGAIN_SECONDS": "5",
    "GRAPHVEIL_VERIFIER_POLL_SECONDS": "20",
}
UNLIMITED = {
    **dict.fromkeys(("GRAPHVEIL_RATE_LIMIT_PER_MINUTE", "GRAPHVEIL_RATE_LIMIT_JOBS_PER_MINUTE"), "0"),
    **dict.fromkeys(("GRAPHVEIL_MAX_OPEN_JOBS", "GRAPHVEIL_MAX_OPEN_KEY_JOBS"), "100000"),
}
COMMAND_EVERY = 20
SLOW = ("worker", "the worker's process")


@dataclass(frozen=True)
class Outcome:
    """One injection. ``ended``: its jobs by state; ``seconds``: from the fault until the last had ended."""

    kind: str
    name: str
    happened: bool
    ended: dict[str, int]
    refused: int
    seconds: float
    violations: list[str]


def injected(scene: Scene, fault: Fault) -> Outcome:
    """What came of one injection."""
    scene.open_jobs.clear()
    refused = scene.refused
    job_id = scene.submit()
    flaws = [] if job_id is not None else ["a dataset with budget refused a job"]
    happened = False
    try:
        happened = job_id is not None and fault.inject(scene, job_id)
        began = time.monotonic()
        scene.submit("poor")
    except RuntimeError as error:
        began = time.monotonic()
        flaws.append(str(error))
    flaws += scene.settled(began)
    seconds = time.monotonic() - began
    flaws += scene.flaws()
    ended = Counter(scene.states().values())
    return Outcome(
        fault.kind, fault.name, happened, dict(ended), scene.refused - refused, round(seconds, 2), flaws
    )


def order(faults: Iterable[Fault], chance: random.Random) -> list[Fault]:
    """Every injection, in an order by chance."""
    found = [fault for fault in faults for _ in range(fault.times)]
    chance.shuffle(found)
    return found


def campaign(scene: Scene, faults: list[Fault], seconds: float, comparisons: bool) -> Iterator[Outcome]:
    """The outcomes, until the time is over; the ledger's own command every so often, and at the end."""
    ends = time.monotonic() + seconds
    for number, fault in enumerate(faults, start=1):
        if time.monotonic() > ends:
            break
        yield injected(scene, fault)
        if number % COMMAND_EVERY == 0:
            print(scene.stack.command("-m", "api.admin.ledger", "verify").splitlines()[-1], file=sys.stderr)
    began = time.monotonic()
    flaws = scene.lost_evaluations() if comparisons else []
    answer = scene.stack.command("-m", "api.admin.ledger", "verify")
    print(answer, scene.charged_jobs(), file=sys.stderr)
    yield Outcome("the end", "comparisons, ledger", True, {}, 0, round(time.monotonic() - began, 2), flaws)


def table(outcomes: Iterable[Outcome], *, short: bool = False) -> Iterator[str]:
    """The outcomes as Markdown: a row a fault, or a kind of fault where ``short``."""
    rows: dict[tuple[str, str], list[Outcome]] = {}
    for each in outcomes:
        rows.setdefault((each.kind, "" if short else each.name), []).append(each)
    yield "| fault | of what | injected | happened | published | failed | refused | longest s | violations |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for (kind, name), found in sorted(rows.items(), key=lambda item: (item[0][0] == "the end", item[0])):
        yield _row(kind, name, found)
    yield _row("all", "", [each for found in rows.values() for each in found if each.kind != "the end"])


def _row(kind: str, name: str, found: list[Outcome]) -> str:
    ended: Counter[str] = sum((Counter(each.ended) for each in found), Counter())
    cells = (
        len(found),
        sum(each.happened for each in found),
        ended.pop("published", 0),
        sum(ended.values()),
        sum(each.refused for each in found),
        f"{max((each.seconds for each in found), default=0.0):.0f}",
        sum(len(each.violations) for each in found),
    )
    return f"| {kind} | {name} | {' | '.join(map(str, cells))} |"


def read(files: Iterable[Path]) -> list[Outcome]:
    """What campaigns wrote."""
    return [Outcome(**json.loads(line)) for file in files for line in file.read_text().splitlines()]


def run(part: str, only: str, seed: int, seconds: float, out: Path, comparisons: bool) -> int:
    """The exit code of one part; its outcomes are appended to the file."""
    chance = random.Random(seed)
    chosen = {
        "main": FAULTS,
        "clocks": CLOCK_FAULTS,
        "slow": tuple(each for each in FAULTS if each.name in SLOW and each.kind == "kill -9"),
    }[part]
    faults = order([each for each in chosen if only in f"{each.kind}: {each.name}"], chance)
    settings, extra = UNLIMITED | (QUICK if part != "slow" else {}), {}
    violated = 0
    with tempfile.TemporaryDirectory(prefix="gv-campaign-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if part == "clocks":
            folder.chmod(0o755)
            extra = clocks(folder, SHIFTED)
        with (
            ComposeStack(
                folder, settings=settings, workers=2, extra=extra, queues="" if comparisons else QUEUES[0]
            ) as stack,
            out.open("a") as lines,
        ):
            scene = Scene.of(stack, seed)
            for outcome in campaign(scene, faults, seconds, comparisons):
                lines.write(json.dumps(asdict(outcome)) + "\n")
                lines.flush()
                violated += len(outcome.violations)
                for flaw in outcome.violations:
                    print(f"{outcome.kind}: {outcome.name}: {flaw}", file=sys.stderr, flush=True)
            scene.close()
            starts = {each: process.starts for each, process in stack.processes.items()}
            print(f"starts: {starts}", file=sys.stderr)
        if violated:
            kept = out.with_suffix(".logs")
            os.makedirs(kept, exist_ok=True)
            for log in (folder / "logs").iterdir():
                (kept / log.name).write_bytes(log.read_bytes())
    return 1 if violated else 0


def main() -> int:
    """The exit code: 0 when nothing was violated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("main", "clocks", "slow"), default="main")
    parser.add_argument("--only", default="", help="faults whose kind and name hold this")
    parser.add_argument("--seconds", type=float, default=3_600.0, help="no fault is begun after so long")
    parser.add_argument("--seed", type=int, default=0, help="of the order and the moments")
    parser.add_argument("--out", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--comparisons", action="store_true", help="workers serve their queue too")
    parser.add_argument("--table", type=Path, nargs="+", help="print the table of these files, and no more")
    parser.add_argument("--short", action="store_true", help="a row a kind of fault")
    asked = parser.parse_args()
    if asked.table:
        found = read(asked.table)
        print("\n".join(table(found, short=asked.short)))
        return 1 if any(each.violations for each in found) else 0
    code = run(asked.part, asked.only, asked.seed, asked.seconds, asked.out, asked.comparisons)
    print("\n".join(table(read([asked.out]))))
    return code


if __name__ == "__main__":
    sys.exit(main())
