"""House rules that a linter does not know; `python -m tests.house_rules` prints what breaks them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 500
SERVICE = ("api", "worker", "core", "papers")
PACKAGES = (*SERVICE, "client", "deploy")
BESIDE = ("tests", "benchmarks")
"""Folders in ``papers`` that stand beside a method, and are no part of the product."""
READS_NO_ENVIRONMENT = (*(f"{room}/" for room in SERVICE), "client/graphveil/")


def python_files() -> list[Path]:
    """Every Python file of the project that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


def too_long(files: list[Path]) -> Iterator[str]:
    """Files that no longer have one reason to change."""
    for file in files:
        lines = len(file.read_text().splitlines())
        if lines > MOST_LINES:
            yield f"{file.relative_to(ROOT)}: {lines} lines, at most {MOST_LINES}"


def swallowed_errors(files: list[Path]) -> Iterator[str]:
    """Handlers that do nothing: an error is handled or let through."""
    for file in files:
        text = file.read_text()
        if "except" not in text or not re.search(r"\bpass\b", text):
            continue  # to parse a file takes longer than all else here
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and all(isinstance(s, ast.Pass) for s in node.body):
                yield f"{file.relative_to(ROOT)}:{node.lineno}: an error is swallowed"


def undocumented_modules(files: list[Path]) -> Iterator[str]:
    """Modules of the product that do not say what they are for."""
    for file in files:
        if file.relative_to(ROOT).parts[0] not in PACKAGES or (text := file.read_text()).startswith('"""'):
            continue
        if not ast.get_docstring(ast.parse(text)):
            yield f"{file.relative_to(ROOT)}: no module docstring"


def reads_environment(files: list[Path]) -> Iterator[str]:
    """Reads of the environment outside core/settings.py in the service."""
    for file in files:
        relative = file.relative_to(ROOT)
        beside = not set(BESIDE).isdisjoint(relative.parts)
        if (
            beside
            or not relative.as_posix().startswith(READS_NO_ENVIRONMENT)
            or relative.name == "settings.py"
            or relative.as_posix() == "core/kernels/folders.py"  # Numba's variable and the user's, no setting
        ):
            continue
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if "os.getenv(" in line or "os.environ[" in line or "os.environ.get(" in line:
                yield f"{relative}:{number}: the environment is read outside core/settings.py"


def circles(packages: Iterable[str]) -> Iterator[str]:
    """Modules of ``packages`` that import one another in a circle, imports inside functions included.

    A circle is mended by moving what both sides need into a module of its own, not by a later import.
    """
    modules = grimp.build_graph(*packages, cache_dir=None)
    imports = nx.DiGraph(
        (each, other) for each in modules.modules for other in modules.find_modules_directly_imported_by(each)
    )
    for component in sorted(map(sorted, nx.strongly_connected_components(imports))):
        if len(component) > 1:
            yield f"{', '.join(component)}: they import one another"


READS = {"execute", "scalar", "scalars", "get", "get_one", "query"}
BUILDS = {"select", "insert", "update", "delete", "text"}
SQL_ROOMS = (
    # The SQL of leases and turns, of the ledger's chain, its holdings and its proofs.
    *(
        "core/db/",
        "core/work/leases.py",
        "core/jobs/turns.py",
    ),
    *(
        "core/ledger/invariant_queries.py",
        "core/ledger/history.py",
        "core/ledger/holdings.py",
        "core/ledger/pace.py",
        "core/ledger/posting.py",
    ),
    *("core/datasets/vault.py", "core/identity/service.py"),
    # Reads over the tables of every noun: figures for operators, proofs of the whole, desks of several kinds.
    *("core/workflows/operations/gauges_", "core/workflows/ledger/invariants/"),
    *("core/workflows/ledger/head_exports.py", "core/workflows/jobs/turns.py"),
    # A connection of their own: the probe of the database, and the lock that one process holds.
    *("api/serve/readiness.py", "worker/advisory_lock.py"),
)
"""Files besides repositories and models in which SQL may stand."""


def sql_outside(files: list[Path], root: Path = ROOT) -> Iterator[str]:
    """SQL, and reads of a session, outside the repositories."""
    for file in files:
        name = str(file.relative_to(root))
        if not name.startswith(("api/", "worker/", "core/")) or name.startswith(SQL_ROOMS):
            continue
        if file.name.endswith("repository.py") or file.name in ("models.py",):
            continue
        text = file.read_text()
        if "sqlalchemy" not in text and "session" not in text:
            continue
        tree = ast.parse(text)
        sql = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "sqlalchemy"
            for alias in node.names
            if alias.name in BUILDS
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Name) and called.id in sql:
                yield f"{name}:{node.lineno}: SQL outside a repository"
            of_session = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
            if of_session and called.value.id == "session" and called.attr in READS:
                yield f"{name}:{node.lineno}: a session is read outside a repository"


RULES = (too_long, swallowed_errors, undocumented_modules, reads_environment, sql_outside)


def broken_rules() -> list[str]:
    """Every breach, a line each."""
    files = python_files()
    return [*(breach for rule in RULES for breach in rule(files)), *circles((*SERVICE, "graphveil"))]


if __name__ == "__main__":
    breaches = broken_rules()
    print("\n".join(breaches) or "House rules hold.")
    sys.exit(bool(breaches))
