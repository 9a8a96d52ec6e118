"""Which tests fail, and which take longest, while other work keeps the machine busy.

    python -m benchmarks.loaded_tests tests/fault tests/integration/api [--loops 20] [--minutes 15]

Runs the paths as ``make test`` does, beside loops that do nothing. Each loop is a session of its own: kernels
that share time between sessions would give all of them together what one test has. Prints what failed, the
slowest tests, and the load; what is still under way after the minutes counts as not run.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLOWEST = 20


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes compute without end, and none after the block."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(paths: Sequence[str], seconds: float) -> tuple[str, bool]:
    """What pytest printed, and whether it came to its end in time."""
    command = [
        *(sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"),
        *("-p", "no:cacheprovider", "-v", "-v", f"--durations={SLOWEST}", *paths),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        return process.communicate(timeout=seconds)[0], True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it stops its servers, and prints what it knows
        return process.communicate()[0], False


def main() -> int:
    """Print the table; the exit code is 1 where a test failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loaded_tests", description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--loops", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=15.0)
    asked = parser.parse_args()
    began = time.monotonic()
    with busy(asked.loops):
        printed, whole = run(asked.paths, 60 * asked.minutes)
        load = os.getloadavg()[1]
    lines = printed.splitlines()
    passed = sum(" PASSED " in line for line in lines)
    failed = sorted({line for line in lines if line.startswith(("FAILED ", "ERROR "))})
    slowest = [line for line in lines if re.match(r"\d+\.\d+s (call|setup|teardown) ", line)]
    print(
        f"{passed} passed, {len(failed)} failed in {time.monotonic() - began:.0f} s at a load of {load:.0f}"
    )
    if not whole:
        print("the time was over before the last of them")
    print(*failed, *slowest, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
