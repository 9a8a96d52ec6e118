"""Compiled work of one job on several threads, in pieces that share nothing they write.

``GRAPHVEIL_JOB_THREADS`` says on how many; 1 by default. Threads live as long as one such work, so that none
is there before a child's fork. How many are used hangs on that number and the work's length alone, which no
answer tells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
VARIABLE = "GRAPHVEIL_JOB_THREADS"
PIECES_A_THREAD = 4  # so that threads end together though pieces differ


def job_threads() -> int:
    """On how many threads this process computes."""
    return max(1, int(os.environ.get(VARIABLE) or 1))


def cut(length: int, least: int) -> Sequence[tuple[int, int]]:
    """Where pieces of 0..length begin and end, none shorter than ``least`` but where all are one."""
    threads = job_threads()
    count = 1 if threads == 1 else max(1, min(threads * PIECES_A_THREAD, length // least))
    return [(length * k // count, length * (k + 1) // count) for k in range(count)]


def each(work: Callable[[int, int], Result], pieces: Sequence[tuple[int, int]]) -> list[Result]:
    """What ``work(low, high)`` gives of every piece, in order; side by side where there are several.

    ``work`` lets go of the interpreter's lock for most of its time, as kernels with ``nogil`` do.
    """
    if len(pieces) == 1:
        return [work(*pieces[0])]
    with ThreadPoolExecutor(min(job_threads(), len(pieces))) as pool:
        return list(pool.map(lambda piece: work(*piece), pieces))
