"""The compose file and the Kubernetes manifests, as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("graphveil-")]


def names(entries: list[Any]) -> set[str]:
    """The files under /run/secrets that a service's list of secrets gives it."""
    return {entry if isinstance(entry, str) else entry["target"] for entry in entries}


def documents() -> Iterator[dict[str, Any]]:
    """Every document of every manifest."""
    for path in sorted(KUBERNETES.rglob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


MANIFESTS = list(documents())
PODS: dict[str, dict[str, Any]] = {
    document["metadata"]["name"]: document["spec"]["template"]
    for document in MANIFESTS
    if document["kind"] in ("Deployment", "Job")
}


def of_kind(kind: str) -> list[dict[str, Any]]:
    """The manifests of that kind."""
    return [document for document in MANIFESTS if document["kind"] == kind]
