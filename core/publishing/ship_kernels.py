"""Run ``python -m core.publishing.ship_kernels``. It compiles every kernel into the folder that is shipped.

For this machine's kind of processor; ``--every``: for all kinds that it can run, as wheels and images carry
them. What is there already is not compiled again, and what nothing uses any longer is deleted. Where the
folder of the code cannot be written, the user's own is filled.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from core import command_line
from core.kernels import folders
from core.kernels.identity import VERSIONS
from core.kernels.processors import runnable
from core.kernels.store import Store
from core.logging import get_logger
from core.methods import registry
from core.methods.base import no_progress
from core.publishing import first_releases, kernels

MARK = "complete"
"""The file that says of which code a folder has every kernel."""
IMPORTED = "from core.kernels.decorator import"

log = get_logger(__name__)


def ship(processors: Sequence[str]) -> None:
    """Fill the folder of each kind of processor. One that was filled earlier stays."""
    folder = _written()
    folder.mkdir(parents=True, exist_ok=True)
    sources = _digest(_sources())
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process that is at it leaves nothing to do
        for processor in processors:
            if any(_complete(each / processor / MARK, sources) for each in (folders.SHIPPED, folder)):
                continue
            began = time.monotonic()
            # Without features of this very machine: the code must run on all processors of the kind.
            environment = {**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
            subprocess.run(
                [sys.executable, "-m", "core.publishing.ship_kernels", "--into", str(folder / processor)],
                env=environment,
                check=True,
            )
            log.info("kernels_compiled", processor=processor, seconds=round(time.monotonic() - began, 1))


def _fill(folder: Path) -> None:
    """Compile every kernel into the folder, in a process whose compiler is set to its kind of processor."""
    Store.made = folder.parent
    mark = f"{_digest(_sources())}\n{_of_all_kernels()}\n"
    kernels.compile_kernels(no_progress)
    # What no kernel has asked for belongs to code that is gone.
    kept = {path.name for path in Store.used if path.parent == folder}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    (folder / MARK).write_text(mark)


def _complete(mark: Path, sources: str) -> bool:
    """Tell whether the folder has every kernel: of the same files, or of others with the same kernels."""
    if not mark.exists():
        return False
    filled_for, compiled = mark.read_text().split()
    if filled_for == sources:
        return True
    if compiled != _of_all_kernels():
        return False
    # Noted, so that the next look compares files and loads no module.
    if os.access(mark, os.W_OK):
        mark.write_text(f"{sources}\n{compiled}\n")
    return True


def _of_all_kernels() -> str:
    """Digest the identities of all kernels, those of methods from elsewhere too, and what calls them here.

    Loads the modules that have kernels.
    """
    stores = []
    for path in _sources():
        if IMPORTED in path.read_text():
            # The topmost folder that is no package: modules are named from there.
            root = next(each for each in path.parents if not (each / "__init__.py").exists())
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            stores += [
                store
                for value in vars(importlib.import_module(name)).values()
                if isinstance(store := getattr(value, "_cache", None), Store)
            ]
    called = _digest(iter([Path(kernels.__file__), Path(first_releases.__file__)]))
    return hashlib.sha256(
        "".join(sorted({store.identity for store in stores} | {called})).encode()
    ).hexdigest()


def _sources() -> Iterator[Path]:
    """List the Python files of the packages that have kernels: this one, and those of its methods."""
    methods = {each.module.partition(".")[0] for each in registry.generators().values()}
    for package in sorted(methods | {"core"}):
        found = importlib.util.find_spec(package)
        for place in found.submodule_search_locations or () if found else ():
            yield from sorted(Path(place).rglob("*.py"))


def _digest(paths: Iterator[Path]) -> str:
    digest = hashlib.sha256(VERSIONS.encode())
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _written() -> Path:
    return folders.SHIPPED if os.access(folders.SHIPPED.parent, os.W_OK) else folders.own()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile; the exit code is 0 once every kernel is there."""
    parser = command_line.parser("core.publishing.ship_kernels", __doc__)
    parser.add_argument("--every", action="store_true", help="for every kind that this machine can run")
    parser.add_argument("--into", type=Path, help="the folder to fill, of NUMBA_CPU_NAME")
    options = parser.parse_args(arguments)
    if options.into:
        _fill(options.into)
    else:
        ship(runnable() if options.every else runnable()[:1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
