"""Every failpoint of the service is one at which a test kills a process, and the list names them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from core.failpoints import POINTS

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).parent


def nodes(folder: Path) -> Iterator[ast.AST]:
    for path in sorted(folder.rglob("*.py")):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def texts(node: ast.AST) -> set[str]:
    return {
        each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and type(each.value) is str
    }


def reached() -> list[str]:
    """The names at which the service's code calls ``reach``, once for each call."""
    found = []
    for node in (each for folder in ("core", "papers", "worker", "api") for each in nodes(ROOT / folder)):
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "reach":
            (argument,) = node.args
            assert isinstance(argument, ast.Constant), "a failpoint's name is a literal"
            found.append(argument.value)
    return found


def _names_points(node: ast.AST) -> bool:
    match node:
        case ast.keyword(arg="failpoints") | ast.Assign(targets=[ast.Name(id="POINTS")]):
            return True
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[ast.Constant(value="point"), *_]):
            return True
    return False


def killed_at() -> set[str]:
    """What the fault tests arm without an action, which kills: in their tables of points, and by name."""
    found: set[str] = set()
    for node in nodes(TESTS):
        if _names_points(node):
            found |= texts(node)
    return found


def test_the_list_names_every_failpoint_of_the_source_once() -> None:
    assert sorted(reached()) == sorted(POINTS)


def test_a_process_is_killed_at_every_failpoint() -> None:
    assert set(POINTS) - killed_at() == set()
