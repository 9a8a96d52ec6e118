"""No process that spends starts on a ledger that has forgotten what was signed; those that tell of it do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import Conflict, InvalidInput
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports
from core.workflows.operations.startup import require_whole_ledger
from deploy.local.processes import COMMANDS
from tests.integration.invariants.conftest import SEED
from tests.support.ledger import charge, open_account, reserve
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster

ROOT = Path(__file__).resolve().parents[3]
SPENDING = sorted(set(COMMANDS) - {"verifier", "exporter"})
TRIED = ("api", "relay")
"""Of every kind of process one starts by default: one that serves, one that works."""


@pytest.fixture
def signing(settings: Settings) -> Iterator[Services]:
    """Services that sign; an account with entries."""
    key = Settings(head_signing_key=SEED).head_signing_key
    opened = open_services(settings.model_copy(update={"head_signing_key": key}))
    charge(opened.db, reserve(opened.db, open_account(opened.db, domain="patients"), {"epsilon": 100}))
    yield opened
    opened.close()


@pytest.fixture
def forgetful(signing: Services, postgres_cluster: PostgresCluster) -> Iterator[Services]:
    """The same on a backup from before the last entries, with the heads that were signed after them."""
    signing.close()  # a template must have no other connections
    backup = postgres_cluster.create(template=signing.db.engine.url.database or "")
    open_account(signing.db, domain="late")
    head_exports.export(signing)
    address = postgres_cluster.address(backup)
    old = open_services(signing.settings.model_copy(update={"database_url": address}))
    yield old
    old.close()
    postgres_cluster.drop(backup)


def environment(settings: Settings) -> dict[str, str]:
    """What leads a process to these servers."""
    named = {
        "GRAPHVEIL_DATABASE_URL": settings.database_url,
        "GRAPHVEIL_STORAGE_URL": settings.storage_url,
        "GRAPHVEIL_WORK_FOLDER": str(settings.work_folder),
        "GRAPHVEIL_MASTER_KEY": settings.master_key.get_secret_value(),
        "GRAPHVEIL_FINGERPRINT_KEY": settings.fingerprint_key.get_secret_value(),
        "GRAPHVEIL_HEAD_SIGNING_KEY": settings.head_signing_key.get_secret_value(),
    }
    return {**os.environ, **named}


def test_a_whole_ledger_lets_everything_start(signing: Services) -> None:
    require_whole_ledger(signing)  # nothing was ever signed
    head_exports.export(signing)
    require_whole_ledger(signing)
    late = open_account(signing.db, domain="late")
    charge(signing.db, reserve(signing.db, late, {"epsilon": 1}))
    require_whole_ledger(signing)  # more than was signed is no less


def test_a_ledger_that_has_forgotten_is_named(forgetful: Services) -> None:
    with pytest.raises(Conflict, match=r"the account is missing; it had 1 entries.*docs/verifier\.md"):
        require_whole_ledger(forgetful)


def test_heads_of_an_unknown_key_are_no_proof(signing: Services) -> None:
    head_exports.export(signing)
    other = Settings(head_signing_key="08" * 32).head_signing_key
    stranger = Services(
        signing.db, signing.store, signing.settings.model_copy(update={"head_signing_key": other})
    )
    with pytest.raises(InvalidInput):
        require_whole_ledger(stranger)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in TRIED else pytest.mark.faults) for each in SPENDING]
)
def test_processes_that_spend_do_not_start(forgetful: Services, name: str) -> None:
    ended = subprocess.run(
        COMMANDS[name],
        cwd=ROOT,
        env=environment(forgetful.settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert '"not_started"' in said
    assert "the account is missing" in said


@pytest.mark.faults
def test_one_piece_of_work_is_not_taken_either(forgetful: Services) -> None:
    python = COMMANDS["relay"][:2]
    ended = subprocess.run(
        [*python, "worker.run_one", "run", "job_1"],
        cwd=ROOT,
        env=environment(forgetful.settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr


@pytest.mark.faults
def test_a_worker_may_start_on_a_whole_ledger(signing: Services) -> None:
    head_exports.export(signing)
    python = COMMANDS["relay"][:2]
    ended = subprocess.run(
        [*python, "worker.preflight"], cwd=ROOT, env=environment(signing.settings), timeout=PATIENCE_SECONDS
    )
    assert ended.returncode == 0
