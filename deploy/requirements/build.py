"""``python -m deploy.requirements.build``: the images' packages with their files' digests.

Writes beside this file ``api.txt`` (x86_64 and aarch64), ``worker.txt``, ``papers.txt`` (what learned methods
need beyond, but for torch) and ``torch-cuda.txt`` (x86_64): what ``constraints.txt`` pins, and what CUDA's
torch brings. Downloads what pip must look into.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311")
MANYLINUX = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in (17, 24, 27, 28, 31, 34, 35)))
HEADER = "# Made by python -m deploy.requirements.build; installed with pip --require-hashes.\n"

Pins = Mapping[str, tuple[str, frozenset[str]]]
"""Of each package its version, and the SHA-256 of each file that may be installed."""


def normal(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constrained() -> dict[str, str]:
    """The versions that ``constraints.txt`` pins, by name."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def declared(*extras: str) -> list[str]:
    """The dependencies of the service, of its extras, and of the client that lies beside it."""
    project, client = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"] for folder in (".", "client")
    )
    named = [
        *project["dependencies"],
        *client["dependencies"],
        *(each for extra in extras for each in of_extra(project, extra)),
    ]
    return [each for each in dict.fromkeys(named) if each != client["name"]]


def of_extra(project: Mapping[str, Any], extra: str) -> Iterator[str]:
    """What an extra of the project asks for, with that of the extras which it names."""
    for each in project["optional-dependencies"][extra]:
        name, _, extras = each.rstrip("]").partition("[")
        if name != project["name"]:
            yield each
            continue
        for other in extras.split(","):
            yield from of_extra(project, other)


def pins_of(report: Mapping[str, Any]) -> Pins:
    """What an installation report of pip chose."""
    return {
        normal(item["metadata"]["name"]): (
            item["metadata"]["version"],
            frozenset({item["download_info"]["archive_info"]["hashes"]["sha256"]}),
        )
        for item in report["install"]
    }


def reported(wanted: Iterable[str], machine: str, *, alone: bool = False) -> Pins:
    """What pip would install for CPython 3.11 on ``machine``; ``alone``: without dependencies."""
    with tempfile.TemporaryDirectory() as folder:
        asked, report = Path(folder) / "wanted", Path(folder) / "report"
        asked.write_text("\n".join(wanted))
        platforms = [part for each in MANYLINUX for part in ("--platform", f"{each}_{machine}")]
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"),
            *("--only-binary", ":all:", "--target", folder, "--report", str(report), *PYTHON, *platforms),
            *("-c", str(ROOT / "constraints.txt"), "-r", str(asked), *(("--no-deps",) if alone else ())),
        ]
        subprocess.run(command, check=True)
        return pins_of(json.loads(report.read_text()))


def both(one: Pins, other: Pins) -> Pins:
    """The same versions with the files of both; ValueError where they differ."""
    if {name: version for name, (version, _) in one.items()} != {n: v for n, (v, _) in other.items()}:
        raise ValueError("the two machines would get other packages")
    return {name: (version, files | other[name][1]) for name, (version, files) in one.items()}


def text(pins: Pins) -> str:
    """A requirements file that pip takes with --require-hashes."""
    lines = [
        f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(files))
        for name, (version, files) in sorted(pins.items())
    ]
    return HEADER + "\n".join(lines) + "\n"


def files_of(api: Pins, api_arm: Pins, worker: Pins, papers: Pins) -> dict[str, str]:
    """The content of each file by its name. What no constraint names came with torch for CUDA."""
    known = constrained()
    more = {name: pin for name, pin in papers.items() if name not in worker}
    cuda = {name: pin for name, pin in more.items() if name == "torch" or name not in known}
    return {
        "api.txt": text(both(api, api_arm)),
        "worker.txt": text(worker),
        "papers.txt": text({name: pin for name, pin in more.items() if name not in cuda}),
        "torch-cuda.txt": text(cuda),
    }


def main() -> None:
    """Writes the files."""
    api = reported(declared("service"), "x86_64")
    arm = reported([f"{name}=={version}" for name, (version, _) in api.items()], "aarch64", alone=True)
    worker, papers = (reported(declared(*extras), "x86_64") for extras in (("worker",), ("worker", "papers")))
    for name, content in files_of(api, arm, worker, papers).items():
        (HERE / name).write_text(content)


if __name__ == "__main__":
    main()
