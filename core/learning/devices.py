"""Where models run, and how a run repeats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def device() -> torch.device:
    """Choose an accelerator where torch sees one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def one_thread(place: torch.device | None = None) -> Iterator[torch.device]:
    """Let torch compute with one CPU thread inside, afterwards with as many as before. Yields the device.

    That is ``place``, or without it :func:`device`.

    The order of floating-point sums follows the number of threads, and trained weights follow the sums.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield place or device()
    finally:
        torch.set_num_threads(threads)


@contextmanager
def seeded(seed: int, place: torch.device | None = None) -> Iterator[torch.device]:
    """Compute as :func:`one_thread`, with draws from ``seed``; torch's generators are restored afterwards.

    On a CPU the same seed gives the same figures bit for bit, whatever the number of cores. On CUDA the sums
    of sparse products may differ in their last digits.
    """
    with one_thread(place) as place:
        cuda = range(torch.cuda.device_count()) if place.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda):
            reseed(seed, place)
            yield place


def reseed(seed: int, place: torch.device) -> None:
    """Let torch draw from ``seed`` on the CPU and on ``place``.

    As ``torch.manual_seed``, which also notes each seed, with a stack trace, for devices that no one uses:
    memory and time that grow with the number of batches.
    """
    torch.default_generator.manual_seed(seed)
    if place.type == "cuda":
        torch.cuda.manual_seed(seed)
