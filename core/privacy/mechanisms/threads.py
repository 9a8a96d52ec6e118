"""Compiled work of one job on several threads. It is in pieces that share nothing they write.

A worker tells its children on how many (:func:`allow`); before, it is one. Threads live as long as one such
work, so that none is there before a child's fork. How many are used hangs on that number and the work's
length alone, and what comes out has the same law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
MOST_PIECE = 2**26  # of a longer one, what is beside it in memory would be as long again
PIECES_A_THREAD = 4  # so that threads end together though pieces differ


_allowed = 1


def allow(threads: int) -> None:
    """Compute on so many threads from here on, in this process."""
    global _allowed
    _allowed = max(1, threads)


def job_threads() -> int:
    """On how many threads this process computes."""
    return _allowed


def cut(length: int, least: int) -> Sequence[tuple[int, int]]:
    """Cut 0..length into pieces. Returned is where they begin and end, none shorter than ``least`` but where
    all are one, none longer than MOST_PIECE."""
    threads = job_threads()
    count = 1 if threads == 1 else max(1, min(threads * PIECES_A_THREAD, length // least))
    count = max(count, -(-length // MOST_PIECE))
    # Cut in whole numbers: no gaps, and lengths that differ by one at most.
    return [(length * k // count, length * (k + 1) // count) for k in range(count)]


def on_threads(work: Callable[[int, int], Result], pieces: Sequence[tuple[int, int]]) -> list[Result]:
    """Compute ``work(low, high)`` of every piece, in order. Pieces run side by side where there are several.

    ``work`` lets go of the interpreter's lock for most of its time, as kernels with ``nogil`` do.
    """
    if len(pieces) == 1:
        return [work(*pieces[0])]
    with ThreadPoolExecutor(min(job_threads(), len(pieces))) as pool:
        return list(pool.map(lambda piece: work(*piece), pieces))
