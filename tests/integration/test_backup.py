"""The scripts that save and restore, on real dumps: what was saved is there, and what was lost is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url

from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports
from deploy.local.servers import postgres_wheel
from tests.support.ledger import charge, open_account, reserve
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "deploy" / "backup"
SEED = "07" * 32


@pytest.fixture
def services(postgres_cluster: PostgresCluster, tmp_path: Path) -> Iterator[Services]:
    """A service with one charge; its heads are signed."""
    name = postgres_cluster.create()
    (tmp_path / "objects").mkdir()
    opened = open_services(
        Settings(
            database_url=postgres_cluster.address(name),
            storage_url=(tmp_path / "objects").as_uri(),
            master_key="11" * 32,
            fingerprint_key="22" * 32,
            head_signing_key=SEED,
            work_folder=tmp_path / "work",
        )
    )
    spend(opened, "patients")
    yield opened
    opened.close()
    postgres_cluster.drop(name)


@pytest.fixture
def empty(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """The address of a database without a table."""
    name = postgres_cluster.create(template="template0")
    yield postgres_cluster.address(name)
    postgres_cluster.drop(name)


def spend(services: Services, domain: str) -> None:
    account = open_account(services.db, domain=domain)
    charge(services.db, reserve(services.db, account, {"epsilon": 100}))


def environment(services: Services, address: str | None = None) -> dict[str, str]:
    """libpq and the service are led to one database, and the scripts to this interpreter."""
    url = make_url(address or services.settings.database_url)
    binaries = Path(postgres_wheel().__file__).parent / "pginstall18" / "bin"
    settings = services.settings
    return {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), str(binaries), os.environ["PATH"])),
        "PYTHONPATH": str(ROOT),
        "PGHOST": str(url.host or url.query["host"]),
        "PGUSER": url.username or "postgres",
        "PGPASSWORD": url.password or "",
        "PGDATABASE": url.database or "",
        "GRAPHVEIL_DATABASE_URL": url.render_as_string(hide_password=False),
        "GRAPHVEIL_STORAGE_URL": settings.storage_url,
        "GRAPHVEIL_MASTER_KEY": settings.master_key.get_secret_value(),
        "GRAPHVEIL_FINGERPRINT_KEY": settings.fingerprint_key.get_secret_value(),
        "GRAPHVEIL_HEAD_SIGNING_KEY": settings.head_signing_key.get_secret_value(),
        **({"PGPORT": str(url.port)} if url.port else {}),
    }


def run(script: str, argument: Path, given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(SCRIPTS / script), str(argument)]
    return subprocess.run(
        command, env=given, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


def saved(services: Services, folder: Path) -> Path:
    done = run("backup.sh", folder, environment(services))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def counted(address: str) -> dict[str, int]:
    """The rows of every table."""
    url = make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
            )
        ]
        query = "SELECT count(*) FROM {}"
        return {
            name: connection.execute(sql.SQL(query).format(sql.Identifier(name))).fetchone()[0]  # type: ignore[index]
            for name in names
        }


def test_what_was_saved_is_restored_and_verified(services: Services, empty: str, tmp_path: Path) -> None:
    backup = saved(services, tmp_path / "backups")
    assert sorted(path.name for path in backup.iterdir()) == ["SHA256SUMS", "database.dump", "heads.json"]
    assert sorted((tmp_path / "backups").iterdir()) == [backup]
    done = run("restore.sh", backup, environment(services, empty))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Intact.") == 2
    assert counted(empty) == counted(services.settings.database_url)


def test_spend_that_the_backup_does_not_know_is_told(services: Services, empty: str, tmp_path: Path) -> None:
    backup = saved(services, tmp_path / "backups")
    spend(services, "staff")
    head_exports.export(services)
    done = run("restore.sh", backup, environment(services, empty))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the account is missing; it had 3 entries" in done.stdout
    started = subprocess.run(
        [sys.executable, "-m", "api"],
        env=environment(services, empty),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert started.returncode == 1
    assert "not_started" in started.stdout + started.stderr


def test_a_comparison_that_could_not_be_made_is_not_called_a_loss(
    services: Services, empty: str, tmp_path: Path
) -> None:
    backup = saved(services, tmp_path / "backups")
    given = environment(services, empty) | {"GRAPHVEIL_HEAD_SIGNING_KEY": "08" * 32}
    done = run("restore.sh", backup, given)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "not trusted" in done.stderr
    assert "not compared" in done.stderr
    assert counted(empty) == counted(services.settings.database_url)


def test_roles_that_cannot_be_made_restore_nothing(services: Services, empty: str, tmp_path: Path) -> None:
    backup = saved(services, tmp_path / "backups")
    (tmp_path / "roles.sql").write_text("SELECT 1 / 0;")
    given = environment(services, empty) | {"GRAPHVEIL_ROLES": str(tmp_path / "roles.sql")}
    done = run("restore.sh", backup, given)
    assert (done.returncode, counted(empty)) == (2, {})


def test_a_backup_that_was_changed_restores_nothing(services: Services, empty: str, tmp_path: Path) -> None:
    backup = saved(services, tmp_path / "backups")
    dump = bytearray((backup / "database.dump").read_bytes())
    dump[len(dump) // 2] ^= 1
    (backup / "database.dump").write_bytes(dump)
    done = run("restore.sh", backup, environment(services, empty))
    assert (done.returncode, counted(empty)) == (2, {})
    assert "the backup was changed" in done.stderr


def test_a_database_that_is_not_empty_is_left_alone(services: Services, tmp_path: Path) -> None:
    backup = saved(services, tmp_path / "backups")
    before = counted(services.settings.database_url)
    done = run("restore.sh", backup, environment(services))
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert counted(services.settings.database_url) == before


def test_a_dump_that_fails_leaves_no_backup(services: Services, tmp_path: Path) -> None:
    given = environment(services) | {"PGDATABASE": "there_is_none"}
    done = run("backup.sh", tmp_path / "backups", given)
    assert done.returncode != 0
    assert list((tmp_path / "backups").iterdir()) == []


def test_the_programs_may_be_somebody_elses(services: Services, empty: str, tmp_path: Path) -> None:
    """As in a container: none is in the PATH, and none sees the scripts' files but as its input."""
    binaries = Path(postgres_wheel().__file__).parent / "pginstall18" / "bin"
    programs = {
        f"GRAPHVEIL_{name.upper()}": f"env --chdir=/ {binaries / name}"
        for name in ("pg_dump", "psql", "pg_restore")
    }

    def elsewhere(address: str | None) -> dict[str, str]:
        given = environment(services, address) | programs
        return given | {"PATH": given["PATH"].replace(f"{binaries}{os.pathsep}", "")}

    done = run("backup.sh", tmp_path / "backups", elsewhere(None))
    assert done.returncode == 0, done.stderr
    backup = Path(os.path.relpath(done.stdout.strip(), ROOT))
    done = run("restore.sh", backup, elsewhere(empty))
    assert done.returncode == 0, done.stdout + done.stderr
    assert counted(empty) == counted(services.settings.database_url)
