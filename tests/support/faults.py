"""Worker processes to be killed, and what may be said of a job whatever happened to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from core.jobs import repository
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.releases.elsewhere import is_address
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, stored_keys, violations

ROOT = Path(__file__).resolve().parents[2]
FORKED, WHOLE = "forked", "whole"
"""How a worker that is killed came to be: see :func:`killed_at`."""
Kill = Callable[[Topic, str, str], None]
"""Kills a worker that took this work, at this point."""
LEASES = (
    *(
        (table, "lease_expires_at")
        for table in ("jobs", "shards", "evaluations", "audits", "dataset_versions", "sensitive_lists")
    ),
    ("dataset_versions", "upload_expires_at"),
)


def mostly_slow(cases: Iterable[Any], always: Collection[str]) -> list[Any]:
    """The cases as parameters; those whose first value is not among ``always`` run with the slow tests."""
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*row, marks=() if row[0] in always else pytest.mark.slow) for row in rows]


def killed_at(
    names: str, cases: Iterable[tuple[Any, ...]], forked: Collection[str], whole: Collection[str] = ()
) -> pytest.MarkDecorator:
    """Each case twice: ``killed`` takes a forked worker, or a whole process with a child of its own.

    A fork costs a tenth. Of both, those whose first value is not named here run with the slow tests.
    """
    cases = list(cases)
    rows = [
        pytest.param(way, *row.values, marks=row.marks)
        for way, always in ((FORKED, forked), (WHOLE, whole))
        for row in mostly_slow(cases, always)
    ]
    return pytest.mark.parametrize(f"killed, {names}", rows, indirect=["killed"])


def environment(settings: Settings, **changed: Any) -> dict[str, str]:
    """A process's environment from which it reads these settings, with some changed."""
    values = settings.model_dump() | changed
    plain = {name: v.get_secret_value() if isinstance(v, SecretStr) else v for name, v in values.items()}
    texts = {n: json.dumps(v) if isinstance(v, list | tuple | dict) else str(v) for n, v in plain.items()}
    own = {f"GRAPHVEIL_{name.upper()}": value for name, value in texts.items()}
    return {**os.environ, **own}


@dataclass
class Processes:
    """Processes of the service, each in a session of its own; the context leaves none behind."""

    settings: Settings
    logs: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str, **changed: Any) -> subprocess.Popen[bytes]:
        """``python -m arguments`` under the settings, some of them changed."""
        with (self.logs / f"{len(self.running)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=ROOT,
                env=environment(self.settings, **changed),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def stopped(self, *arguments: str, **changed: Any) -> subprocess.Popen[bytes]:
        """Start a process whose settings name a failpoint with ``:stop``; it stands still there."""
        process = self.start(*arguments, **changed)
        until(lambda: is_stopped(process.pid) or process.poll() is not None, what="the stop")
        assert process.returncode is None, self.output()
        return process

    def output(self) -> str:
        """What all processes printed."""
        return "\n".join(path.read_text() for path in sorted(self.logs.glob("*.log")))

    def stop(self) -> None:
        """Every process is gone."""
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_SECONDS)


def until(condition: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS, what: str = "it") -> Any:
    """The first true value of the condition; fails when it takes longer."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.02)
    return value


def children_of(pid: int) -> list[int]:
    """The process ids of a process's direct children."""
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").glob("*/children")
        for child in task.read_text().split()
    ]


def alive(pid: int) -> bool:
    """Whether the process still runs (a zombie does not)."""
    return _state(pid) not in ("", "Z")


def is_stopped(pid: int) -> bool:
    """Whether the process stands still."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    """The letter that the kernel has for the process's state; an empty text once it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def lapse(services: Services) -> None:
    """Time goes by: every lease that is held has run out."""
    with services.db.transaction() as session:
        for table, column in LEASES:
            past = f"{column} = now() - interval '1 second'"
            session.execute(text(f"UPDATE {table} SET {past} WHERE {column} > now()"))


def endings(services: Services, job_id: str) -> list[str]:
    """The kinds of the ledger entries of a job, in order."""
    job = job_row(services, job_id)
    with services.db.transaction() as session:
        entries = ledger.entries(session, job.account_id, after=0, limit=10_000).entries
    return [entry.kind for entry in entries if entry.job_id == job_id]


def assert_sound(services: Services, job_id: str) -> None:
    """No file without a charge that names its digest, no charge without its files, and an intact ledger."""
    job = job_row(services, job_id)
    with services.db.transaction() as session:
        files = {a.name: a for a in repository.artifacts(session, job_id) if a.role != "curator"}
        entry = ledger.terminal_of(session, job.reservation_id)
    charged = dict(entry.digests) if entry is not None and entry.kind == "charge" else {}
    assert {name: file.sha256 for name, file in files.items()} == charged
    assert endings(services, job_id).count("charge") == (1 if files else 0)
    assert bool(files) == (job.state in ("publishing", "published"))
    keys = [key for key in stored_keys(services, f"releases/{job_id}") if "/evaluation-" not in key]
    if job.state == "published":
        kept = {file.object_key: file for file in files.values() if not is_address(file.object_key)}
        assert keys == sorted(kept)
        assert all(
            file.encrypted or services.store.size(key) == file.size_bytes for key, file in kept.items()
        )
    elif job.state != "publishing":
        assert keys == []
    assert violations(services) == []
