"""``python -m benchmarks.fault_harness_check``: does what looks for violations find the mistakes it should?

Each known mistake is planted into a service of its own, and the part of the harness that should notice it
runs once without and once with it. The exit code is 0 when every mistake is found, and nothing else is.
"""

from __future__ import annotations

import logging
import sys

import structlog

from benchmarks.fault_table import scene
from tests.support.planted import MISTAKES


def main() -> int:
    """The exit code."""
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    missed = 0
    print("| mistake | part of the harness | without it | with it | first finding |\n|---|---|---:|---:|---|")
    for mistake in MISTAKES.values():
        with scene() as here:
            before, found = mistake.look(here), mistake.found(here)
        missed += bool(before) or not found
        first = found[0].splitlines()[0][:100] if found else "-"
        print(f"| {mistake.name} | {mistake.part} | {len(before)} | {len(found)} | {first} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
