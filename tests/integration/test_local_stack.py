"""The embedded stack: one per folder, survives restarts, leaves nothing running."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from sqlalchemy.engine import make_url

from core.errors import InstanceRunning
from deploy.local.folder import DataFolder
from deploy.local.servers import EmbeddedPostgres, postgres_wheel
from deploy.local.stack import ROOT, Stack
from graphveil.sdk.client import Graphveil
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.faults

START_SECONDS = PATIENCE_SECONDS


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the database's own user can walk to, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="gv-stack-", dir="/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path) / "data"


def running_on(folder: Path) -> list[str]:
    """Command lines of processes that name the folder, or have it in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            named = str(folder) in " ".join(process.cmdline())
            environment = process.environ().get("GRAPHVEIL_STORAGE_URL", "")
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if named or str(folder) in environment:
            found.append(" ".join(process.cmdline()))
    return found


def first_audit(stack: Stack) -> dict[str, Any]:
    """The ledger's health once the verifier has looked."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        answer = httpx.get(f"{stack.url}/ledger/health", headers={"Authorization": f"Bearer {stack.token}"})
        if answer.json()["status"] != "stale" or time.monotonic() > deadline:
            return answer.json()
        time.sleep(0.2)


def in_its_shell(stack: Stack, command: str) -> subprocess.CompletedProcess[str]:
    """The command as an operator runs it beside the stack, in a shell that knows nothing else of it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHVEIL_")}
    script = f". {stack.folder.environment_file}; {command}"
    return subprocess.run(["sh", "-c", script], cwd=ROOT, env=plain, capture_output=True, text=True)


def test_a_stack_keeps_its_data_over_a_restart_and_leaves_nothing_running(folder: Path) -> None:
    with Stack(folder) as stack, Graphveil(stack.url, stack.token) as service:
        assert stack.first_start
        first_token = stack.token
        dataset = service.register_dataset("kept", unit="edge", epsilon="1")
        assert first_audit(stack)["status"] == "intact"
        verified = in_its_shell(stack, f"{sys.executable} -m api.admin.ledger verify")
        assert (verified.returncode, "Intact." in verified.stdout) == (0, True), verified
        assert "graphveil_budget_remaining_epsilon{" in httpx.get(stack.exporter_url).text
        with pytest.raises(InstanceRunning, match=r"already runs on .* at http"):
            Stack(folder).__enter__()
    assert running_on(folder) == []

    # The second start is the command's, as an operator sees it.
    environment = {**os.environ, "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.local", "--data", str(folder)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    printed = ""
    deadline = time.monotonic() + START_SECONDS
    while "Ctrl-C" not in printed and time.monotonic() < deadline:
        printed += process.stdout.readline()
    url = next(word for word in printed.split() if word.startswith("http")).rstrip(";")
    told = [line for line in printed.splitlines() if line.endswith("…")]
    steps = ("PostgreSQL", "Redis", "tables", "api, worker", "answer at", "kernels")
    assert [word in line for word, line in zip(steps, told, strict=True)] == [True] * len(steps), told
    assert f". {folder}/environment.sh;" in printed
    assert DataFolder(folder).token_file.read_text().strip() == first_token
    with Graphveil(url, first_token) as service:
        assert service.dataset(dataset.id).name == "kept"
        assert service.budget(dataset.id).remaining.epsilon == "1"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 0
    assert "Stopped." in rest
    assert running_on(folder) == []


def test_a_failed_start_gives_the_folder_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHVEIL_DATABASE_URL", "postgresql+psycopg://nobody@127.0.0.1:1/none")
    with pytest.raises(Exception, match="refused"):
        Stack(folder).__enter__()
    again = DataFolder(folder)
    again.lock()
    again.unlock()
    assert running_on(folder) == []


def test_exported_addresses_are_those_that_the_stack_waits_at_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = {"PORT": "8123", "METRICS_PORT": "9123", "EXPORTER_PORT": "9124"}
    for name, value in {**ports, "DATABASE_URL": "postgresql://x", "REDIS_URL": "redis://x"}.items():
        monkeypatch.setenv(f"GRAPHVEIL_{name}", value)
    for host, reached in ((None, "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("10.0.0.5", "10.0.0.5")):
        if host is not None:
            monkeypatch.setenv("GRAPHVEIL_HOST", host)
        stack = Stack(tmp_path)
        environment = stack._environment(ExitStack())
        assert {name: environment[f"GRAPHVEIL_{name}"] for name in ports} == ports
        assert stack.url == environment["GRAPHVEIL_PUBLIC_URL"] == f"http://{reached}:8123"
        assert stack.metrics_url == f"http://{reached}:9123/metrics"
        assert stack.exporter_url == f"http://{reached}:9124/metrics"


def asked(server: EmbeddedPostgres, **other: str) -> list[tuple[int]]:
    """The rows of the table that the former stack left."""
    address = make_url(server.url).set(drivername="postgresql", **other)
    with psycopg.connect(address.render_as_string(hide_password=False)) as connection:
        return connection.execute("SELECT * FROM left_by_before").fetchall()


@pytest.mark.parametrize("left_running", [False, True])
def test_a_database_that_asked_nobody_starts_again_and_asks_for_a_password(left_running: bool) -> None:
    """Folders of versions before, where whoever reached the socket was the superuser."""
    with tempfile.TemporaryDirectory(prefix="gv-before-", dir="/tmp") as home:
        Path(home).chmod(0o755)
        folder = Path(home) / "postgres"
        folder.mkdir()
        before = postgres_wheel().get_server(folder, cleanup_mode=None if left_running else "stop")
        with psycopg.connect(before.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE graphveil")
        with psycopg.connect(before.get_uri(database="graphveil")) as connection:
            connection.execute("CREATE TABLE left_by_before AS SELECT 7 AS kept")
        before.cleanup()
        if left_running:  # as a stack leaves it that was killed
            (folder / ".handle_pids.json").write_text("[4194304]")
        for password in ("0" * 32, "1" * 32):  # a second start, and the secrets were lost meanwhile
            with EmbeddedPostgres(folder, password=password) as server:
                assert asked(server) == [(7,)]
                for wrong in ({"password": "2" * 32}, {"password": ""}, {"username": "nobody"}):
                    with pytest.raises(psycopg.OperationalError, match="password"):
                        asked(server, **wrong)
        assert not any("postgres" in line for line in running_on(folder))


def test_secrets_are_the_owners_alone(folder: Path) -> None:
    data = DataFolder(folder)
    secrets = data.secrets()
    assert {len(value) for value in secrets.values()} == {64}
    assert data.secrets() == secrets
    data.keep_environment({"GRAPHVEIL_MASTER_KEY": "a 'quoted' one"})
    shown = subprocess.run(
        ["sh", "-c", f'. {data.environment_file}; printf %s "$GRAPHVEIL_MASTER_KEY"'],
        capture_output=True,
        text=True,
    )
    assert shown.stdout == "a 'quoted' one"
    for file in (folder / "secrets.json", data.token_file, data.environment_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
