"""A method's version by its code, so that what was measured with other code is not taken for its own."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

from core.methods.registry import get

ROOMS = ("core.methods", "papers")
FOLDERS = ("core.methods", "papers.comparators")
"""Packages with a room for each method; elsewhere in ``papers`` a paper is one room."""
COMMON = ("core.methods.base", "core.methods.registry", "core.methods.choice")


def version_of(method: str) -> str:
    """Twelve hex digits of the code in the method's room and of what it imports of methods.

    Comments, docstrings and the interface of all methods are left out; so are graphs and mechanisms, whose
    meaning never changes. The files are read anew by every call.
    """
    parts = get(method).module.split(".")
    room = ".".join(parts[: 3 if ".".join(parts[:2]) in FOLDERS else 2])
    graph = _imports()
    own = {room, *graph.find_descendants(room)}
    used = own | graph.find_upstream_modules(room, as_package=True)
    names = sorted(
        name for name in used if name.startswith(tuple(f"{room}." for room in ROOMS)) and name not in COMMON
    )
    return digest((name, Path(_file(name)).read_text()) for name in names)


@cache
def _imports() -> grimp.ImportGraph:
    return grimp.build_graph("core", "papers", cache_dir=None)


@cache
def _file(name: str) -> str:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(name)
    return found.origin


def digest(modules: Iterable[tuple[str, str]]) -> str:
    """Of names and texts of modules: equal where the code is, whatever the comments and docstrings."""
    whole = hashlib.sha256()
    for name, text in modules:
        whole.update(f"{name}\n{_code(text)}\n".encode())
    return whole.hexdigest()[:12]


@cache
def _code(text: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(text)))


class _Bare(ast.NodeTransformer):
    """Takes out texts that stand alone: docstrings."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)
