"""docker-compose.yml as a list of processes: command, environment, secrets, needs and restart of each.

What a service leaves to its image is read from the image's Dockerfile. Variables have their defaults.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILES = {"graphveil-api": "Dockerfile.api", "graphveil-worker": "Dockerfile.worker"}
DOCKER_STOP_SECONDS = 10.0
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class Service:
    """One service. ``secrets``: names under /run/secrets, and those of the secrets. ``needs``: conditions."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    secrets: dict[str, str]
    needs: dict[str, str]
    restart: str
    stop_seconds: float


@cache
def services() -> dict[str, Service]:
    """Every service that starts without a profile of its own, or with that of the dashboards."""
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found = {name: _service(name, each) for name, each in document["services"].items()}
    return {
        name: found[name]
        for name, each in document["services"].items()
        if set(each.get("profiles", ["observability"])) <= {"observability"}
    }


def _service(name: str, stated: dict[str, Any]) -> Service:
    image, environment = stated["image"].partition(":")[0], {}
    command = [*_listed(stated.get("entrypoint")), *_listed(stated.get("command"))]
    if image in DOCKERFILES:
        last = (ROOT / DOCKERFILES[image]).read_text().rpartition("\nFROM ")[2].replace("\\\n", "")
        environment = dict(
            pair.split("=", 1) for line in _instructions(last, "ENV") for pair in shlex.split(line)
        )
        command = command or json.loads(_instructions(last, "CMD")[-1])
    environment |= {key: _plain(value) for key, value in stated.get("environment", {}).items()}
    secrets = (
        (each, each) if isinstance(each, str) else (each["target"], each["source"])
        for each in stated.get("secrets", [])
    )
    return Service(
        name=name,
        command=tuple(map(_plain, command)),
        environment=environment,
        secrets=dict(secrets),
        needs={needed: how["condition"] for needed, how in stated.get("depends_on", {}).items()},
        restart=stated["restart"],
        stop_seconds=float(str(stated.get("stop_grace_period", DOCKER_STOP_SECONDS)).removesuffix("s")),
    )


def _listed(stated: list[str] | None) -> list[str]:
    return list(stated or [])


def _plain(text: object) -> str:
    """The text with the default of every variable in it."""
    return _VARIABLE.sub(lambda found: found[2] or "", str(text))


def _instructions(stage: str, name: str) -> list[str]:
    return [
        line.removeprefix(f"{name} ").strip() for line in stage.splitlines() if line.startswith(f"{name} ")
    ]
