"""``python -m tests.support.without SPARE RESULTS``: what is left of the product without each of its methods.

Run in a copy of the tree, which it takes files out of and puts back. For every method, what bears its name is
moved to the folder SPARE, together with the methods that are built on it, and a process of its own imports
whatever is left. RESULTS receives one JSON object: by method, what that process found.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import tomllib
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

BUILT_ON = {
    "dpggan": ("dpgvae", "ggan", "gvae"),
    "hetesdg": ("hetedp",),
    "thepuff": ("thepuff_perturb",),
}
"""Families: methods that are another's by their nature, and go with it."""

LOADED_ONCE = (
    *("pyarrow.parquet", "scipy.stats", "numba", "torch", "safetensors.torch", "networkx"),
    *("core.evaluation.attacks.run", "core.evaluation.whole.compare", "core.reports.build"),
    *("core.privacy.session.private_graph", "core.learning", "core.settings"),
)
"""What all processes start with: libraries, and packages of the product that know no method."""


def gone_with(method: str) -> tuple[str, ...]:
    """The method, and those that are built on it."""
    return (method, *BUILT_ON.get(method, ()))


def method_modules(root: Path) -> dict[str, str]:
    """The module or package of every method of the tree at ``root``, found without importing any."""
    own = {"base", "choice", "registry", "room", "shares"}
    engine = {
        entry.name: f"core.methods.{entry.name}"
        for entry in pkgutil.iter_modules([str(root / "core" / "methods")])
        if entry.name not in own and not entry.name.startswith("_")
    }
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    entered = project["entry-points"]["graphveil.methods"]
    return dict(
        sorted({**engine, **{name: value.partition(":")[0] for name, value in entered.items()}}.items())
    )


def method_paths(root: Path) -> dict[str, Path]:
    """The file or folder of every method of the tree at ``root``."""
    places = {name: root.joinpath(*module.split(".")) for name, module in method_modules(root).items()}
    return {name: path if path.is_dir() else path.with_suffix(".py") for name, path in places.items()}


def outermost(paths: Iterable[Path]) -> set[Path]:
    """Those of ``paths`` that lie in no other."""
    every = set(paths)
    return {path for path in every if not every & set(path.parents)}


def left() -> dict[str, Any]:
    """What the product is in this process: its methods, modules that cannot be imported, pages, choices."""
    from core.graphs.schema import EdgeType, GraphSchema, NodeType
    from core.methods import choice, registry
    from core.methods.base import PublicFacts
    from core.privacy.units import Unit

    schema = GraphSchema(node_types=(NodeType(count=500),), edge_types=(EdgeType(),))
    asked = [PublicFacts(schema, Unit.EDGE, None, nano, 0, ("edge",)) for nano in (10**9, 20 * 10**9)]
    return {
        "root": str(Path(registry.__file__).resolve().parents[2]),
        "methods": sorted(registry.generators()),
        "broken": [*_broken("core.methods"), *_broken("papers")],
        "pages": {path.name: _digest(text) for path, text in _docs().pages().items()},
        "chosen": [choice.choose(facts, {"node": 500}).method for facts in asked],
    }


def _broken(package: str) -> Iterable[str]:
    folder = importlib.import_module(package)
    for entry in pkgutil.walk_packages(folder.__path__, f"{package}.", onerror=lambda name: None):
        try:
            importlib.import_module(entry.name)
        except ImportError as error:
            yield f"{entry.name}: {error}"


def _docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", Path("docs/build.py").resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def without(paths: Iterable[Path], spare: Path) -> dict[str, Any]:
    """:func:`left` in a process of its own while ``paths`` lie in ``spare``."""
    moved = {path: spare / path.name for path in outermost(paths)}
    for path, place in moved.items():
        path.rename(place)
    try:
        read, write = os.pipe()
        if not os.fork():
            os.close(read)
            _answer(write)
        os.close(write)
        with os.fdopen(read) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        os.wait()
        return found
    finally:
        for path, place in moved.items():
            place.rename(path)


def _answer(write: int) -> None:
    """Write what is left, or why that cannot be told, and end this process."""
    try:
        found = left()
    except BaseException:  # told to the one who asked
        found = {"failed": traceback.format_exc()}
    with os.fdopen(write, "w") as answer:
        json.dump(found, answer)
    os._exit(0)


def _mapped(finder: Any) -> Iterable[str]:
    return getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", ())


def main(spare: Path, results: Path) -> None:
    """The product whole (by the name ""), and without each method in turn."""
    # An editable installation finds in its own tree what was taken out of this one.
    sys.meta_path[:] = [each for each in sys.meta_path if "core" not in _mapped(each)]
    for name in LOADED_ONCE:
        importlib.import_module(name)
    assert "core.methods" not in sys.modules, "every process has to look for the methods itself"
    methods = method_paths(Path.cwd())
    gone = {"": (), **{name: gone_with(name) for name in methods}}
    found = {name: without([methods[each] for each in names], spare) for name, names in gone.items()}
    results.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
