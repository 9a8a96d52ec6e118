"""Tests that name their device: on the CPU in the default suite, the same on a GPU by ``-m gpu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    """The device; it computes exactly, and everything of the test that asks for a device gets it."""
    import torch  # seconds, for which a run of other tests would wait

    from core.learning import devices

    if request.param == "cuda":
        assert torch.cuda.is_available(), "these tests need a GPU that torch sees"
    with devices.on(request.param) as chosen, devices.one_thread():
        yield chosen
