"""What a child sees of the service: nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS
from worker.limits import ROOT, child_environment, group_memory_bytes, group_runs

SECRETS = {
    "GRAPHVEIL_MASTER_KEY": "00" * 32,
    "GRAPHVEIL_DATABASE_URL": "postgresql://secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "PGPASSWORD": "secret",
    "REDIS_URL": "redis://secret",
    "HTTPS_PROXY": "http://secret",
    "SOMETHING_NEW": "secret",
}


def test_a_child_inherits_no_address_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    environment = child_environment()
    assert not set(SECRETS) & set(environment)
    assert not any("secret" in value for value in environment.values())


def test_a_child_looks_for_kernels_where_its_workers_user_keeps_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert child_environment()["NUMBA_CACHE_DIR"] == str(tmp_path / ".cache" / "graphveil" / "kernels")


def test_a_confined_child_dumps_no_core_and_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import os, resource, sys, time; from pathlib import Path;"
        "from worker.limits import confine; confine(int(sys.argv[1]), Path(sys.argv[2]));"
        "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0); assert os.umask(0) == 0o077;"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import os, subprocess, sys, time;"
        "child = [sys.executable, '-c', sys.argv[1], str(os.getpid()), sys.argv[2]];"
        "subprocess.Popen(child); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent, script, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_whose_parent_is_gone_refuses_to_start() -> None:
    script = "from pathlib import Path; from worker.limits import confine; confine(1, Path())"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "supervisor is gone" in done.stderr


def test_the_memory_of_a_group_counts_all_its_processes() -> None:
    grab = "x = bytearray(50_000_000); import time; print('ready', flush=True); time.sleep(60)"
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {grab!r}]);\nexec({grab!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    assert 100_000_000 < group_memory_bytes(process.pid) < 400_000_000
    os.killpg(process.pid, 9)
    process.wait()
    process.stdout.close()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("state", "runs"), [("R", True), ("D", True), ("T", True), ("Z", False), ("X", False)]
)
def test_a_process_that_holds_no_memory_runs_until_it_is_a_zombie(
    state: str, runs: bool, tmp_path: Path
) -> None:
    """The kernel frees a killed process's memory first, and takes its signals and children from it later."""
    for pid, (name, letter, group) in {
        "7": ("(a) b)", state, 7), "8": ("other", "R", 8), "self": ("x", "R", 7)
    }.items():  # fmt: skip
        (tmp_path / pid).mkdir()
        fields = [letter, "1", str(group), *["0"] * 18, "0"]
        (tmp_path / pid / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
    (tmp_path / "9").mkdir()  # it ended while the folder was read
    assert group_runs(7, tmp_path) is runs
    assert group_runs(8, tmp_path)
    assert not group_runs(9, tmp_path)
