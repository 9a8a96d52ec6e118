"""A heartbeat: told while a loop comes round, missed once it does not, asked for by every container."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from kombu.asynchronous.timer import Timer

from core.settings import Settings
from deploy.helm.chart import files, render
from tests.support.deployed import OURS, PODS, ROOT, SERVICES
from tests.support.patience import PATIENCE_SECONDS
from worker import app as worker_app
from worker import heartbeat
from worker.app import Beat, app
from worker.stopping import Stopping

CHECK = ["python", "-m", "worker.heartbeat"]
ENDING = ("migrations", "keys")


def asked(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *CHECK[1:], "--file", str(path)], capture_output=True, text=True, check=False
    )


def test_the_check_tells_a_recent_beat_from_an_old_one_and_from_none(tmp_path: Path):
    path = tmp_path / "beat"
    assert asked(path).returncode == 1
    heartbeat.Heartbeat(str(path)).beat()
    assert asked(path).returncode == 0
    old = time.time() - heartbeat.MOST_SECONDS - 5
    os.utime(path, (old, old))
    answer = asked(path)
    assert (answer.returncode, answer.stdout.split()[:2]) == (1, ["last", "beat"])


def test_without_a_file_named_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    heartbeat.Heartbeat("").beat()
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_be_written_the_duty_goes_on_and_the_check_tells(tmp_path: Path, capsys: Any):
    (tmp_path / "file").touch()
    broken = heartbeat.Heartbeat(str(tmp_path / "file" / "beat"))
    broken.beat()
    assert "NotADirectoryError" in capsys.readouterr().err


@pytest.fixture
def stopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    named = Settings(heartbeat_file=str(tmp_path / "beat"))
    monkeypatch.setattr("worker.stopping.get_settings", lambda: named)
    yield Stopping()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_each_turn_of_a_loop_beats_and_so_does_a_long_wait(
    stopping: Stopping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "beat"
    assert not stopping()
    assert path.exists()
    path.unlink()
    monkeypatch.setattr(heartbeat, "EVERY_SECONDS", 0.01)
    began = time.monotonic()
    assert not stopping.wait(0.1)
    assert time.monotonic() - began >= 0.1
    beats = itertools.count(1)

    def beat(self: heartbeat.Heartbeat) -> None:
        if next(beats) == 4:  # of one wait, however slow the machine
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(heartbeat.Heartbeat, "beat", beat)
    assert stopping.wait(PATIENCE_SECONDS)
    assert next(beats) > 4


def test_the_worker_beats_on_its_own_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert Beat in app.steps["worker"]
    path = tmp_path / "beat"
    monkeypatch.setattr(worker_app, "settings", Settings(heartbeat_file=str(path)))
    monkeypatch.setattr(heartbeat, "EVERY_SECONDS", 0.01)
    worker: Any = type("Worker", (), {"timer": Timer()})()
    Beat(worker).start(worker)
    assert path.exists()
    path.unlink()
    due = iter(worker.timer)
    while not path.exists():  # what the loop does: whatever is due, in turn
        wait, entry = next(due)
        if entry is not None:
            entry()
        elif wait:
            time.sleep(wait)


@pytest.mark.parametrize("name", OURS)
def test_every_container_of_compose_is_asked(name: str):
    service = SERVICES[name]
    check = service.get("healthcheck")
    if name in ENDING:
        assert check == {"disable": True}
    elif name == "api":
        assert check is None
        assert "/readyz" in (ROOT / "Dockerfile.api").read_text().split("\nHEALTHCHECK ")[1]
    elif check is None:  # the image's own
        stated = (ROOT / "Dockerfile.worker").read_text().split("\nHEALTHCHECK ")[1].split("CMD ")[1]
        assert json.loads(stated.splitlines()[0]) == CHECK
    else:
        assert check["test"] == ["CMD", *CHECK]


def test_every_image_names_the_file():
    for image in ("Dockerfile.api", "Dockerfile.worker"):
        assert f"GRAPHVEIL_HEARTBEAT_FILE={heartbeat.FILE} " in (ROOT / image).read_text()


DUTIES = ("relay", "reaper", "verifier", "webhooks", "exporter")


@pytest.mark.parametrize("name", DUTIES)
def test_manifests_and_chart_restart_a_duty_that_does_not_come_round(name: str):
    chart = {
        each["metadata"]["name"]: each["spec"]["template"]
        for each in render(files())
        if each["kind"] == "Deployment"
    }
    for pod in (PODS[name], chart[name]):
        (container,) = pod["spec"]["containers"]
        probe = container["livenessProbe"]
        assert probe["exec"]["command"] == CHECK
        assert probe["timeoutSeconds"] < probe["periodSeconds"]


def test_no_worker_is_killed_at_its_job():
    for name in ("worker", "validator", "worker-papers", "worker-gpu"):
        (container,) = PODS[name]["spec"]["containers"]
        assert "livenessProbe" not in container
    assert set(DUTIES) == {
        each["metadata"]["name"]
        for each in yaml.safe_load_all((ROOT / "deploy/kubernetes/base/duties.yaml").read_text())
        if each["kind"] == "Deployment"
    }
