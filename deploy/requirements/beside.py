"""``python -m deploy.requirements.beside``: what to install beside a machine's own torch, one a line.

Run by the environment that is to get it, which sees the machine's packages. What it has already is left
alone, whatever its version: torch and what torch was built with (NumPy, its CUDA libraries) belong together.
What is missing is named with the version of ``constraints.txt``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from deploy.requirements.build import of_extra

ROOT = Path(__file__).resolve().parents[2]
NOT_NEEDED = frozenset({"graphveil", "torch"})
TESTING = ("hypothesis", "pytest", "pytest-rerunfailures", "pytest-timeout", "pytest-xdist")
"""What tests of devices need of the development's packages: others bring a torch of their own."""


def wanted() -> list[str]:
    """The names of what the service, its workers and its tests import."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*stated["dependencies"], *of_extra(stated, "worker"), *of_extra(stated, "papers"), *TESTING]


def missing() -> Iterator[str]:
    """Each requirement that nothing on the machine meets, at its constraint."""
    pinned = dict(
        line.split("==", 1) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    )
    pinned = {_plain(name): version.split()[0] for name, version in pinned.items()}
    for requirement in wanted():
        name = re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0]
        extras = re.search(r"\[.*?\]", requirement)
        if _plain(name) in NOT_NEEDED or _there(name):
            continue
        version = pinned.get(_plain(name))
        yield f"{name}{'' if extras is None else extras[0]}" + (f"=={version}" if version else "")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _there(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> None:
    print("\n".join(missing()))


if __name__ == "__main__":
    main()
