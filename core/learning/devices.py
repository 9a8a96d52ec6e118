"""Where models run, how exactly, and how a run repeats. The one place where a device is chosen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_chosen: ContextVar[torch.device | None] = ContextVar("chosen", default=None)


def device() -> torch.device:
    """Choose an accelerator where torch sees one. Else it is the CPU; within :func:`on`, that."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def on(place: torch.device | str) -> Iterator[torch.device]:
    """Let everything inside run on ``place``, whatever torch sees."""
    kept = _chosen.set(torch.device(place))
    try:
        yield torch.device(place)
    finally:
        _chosen.reset(kept)


def limit_memory(fraction: float) -> None:
    """Limit this process's share of its GPU's memory. It takes that share at most; nothing where it has none.

    What is beyond it raises torch.OutOfMemoryError, whoever else computes there.
    """
    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(fraction)


def compute_exactly() -> None:
    """Have CUDA compute exactly. It uses the formats that tensors say, and one order where its kernels have
    one.

    TF32 keeps 10 of 23 bits of a product's factors; sums in half precision keep as few. The workspace of
    fixed size keeps the order of a product's sums, and is read when CUDA starts. DP-SGD refuses to train
    otherwise (:func:`core.privacy.mechanisms.gradients.require_float32`).
    """
    # Read by cuBLAS when it starts: later it would have no effect.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    # Some kernels have no fixed order: warned of, as they are of use all the same.
    torch.use_deterministic_algorithms(True, warn_only=True)


@contextmanager
def one_thread(place: torch.device | None = None) -> Iterator[torch.device]:
    """Let torch compute with one CPU thread inside. Afterwards it has as many as before. Yields the device.

    That is ``place``, or without it :func:`device`; CUDA computes exactly from then on.
    """
    place = place or device()
    if place.type == "cuda":
        compute_exactly()
    threads = torch.get_num_threads()
    # The order of floating-point sums follows the number of threads, and trained weights follow the sums.
    torch.set_num_threads(1)
    try:
        yield place
    finally:
        torch.set_num_threads(threads)


@contextmanager
def seeded(seed: int, place: torch.device | None = None) -> Iterator[torch.device]:
    """Compute as :func:`one_thread`, with draws from ``seed``. Torch's generators are restored afterwards.

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
