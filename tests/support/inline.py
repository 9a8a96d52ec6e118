"""A worker whose children's work is done in the test's own process, where their start would take seconds.

Claims, leases, records, staging and charges are the worker's own; only the process boundary is left out. What
that boundary is for is tested in tests/fault and in one test of each kind of work.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import RLock
from unittest import mock

from sqlalchemy.exc import SQLAlchemyError

from core.db.outages import unreachable
from core.errors import LeaseLost, PrivacyViolation
from core.jobs.events import Step
from core.outbox.models import Topic
from core.privacy.accounting.meter import TranscriptEntry
from core.settings import Settings
from worker import kinds, sandbox
from worker.lease_heartbeat import LeaseHeartbeat
from worker.own_gpu import OwnGpu
from worker.process import open_process
from worker.supervisor import Ending, Orders
from worker.work import take

Sabotage = Callable[[str], None]
"""Called with the kind of a child before its work; what it raises is the child's failure."""

_IN_PLACE = RLock()
"""Held while workers call the stand-in: of two threads, one that left later would leave it there for good."""


class _Channel:
    """The child's side of the talk, answered at once."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def opening(self) -> None:
        self._orders.opening()

    def record(self, entry: TranscriptEntry) -> None:
        self._orders.record(entry.to_json())

    def progress(self, stage: str, done: int, total: int) -> None:
        with suppress(SQLAlchemyError):  # as the supervisor has it
            self._orders.progress([Step(stage, done, total)])


def taken(settings: Settings, topic: Topic, subject_id: str, sabotage: Sabotage | None = None) -> bool:
    """The work was taken as far as a worker can; False if it was not free."""
    process = open_process(settings)
    try:
        with children_inline(sabotage):
            return take(process, topic, subject_id, lambda: False)
    finally:
        process.services.close()


@contextmanager
def children_inline(sabotage: Sabotage | None = None) -> Iterator[None]:
    """Every child's work is done in this process, on the thread of its worker; one such context at a time."""

    def supervise(
        kind: str,
        folder: Path,
        settings: Settings,
        heartbeat: LeaseHeartbeat,
        orders: Orders,
        own_gpu: OwnGpu | None = None,
    ) -> Ending:
        try:
            sandbox.KINDS[kind](folder, _Channel(orders))  # type: ignore[arg-type]
            if sabotage is not None:
                sabotage(kind)
        except LeaseLost:
            return Ending.LOST
        except PrivacyViolation:
            return Ending.VIOLATION
        except MemoryError:
            return Ending.MEMORY
        except SQLAlchemyError as error:
            # As the supervisor has it: the database says later what was recorded.
            return Ending.OUTAGE if unreachable(error) else Ending.LOST
        except Exception:
            return Ending.FAILED
        return Ending.FINISHED

    with _IN_PLACE, ExitStack() as patches:
        for module in pkgutil.iter_modules(kinds.__path__, "worker.kinds."):
            if hasattr(import_module(module.name), "supervise"):
                patches.enter_context(mock.patch(f"{module.name}.supervise", supervise))
        yield
