"""Which tests fail, and how long they take, where a process has a tenth of a core.

    python -m benchmarks.loaded_tests tests/fault tests/unit/worker [--share 0.1] [--minutes 60]

Runs one file after the other beside loops that do nothing, all at the lowest priority, so that whatever else
the machine does is load too. A tenth of a core is what a process has on two cores at a load of 20: loops
begin and end until each of them has so much. ``--share 1`` adds none. With ``--stall 2`` the tests and all
that they started stand still for two seconds every two seconds, as on a machine that swaps: what goes by the
wall and not by work fails then. Prints a line a file as it ends: its seconds, the share that was had, the
load, how many tests passed, and which failed. What the minutes leave out is named last.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import psutil

ROOT = Path(__file__).resolve().parents[1]
LOOP = [sys.executable, "-c", "while True: pass"]
LOOK_SECONDS = WORK_SECONDS = 2.0
PR_SET_CHILD_SUBREAPER = 36
LOWEST_PRIORITY = 19
MOST_LOOPS = 40


@dataclass
class Load:
    """Loops, as many as leave each the share of a core that is asked for."""

    share: float
    loops: list[subprocess.Popen[bytes]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def hold(self) -> None:
        """Add a loop where each has more than the share, and end one where each has less."""
        self.loops.append(subprocess.Popen(LOOP))
        while True:
            before = [_cpu_seconds(loop.pid) for loop in self.loops]
            began = time.monotonic()
            if self._ended.wait(LOOK_SECONDS):
                break
            spent = [_cpu_seconds(loop.pid) - was for loop, was in zip(self.loops, before, strict=True)]
            had = statistics.mean(spent) / (time.monotonic() - began)
            self.shares.append(had)
            if had > self.share * 1.1 and len(self.loops) < MOST_LOOPS:
                self.loops.append(subprocess.Popen(LOOP))
            elif had < self.share / 1.1 and len(self.loops) > 1:
                _end(self.loops.pop())
        for loop in self.loops:
            _end(loop)

    def taken(self) -> float:
        """The mean share since it was asked for last."""
        had, self.shares = self.shares, []
        return statistics.mean(had) if had else float("nan")

    def end(self) -> None:
        """No loop is left once the holding thread has ended."""
        self._ended.set()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(loop: subprocess.Popen[bytes]) -> None:
    loop.kill()
    loop.wait()


@contextmanager
def loaded(share: float) -> Iterator[Load]:
    """The load is held until the block ends; a share of 1 is no load."""
    load = Load(share)
    thread = threading.Thread(target=load.hold)
    if share < 1:
        thread.start()
    try:
        yield load
    finally:
        load.end()
        if share < 1:
            thread.join()


@contextmanager
def stalling(seconds: float) -> Iterator[None]:
    """All processes that this one or its children started stand still for so long every two seconds."""
    ended = threading.Event()

    def stall() -> None:
        while not ended.wait(WORK_SECONDS):
            stopped = [each for each in psutil.Process().children(recursive=True) if _stopped(each)]
            time.sleep(seconds)
            for process in reversed(stopped):  # tests go on last: none sees another stand still
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    thread = threading.Thread(target=stall)
    if seconds:
        # What loses its parent becomes a child of this process, and stands still too.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if seconds:
            thread.join()


def _stopped(process: psutil.Process) -> bool:
    """Stop the process, unless it stands still by itself or has ended; tell whether it was."""
    with suppress(psutil.NoSuchProcess):
        if process.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
            process.suspend()
            return True
    return False


def run(path: str, seconds: float) -> tuple[int, list[str], bool]:
    """How many tests passed, the names of those that failed with why, and whether all had their turn."""
    with tempfile.TemporaryDirectory(prefix="graphveil-loaded-") as folder:
        report = Path(folder) / "report.xml"
        command = [
            *(sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider"),
            *(f"--junitxml={report}", path),
        ]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        whole = True
        try:
            said = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            whole = False
            process.send_signal(signal.SIGINT)  # it stops its servers, and writes what it knows
            said = process.communicate()[0]
        if not report.exists():
            return 0, [f"{path}: no report: {said.decode(errors='replace')[-500:]}"], whole
        return *_told(ElementTree.parse(report)), whole


def _told(report: ElementTree.ElementTree) -> tuple[int, list[str]]:
    passed, failed = 0, []
    for case in report.iter("testcase"):
        bad = [each for each in case if each.tag in ("failure", "error")]
        passed += not list(case.iter("skipped")) and not bad
        failed += [f"{case.get('name')}: {_short(each.get('message') or '')}" for each in bad]
    return passed, failed


def _short(message: str) -> str:
    return re.sub(r"\s+", " ", message)[:160]


def files_of(paths: Sequence[str]) -> list[str]:
    """The test files of the paths, each once, folders by name."""
    found: list[Path] = []
    for path in paths:
        given = ROOT / path.partition("::")[0]
        found += sorted(given.rglob("test_*.py")) if given.is_dir() else [ROOT / path]
    return list(dict.fromkeys(each.relative_to(ROOT).as_posix() for each in found))


def main() -> int:
    """Print the table; the exit code is 1 where a test failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loaded_tests", description=__doc__)
    parser.add_argument("paths", nargs="+", help="files, folders, or single tests")
    parser.add_argument("--share", type=float, default=0.1, help="of a core, that a process is to have")
    parser.add_argument("--stall", type=float, default=0.0, metavar="SECONDS", help="stand still so long")
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    os.nice(LOWEST_PRIORITY)
    ends, bad, left = time.monotonic() + 60 * asked.minutes, 0, []
    print("| file | seconds | share | load | passed | failed |\n|---|---|---|---|---|---|", flush=True)
    with loaded(asked.share) as load, stalling(asked.stall):
        for path in files_of(asked.paths):
            began = time.monotonic()
            if began >= ends:
                left.append(path)
                continue
            passed, failed, whole = run(path, ends - began)
            bad += len(failed)
            left += [] if whole else [path]
            cells = (f"{time.monotonic() - began:.0f}", f"{load.taken():.2f}", f"{os.getloadavg()[0]:.0f}")
            print(f"| {path} | {' | '.join(cells)} | {passed} | {'; '.join(failed)} |", flush=True)
    if left:
        print("not run to the end:", *left)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
