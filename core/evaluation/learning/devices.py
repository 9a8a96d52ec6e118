"""Where models run, and how a run repeats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def device() -> torch.device:
    """An accelerator where torch sees one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def seeded(seed: int) -> Iterator[torch.device]:
    """Inside, torch draws from ``seed``; afterwards its generators are as they were. Yields the device.

    On a CPU the same seed gives the same figures bit for bit for one number of threads. On CUDA the sums of
    sparse products may differ in their last digits.
    """
    place = device()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if place.type == "cuda" else []):
        torch.manual_seed(seed)
        yield place
