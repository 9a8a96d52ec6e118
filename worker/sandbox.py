"""What a child does, by kind of work. It is without credentials or connections, in a folder of its own.

It is a fork of the worker's fork server (:mod:`worker.fork_server`). It reads and writes its folder, and
speaks to its supervisor over two pipes. Before a release opens its graph,
and before a metered operation draws, the supervisor has answered that its record is durable.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import LeaseLost, PrivacyViolation
from core.late import late
from core.privacy.mechanisms import threads

if TYPE_CHECKING:
    from core.privacy.accounting.meter import TranscriptEntry

EXIT_FAILED = 70
EXIT_MEMORY = 71
EXIT_VIOLATION = 72
PROGRESS_PARTS = 20
"""Progress messages of a stage, at most, between its first and its last step."""


@dataclass(frozen=True)
class GivenGpu:
    """The one GPU that a child sees, if any. See :class:`worker.own_gpu.Gpu`."""

    uuid: str
    files: list[str]
    memory_fraction: float


@dataclass(frozen=True)
class Order:
    """What a child is to do. It has the kind of work, its folder, on which GPU and on how many threads."""

    kind: str
    folder: Path
    gpu: GivenGpu | None = None
    threads: int = 1


class Channel:
    """The child's end of the pipes. It is the recorder of its meter, and its progress."""

    def __init__(self, events: int, answers: int) -> None:
        self._events = os.fdopen(events, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._last_sent: tuple[str, int] | None = None

    def order(self) -> Order:
        """Read what is to be done. The first line, and read once."""
        order = json.loads(self._answers.readline())
        gpu = order.get("gpu")
        given = None if gpu is None else GivenGpu(**gpu)
        return Order(str(order["kind"]), Path(order["folder"]), given, int(order.get("threads", 1)))

    def opening(self) -> None:
        """Make durable that the graph is about to be opened. LeaseLost otherwise: it must not be."""
        self._ask({"type": "open"}, {"opened": True})

    def record(self, entry: TranscriptEntry) -> None:
        """Make the entry durable. LeaseLost when the supervisor does not say so: nothing may be read."""
        self._ask({"type": "meter", "entry": entry.to_json()}, {"recorded": entry.sequence})

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report the progress of a stage. It begins, ends, or reaches another twentieth of its steps.

        Chosen by counts alone: messages timed by a clock would reveal how long single steps took, and so
        private data.
        """
        part = done * PROGRESS_PARTS // total if 0 <= done < total else PROGRESS_PARTS
        if (stage, part) == self._last_sent:
            return
        self._last_sent = (stage, part)
        self._send({"type": "progress", "stage": stage, "done": int(done), "total": int(total)})

    def _ask(self, message: dict[str, Any], answer: dict[str, Any]) -> None:
        self._send(message)
        line = self._answers.readline()
        if not line or json.loads(line) != answer:
            raise LeaseLost("what was told is not durable")

    def _send(self, message: dict[str, Any]) -> None:
        view = memoryview(json.dumps(message).encode() + b"\n")
        while view:
            view = view[self._events.write(view) :]


KINDS: dict[str, Callable[[Path, Channel], None]] = {
    "release": late("worker.children.releases:release"),
    "sample": late("worker.children.releases:sample"),
    "declared": late("worker.children.releases:declared"),
    "fit": late("worker.children.shards:fit"),
    "shard": late("worker.children.shards:shard"),
    "join": late("worker.children.shards:join"),
    "ingest": late("worker.children.datasets:ingest"),
    "snapshot": late("worker.children.datasets:snapshot"),
    "links": late("worker.children.datasets:links"),
    "evaluate": late("worker.children.looks:evaluate"),
    "audit": late("worker.children.looks:audit"),
}
"""What does each kind of work, loaded in the child: the supervisor needs none of it."""


def work(order: Order, channel: Channel) -> int:
    """Do the work, and return the exit code. It is 0 when it is done; the reason otherwise, and no word more
    outside."""
    try:
        if order.gpu is not None:
            from core.learning import devices

            devices.limit_memory(order.gpu.memory_fraction)
        threads.allow(order.threads)
        KINDS[order.kind](order.folder, channel)
    except PrivacyViolation:
        traceback.print_exc()
        return EXIT_VIOLATION
    except MemoryError:
        return EXIT_MEMORY
    except Exception as error:
        traceback.print_exc()
        return EXIT_MEMORY if _of_gpu_memory(error) else EXIT_FAILED
    return 0


def _of_gpu_memory(error: Exception) -> bool:
    """Tell whether the GPU had too little memory: for torch, for its libraries, or for CUDA itself."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(error, RuntimeError):
        return False
    lacking = ("CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError) or any(each in str(error) for each in lacking)
