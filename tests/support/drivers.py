"""NVIDIA's driver, played: workers of tests claim GPUs that this machine need not have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from worker import gpus

GIB = 2**30
UUIDS = tuple(f"GPU-00000000-0000-0000-0000-00000000000{number}" for number in range(2))
NOT_FOUND, NO_PERMISSION, LOST = 6, 4, 15


class Refused(Exception):
    """What the driver answers instead; ``value`` is its number for it."""

    def __init__(self, value: int) -> None:
        super().__init__(f"the driver says {value}")
        self.value = value


class PlayedDriver:
    """Two GPUs, each of which answers until ``refusals`` says with what it does not."""

    NVMLError = Refused

    def __init__(self) -> None:
        self.refusals: dict[str, int] = {}

    def nvmlDeviceGetCount(self) -> int:
        return len(UUIDS)

    def nvmlDeviceGetHandleByIndex(self, number: int) -> str:
        if number >= len(UUIDS):
            raise Refused(NOT_FOUND)
        return UUIDS[number]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid not in UUIDS:
            raise Refused(NOT_FOUND)
        return uuid

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle

    def nvmlDeviceGetMinorNumber(self, handle: str) -> int:
        return 4 + UUIDS.index(handle)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        if handle in self.refusals:
            raise Refused(self.refusals[handle])
        return SimpleNamespace(total=80 * GIB, used=0)


def played(monkeypatch: pytest.MonkeyPatch) -> PlayedDriver:
    """This process's workers are answered by a played driver."""
    driver = PlayedDriver()
    monkeypatch.setattr(gpus, "driver", lambda: driver)
    return driver
