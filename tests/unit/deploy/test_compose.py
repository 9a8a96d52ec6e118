"""The compose file: hardened, pinned, in step with the processes and settings that it starts."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.routes.problems import PAGES
from core.settings import Settings
from core.version import package_version, version_of
from deploy.local.processes import COMMANDS

ROOT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("graphveil-")]
each = pytest.mark.parametrize("name", SERVICES)


def names(entries: list[Any]) -> set[str]:
    """The files under /run/secrets that a service's list of secrets gives it."""
    return {entry if isinstance(entry, str) else entry["target"] for entry in entries}


@each
def test_every_container_is_confined(name: str):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service


@each
def test_every_image_is_pinned(name: str):
    tag = SERVICES[name]["image"].rpartition(":")[2]
    assert tag not in ("latest", "")
    assert any(character.isdigit() for character in tag)


@each
def test_only_what_callers_need_is_published_and_on_loopback_by_default(name: str):
    ports = SERVICES[name].get("ports", [])
    assert bool(ports) == (name in ("api", "grafana"))
    assert all(port.startswith("${GRAPHVEIL_LISTEN:-127.0.0.1}:") for port in ports)


def test_workers_have_no_way_out():
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {n for n, s in SERVICES.items() if "outside" in s["networks"]} == {"api", "webhooks", "grafana"}


def test_every_process_of_the_local_stack_runs_here_with_the_same_command():
    image = {"api": "Dockerfile.api", "worker": "Dockerfile.worker"}
    for name, (_, *command) in COMMANDS.items():
        stated = SERVICES[name].get("command")
        if stated is None:  # the image's own
            last = (ROOT / image[name]).read_text().split("\nCMD ")[1].replace("\\\n", "")
            stated = json.loads(last)
        assert stated == ["python", *command], name


def test_what_must_have_ended_or_be_healthy_stands_first():
    for name in OURS:
        needs = SERVICES[name]["depends_on"]
        if name == "migrations":
            assert needs == {"postgres": {"condition": "service_healthy"}}
        else:
            assert needs["grants"] == {"condition": "service_completed_successfully"}
            assert {"postgres", "redis", "storage", "bucket"} < set(needs)
    assert SERVICES["grants"]["depends_on"] == {"migrations": {"condition": "service_completed_successfully"}}


def test_every_variable_is_a_setting_and_none_is_a_secret():
    declared = {f"GRAPHVEIL_{field.upper()}": field for field in Settings.model_fields}
    for name in OURS:
        for variable in SERVICES[name]["environment"]:
            if variable.startswith("GRAPHVEIL_"):
                assert "SecretStr" not in str(Settings.model_fields[declared[variable]].annotation)
        for secret in names(SERVICES[name]["secrets"]):
            assert secret.upper() in declared, secret


def test_secrets_are_used_declared_and_made(tmp_path: Path):
    script = tmp_path / "secrets.sh"
    script.write_bytes((ROOT / "deploy" / "compose" / "secrets.sh").read_bytes())
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    used = {
        entry if isinstance(entry, str) else entry["source"]
        for service in SERVICES.values()
        for entry in service.get("secrets", [])
    }
    assert used == set(COMPOSE["secrets"])
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"deploy/compose/secrets/{name}"}
        assert made[name]
    assert set(made) - used == {"redis_password"}  # stands inside two others
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    again = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert again == made


def test_made_secrets_are_settings_that_fit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "secrets.sh"
    script.write_bytes((ROOT / "deploy" / "compose" / "secrets.sh").read_bytes())
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    folder = tmp_path / "secrets"
    found = Settings(_secrets_dir=folder)
    for key in (found.master_key, found.fingerprint_key, found.head_signing_key):
        assert len(bytes.fromhex(key.get_secret_value())) == 32
    password = (folder / "postgres_app_password").read_text()
    assert found.database_url == f"postgresql+psycopg://graphveil_app:{password}@postgres/graphveil"
    password = (folder / "redis_password").read_text()
    assert found.redis_url == f"redis://:{password}@redis:6379/0"
    assert f"requirepass {password}\n" in (folder / "redis_configuration").read_text()
    (identity,) = json.loads((folder / "storage_identities").read_text())["identities"]
    assert identity["credentials"] == [
        {
            "accessKey": found.storage_access_key_id.get_secret_value(),
            "secretKey": found.storage_secret_access_key.get_secret_value(),
        }
    ]


def copied(file: str) -> set[str]:
    """What of the context an image holds."""
    return {
        source
        for line in (ROOT / file).read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    }


@pytest.mark.parametrize("file", ["Dockerfile.api", "Dockerfile.worker"])
def test_no_image_holds_more_than_its_context_allows(file: str):
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied(file) <= allowed
    assert "\nUSER 10001:10001\n" in (ROOT / file).read_text()


def test_the_api_has_the_pages_of_its_problems():
    assert str(PAGES.relative_to(ROOT)) in copied("Dockerfile.api")


@pytest.mark.parametrize("file", ["Dockerfile.api", "Dockerfile.worker"])
def test_an_image_knows_its_version_without_being_installed(file: str):
    assert "pyproject.toml" in copied(file)
    assert version_of(ROOT) == package_version()


def test_nobody_is_sent_to_a_storage_on_the_internal_network():
    """Unless the operator publishes it: every download would lead to an address that no caller can reach."""
    assert "ports" not in SERVICES["storage"]
    given = SERVICES["api"]["environment"]
    for name in ("GRAPHVEIL_PRESIGNED_SECONDS", "GRAPHVEIL_PRESIGNED_UPLOAD_SECONDS"):
        assert given[name] == f"${{{name}:-0}}"


def test_the_database_is_healthy_only_once_it_listens_for_others():
    """The server that runs the first scripts has a socket and no address: what is ready then is not yet."""
    probe = SERVICES["postgres"]["healthcheck"]["test"]
    assert probe[probe.index("--host") + 1] == "127.0.0.1"
