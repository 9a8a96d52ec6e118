"""Who is handed which secret: by compose and in a cluster alike, and none that a process can do without."""

from __future__ import annotations

import pytest
import yaml

from core.settings import Settings
from core.workflows.common.context import open_services
from core.workflows.operations.gauges import read_gauges
from deploy.local.processes import COMMANDS
from tests.support.deployed import KUBERNETES, PODS, SERVICES, names

KEYS = {"graphveil_master_key", "graphveil_fingerprint_key"}
"""What opens stored graphs, and what tells whether two uploads are one."""
SIGNING = "graphveil_head_signing_key"
EVERY = names(SERVICES["api"]["secrets"]) | {SIGNING}


def mounted(pod: str) -> set[str]:
    """The files that the pod's volume holds: those that are named, or all of the secret."""
    (volume,) = [each for each in PODS[pod]["spec"]["volumes"] if each["name"] == "secrets"]
    assert volume["secret"]["secretName"] == "graphveil"
    items = volume["secret"].get("items")
    if items is None:
        return EVERY
    assert all(item["key"] == item["path"] for item in items)
    return {item["path"] for item in items}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_process_is_handed_the_same_secrets_by_compose_and_in_a_cluster(name: str) -> None:
    assert mounted(name) == names(SERVICES[name]["secrets"])


def test_the_cluster_says_which_secrets_there_are() -> None:
    file = KUBERNETES / "base" / "configuration.yaml"
    comment = " ".join(line for line in file.read_text().splitlines() if line.startswith("#"))
    assert {secret for secret in EVERY if secret in comment} == EVERY
    assert yaml.safe_load(file.read_text())["kind"] == "ConfigMap"


def test_keys_go_to_those_who_open_graphs_or_sign_webhooks() -> None:
    holders = {name for name, service in SERVICES.items() if KEYS & names(service.get("secrets", []))}
    assert holders == {"api", "worker", "validator", "worker-papers", "worker-gpu", "webhooks", "keys"}
    assert {name for name in PODS if name != "migrations" and KEYS & mounted(name)} == holders - {"keys"}


def test_only_who_signs_the_heads_is_handed_the_seed_and_the_others_what_verifies_them() -> None:
    given = {name: names(service.get("secrets", [])) for name, service in SERVICES.items()}
    assert {name for name, secrets in given.items() if SIGNING in secrets} == {"verifier"}
    assert {name for name in PODS if name != "migrations" and SIGNING in mounted(name)} == {"verifier"}
    verifying = {"api", "worker", "validator", "relay", "reaper", "webhooks", "verifier", "keys"}
    assert all("graphveil_head_public_keys" in given[name] for name in verifying)


def test_the_exporter_needs_the_database_and_nothing_else(database_url: str) -> None:
    assert mounted("exporter") == {"graphveil_database_url"}
    assert "graphveil/storage" not in PODS["exporter"]["metadata"]["labels"]
    services = open_services(Settings(database_url=database_url, storage_url="s3://graphveil"))
    try:
        assert read_gauges(services).budgets.accounts == 0
    finally:
        services.close()
