"""What the libraries of each image weigh, without a container engine.

    python -m benchmarks.image_sizes

Sums the files that pip recorded of each package in `deploy/requirements`, as they lie in this environment,
compiled Python left out. The libraries that `Dockerfile.worker` strips are stripped here too, in a folder
that is thrown away. torch is the one that this environment has.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "deploy" / "requirements"
STRIPPED = (("opendp", "opendp/lib"), ("llvmlite", "llvmlite/binding"))


def packages(name: str) -> list[str]:
    """List the packages of a file of requirements."""
    return re.findall(r"^([a-z0-9-]+)==", (FOLDER / f"{name}.txt").read_text(), re.M)


def files(package: str) -> dict[Path, int]:
    """Weigh each file of a package; none where it is not installed."""
    try:
        recorded = distribution(package).files or ()
    except PackageNotFoundError:
        return {}
    found = (Path(str(each.locate())) for each in recorded if each.suffix != ".pyc")
    return {each: each.stat().st_size for each in found if each.is_file()}


def megabytes(names: Iterable[str]) -> float:
    """Weigh packages together."""
    return sum(sum(files(each).values()) for each in names) / 1e6


def stripped(package: str, folder: str) -> tuple[float, float]:
    """Weigh a package's libraries as they are, and stripped of what no process asks for."""
    before = after = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path, size in files(package).items():
            if f"/{folder}/" in str(path) and path.suffix == ".so":
                copied = Path(scratch) / path.name
                shutil.copyfile(path, copied)
                subprocess.run(["strip", "--strip-unneeded", str(copied)], check=True)
                before, after = before + size, after + copied.stat().st_size
    return before / 1e6, after / 1e6


def main() -> None:
    """Print the sizes."""
    argparse.ArgumentParser(prog="benchmarks.image_sizes", description=__doc__).parse_args()
    saved = 0.0
    for package, folder in STRIPPED:
        before, after = stripped(package, folder)
        saved += before - after
        print(f"{package}: {before:.0f} MB, stripped {after:.0f} MB")
    worker = packages("worker")
    light = megabytes(worker) - saved
    papers = megabytes([*worker, *packages("papers"), "torch"]) - saved
    print(f"api: {megabytes(packages('api')):,.0f} MB")
    print(f"worker: {light:,.0f} MB; with what learned methods need: {papers:,.0f} MB")
    lacking = sorted(each for each in {*worker, *packages("papers")} if not files(each))
    print("not installed here:", ", ".join(lacking) or "none")


if __name__ == "__main__":
    main()
