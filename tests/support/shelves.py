"""An object store that breaks when it is told to: at a chosen call, once or from there on.

The calls are those that the service makes of its storage library, so that what the service makes of their
errors is its own code.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from unittest import mock

import obstore
from obstore.exceptions import GenericError

WRITES = ("put", "copy")
CALLS = (*WRITES, "get", "head", "delete", "list")


class StoreMoment(StrEnum):
    """How the store breaks at a call."""

    FAILS = "one call fails"
    UNHEARD = "one call succeeds, and is told as failed"
    AWAY = "every call fails from one on"
    FULL = "the disk is full from one write on"

    @property
    def lasts(self) -> bool:
        return self in (StoreMoment.AWAY, StoreMoment.FULL)


@dataclass
class Shelf:
    """The storage library as the service sees it. One fault at a time is armed."""

    fired: bool = False
    _armed: tuple[StoreMoment, int] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getattr__(self, name: str) -> Any:
        plain = getattr(obstore, name)
        if name not in CALLS:
            return plain
        return lambda *given, **named: self._called(name, lambda: plain(*given, **named))

    def cut(self, moment: StoreMoment, number: int) -> None:
        """The ``number``-th call (from 1) from now on meets the fault; with FULL, the ``number``-th write."""
        with self._lock:
            self.fired, self._armed = False, (moment, number)

    def mend(self) -> bool:
        """Nothing is armed any more; whether the fault had happened."""
        with self._lock:
            self._armed = None
            return self.fired

    @contextlib.contextmanager
    def counting(self, moment: StoreMoment) -> Iterator[Callable[[], int]]:
        """How many calls, or writes, were made since; nothing breaks."""
        many = 10**9
        self.cut(moment, many)
        yield lambda: many - (self._armed or (moment, many))[1]
        self.mend()

    def _called(self, name: str, call: Callable[[], Any]) -> Any:
        moment = self._due(name)
        if moment is None:
            return call()
        if moment is StoreMoment.UNHEARD:
            call()
        if moment is StoreMoment.FULL:
            raise OSError(errno.ENOSPC, "No space left on device")
        raise GenericError("the store is away")

    def _due(self, name: str) -> StoreMoment | None:
        with self._lock:
            if self._armed is None or (self._armed[0] is StoreMoment.FULL and name not in WRITES):
                return None
            moment, left = self._armed
            self._armed = (moment, left - 1)
            if left > 1 or (left < 1 and not moment.lasts):
                return None
            self.fired = True
            return moment


@contextlib.contextmanager
def shelf() -> Iterator[Shelf]:
    """Every store of this process is the shelf's, as long as the context lasts."""
    made = Shelf()
    with mock.patch("core.storage.store.obstore", made):
        yield made
