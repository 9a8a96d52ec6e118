"""Failpoints do nothing unless armed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from core import failpoints
from core.errors import InvalidInput
from core.settings import Settings
from tests.support.patience import PATIENCE_SECONDS
from worker.limits import ROOT


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


def test_nothing_is_armed_by_default() -> None:
    failpoints.arm(Settings.model_fields["failpoints"].default)
    for point in failpoints.POINTS:
        failpoints.reach(point)


def test_an_unknown_point_is_refused_and_disarms_nothing() -> None:
    failpoints.arm("after_claim:stop")
    with pytest.raises(InvalidInput):
        failpoints.arm("nowhere")
    assert failpoints._armed == {"after_claim": "stop"}


@pytest.mark.parametrize("action", ["stop=1", "pause", "pause=5", "kill"])
def test_an_unknown_action_is_refused(action: str) -> None:
    with pytest.raises(InvalidInput):
        failpoints.arm(f"after_claim:{action}")


def test_a_named_point_kills_the_process() -> None:
    script = (
        "from core import failpoints as f; f.arm('after_read'); f.reach('after_claim'); f.reach('after_read')"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == -9


def test_a_named_point_stops_the_process_once() -> None:
    script = (
        "from core import failpoints as f; f.arm('after_read:stop'); [f.reach('after_read') for _ in 'ab']"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=PATIENCE_SECONDS) == 0
