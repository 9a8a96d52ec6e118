"""The compose file: hardened, pinned, in step with the processes and settings that it starts."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from api.show.pages import DOCS
from core.checks import evidence_keys, signed_heads
from core.settings import Settings
from core.version import package_version, version_of
from deploy.local.processes import COMMANDS
from tests.support.deployed import COMPOSE, OURS, PODS, ROOT, SERVICES, names

each = pytest.mark.parametrize("name", SERVICES)
ENDING = ("bucket", "migrations", "grants", "keys")


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
    reaching = {name for name, service in SERVICES.items() if "outside" in service.get("networks", [])}
    assert reaching == {"api", "webhooks", "grafana"}


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


def test_who_signs_what():
    holders = {
        secret: {name for name in OURS if secret in names(SERVICES[name]["secrets"])}
        for secret in ("graphveil_head_signing_key", "graphveil_evidence_signing_key")
    }
    assert holders == {
        "graphveil_head_signing_key": {"verifier"},
        "graphveil_evidence_signing_key": {"api"},
    }


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
    seed = found.head_signing_key.get_secret_value()
    assert found.head_public_keys == signed_heads.key_text(signed_heads.signing_key(seed).public_key())
    assert found.evidence_signing_key.get_secret_value() == evidence_keys.seed_of(seed)
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


def test_the_api_has_the_pages_that_it_serves():
    assert str(DOCS.relative_to(ROOT)) in copied("Dockerfile.api")


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


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ENDING])
def test_every_container_that_stays_is_asked_for_its_health(name: str):
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    if "healthcheck" in service:
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
        assert service["healthcheck"]["interval"]
    else:
        assert "\nHEALTHCHECK --interval=" in (ROOT / service["build"]["dockerfile"]).read_text()


@pytest.mark.parametrize("name", ENDING)
def test_what_ends_is_waited_for_or_asked_for_by_hand(name: str):
    assert SERVICES[name]["restart"] in ("on-failure", "no")
    needed = {
        need: told["condition"]
        for service in SERVICES.values()
        for need, told in service.get("depends_on", {}).items()
    }
    assert needed.get(name, "service_completed_successfully") == "service_completed_successfully"
    assert (name in needed) != ("profiles" in SERVICES[name])


def test_redis_starts_as_its_own_user() -> None:
    """As root its image walks the data folder at each start, parts of which only their owner may enter."""
    assert SERVICES["redis"]["user"] == "valkey"
    assert "cap_add" not in SERVICES["redis"]


def test_what_asks_nobody_for_a_password_listens_inside_the_storages_container_only() -> None:
    command = SERVICES["storage"]["command"]
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.ip.bind=0.0.0.0"} <= set(command)
    assert SERVICES["bucket"]["network_mode"] == "service:storage"
    assert [n for n, s in SERVICES.items() if "network_mode" in s] == ["bucket"]


@pytest.mark.parametrize(("there", "ended"), [("graphveil\tsize:0", 0), ("graphveil2\tsize:0", 1), ("", 1)])
def test_the_bucket_is_made_or_its_maker_fails(tmp_path: Path, there: str, ended: int) -> None:
    """The storage's shell ends with 0 whatever became of its commands."""
    shell = tmp_path / "weed"
    shell.write_text(f"#!/bin/sh\ngrep -q list && printf '>   {there}\\n'\nexit 0\n")
    shell.chmod(0o755)
    service = SERVICES["bucket"]
    command = [*service["entrypoint"], *(word.replace("$$", "$") for word in service["command"])]
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert subprocess.run(command, env={"PATH": path}, check=False).returncode == ended


@pytest.mark.parametrize(
    ("name", "folder"),
    [("worker-gpu", "work-gpu"), ("worker-papers", "work-papers"), ("validator", "work-validator")],
)
def test_all_kinds_of_workers_are_held_alike(name: str, folder: str) -> None:
    """They differ in what they run on, or in the queue that they serve, and in nothing else."""
    own = {"image", "build", "profiles", "deploy", "command", "environment"}
    told = {"GRAPHVEIL_GPU", "GRAPHVEIL_GPU_MEMORY_FRACTION"} if name == "worker-gpu" else set()
    for_all, for_it = SERVICES["worker"]["environment"], SERVICES[name]["environment"]
    assert {key: value for key, value in for_it.items() if key not in told} == for_all
    assert told <= set(for_it)
    plain, other = (
        {key: value for key, value in SERVICES[name].items() if key not in own} for name in ("worker", name)
    )
    assert other | {"volumes": [each.replace(folder, "work") for each in other["volumes"]]} == plain


def test_a_child_is_stopped_before_its_container_is_killed() -> None:
    worker = SERVICES["worker"]
    set_by = dict(re.findall(r"\$\{(\w+):-([^}]+)\}", " ".join(map(str, worker["environment"].values()))))
    limit = re.fullmatch(r"\$\{GRAPHVEIL_WORKER_MEMORY:-(\d+)g\}", worker["mem_limit"])
    assert limit is not None
    assert int(set_by["GRAPHVEIL_JOB_MEMORY_BYTES"]) + 2 * 2**30 <= int(limit[1]) * 2**30
    assert float(set_by["GRAPHVEIL_GRACE_SECONDS"]) + 30 <= float(
        worker["stop_grace_period"].removesuffix("s")
    )
    of_a_pod = {each["name"] for each in PODS["worker"]["spec"]["containers"][0]["env"]}
    assert of_a_pod <= set(worker["environment"])


def test_dashboards_are_shown_to_nobody_outside_and_fetch_nothing() -> None:
    given = SERVICES["grafana"]["environment"]
    for off in ("ANALYTICS_REPORTING_ENABLED", "ANALYTICS_CHECK_FOR_UPDATES", "NEWS_NEWS_FEED_ENABLED",
                "ANALYTICS_CHECK_FOR_PLUGIN_UPDATES", "SNAPSHOTS_EXTERNAL_ENABLED"):  # fmt: skip
        assert given[f"GF_{off}"] == "false"
    assert given["GF_PLUGINS_PREINSTALL_DISABLED"] == "true"


def test_backups_reach_the_database_through_services_that_there_are() -> None:
    folder = ROOT / "deploy" / "backup"
    script = (folder / "compose.sh").read_text()
    commands = dict(re.findall(r'^export (GRAPHVEIL_\w+)="(.*)"$', script, re.MULTILINE))
    scripts = "".join((folder / f"{name}.sh").read_text() for name in ("backup", "restore"))
    assert set(commands) == set(re.findall(r"\$\{(GRAPHVEIL_\w+):-", scripts)) - {"GRAPHVEIL_ROLES"}
    for command in commands.values():
        assert set(command.split()) & set(SERVICES), command


def test_what_starts_by_itself_has_nothing_that_learns_and_a_profile_has_it():
    built = {
        name: each["build"]["args"] for name, each in SERVICES.items() if "args" in each.get("build", {})
    }
    assert built == {
        "worker": {"LEARNING": "none"},
        "validator": {"LEARNING": "none"},
        "worker-papers": {"LEARNING": "cpu"},
        "worker-gpu": {"LEARNING": "cuda"},
    }
    assert SERVICES["worker-papers"]["profiles"] == ["papers"]
    assert len({SERVICES[name]["image"] for name in ("worker", "worker-papers", "worker-gpu")}) == 3
