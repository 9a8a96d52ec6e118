"""What a reader of the house must walk through, counted.

    python -m benchmarks.house

Code is what is neither blank, comment nor docstring. The way of POST /jobs is read from the text: from
`submit` of `api/routes/jobs.py` each call of a function that imports or definitions of its module name is
followed, once. A room is a module; a move is a call from one room into another. What FastAPI resolves before,
and calls of members, are not seen.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

from core.methods import registry

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ("core", "api", "worker")
BESIDE = {"tests", "benchmarks"}
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(package: str) -> dict[str, str]:
    """Read every module of a package, by dotted name; none that stands beside a method."""
    found = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        place = file.relative_to(ROOT).with_suffix("")
        if BESIDE.isdisjoint(place.parts):
            found[".".join(place.parts).removesuffix(".__init__")] = file.read_text()
    return found


def code_lines(source: str) -> int:
    """Count the lines that hold code: no docstring, comment or blank line does."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - texts)


def type_checking_lines(tree: ast.Module) -> int:
    """Count the lines of `if TYPE_CHECKING` blocks, their first included."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


def late_imports(tree: ast.Module) -> int:
    """Count the imports that stand inside functions."""
    return len(
        {
            inner
            for function in ast.walk(tree)
            if isinstance(function, Function)
            for inner in ast.walk(function)
            if isinstance(inner, ast.Import | ast.ImportFrom)
        }
    )


COUNTED = (type_checking_lines, late_imports)


def way(house: dict[str, ast.Module], module: str, function: str) -> tuple[int, int]:
    """Follow the calls from a function: rooms entered, and moves from one room into another."""
    defined = {
        (name, each.name): each
        for name, tree in house.items()
        for each in tree.body
        if isinstance(each, Function)
    }
    names = {name: dict(_bound(tree, house)) for name, tree in house.items()}
    waiting, passed, moves = [(module, function)], {(module, function)}, 0
    while waiting:
        here, name = waiting.pop()
        for call in ast.walk(defined[here, name]):
            if not isinstance(call, ast.Call):
                continue
            place = _called(call.func, here, names[here])
            if place in defined:
                moves += place[0] != here
                if place not in passed:
                    passed.add(place)
                    waiting.append(place)
    return len({room for room, _ in passed}), moves


def _bound(tree: ast.Module, house: dict[str, ast.Module]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what each imported name stands for: a module and "", or a module and a name in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield alias.asname or alias.name, (inner, "") if inner in house else (node.module, alias.name)


def _called(called: ast.expr, here: str, names: dict[str, tuple[str, str]]) -> tuple[str, str]:
    if isinstance(called, ast.Name):
        return names.get(called.id, (here, called.id))
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return names.get(called.value.id, ("", ""))[0], called.attr
    return "", ""


def main() -> None:
    """Print a row a package, the methods' parameters, and the way of a job."""
    print("| package | modules | code lines | TYPE_CHECKING lines | imports inside functions |")
    print("|---|---:|---:|---:|---:|")
    parts = [
        f"core/{each.name}" for each in sorted((ROOT / "core").iterdir()) if (each / "__init__.py").exists()
    ]
    for package in (*HOUSE, *parts, "papers"):
        sources = modules(package).values()
        trees = [ast.parse(source) for source in sources]
        figures = (len(trees), sum(map(code_lines, sources)), *(sum(map(each, trees)) for each in COUNTED))
        print(f"| {package} |", " | ".join(f"{figure:,}" for figure in figures), "|")
    methods = registry.generators().values()
    parameters = sum(len(method.Params.model_fields) for method in methods)
    print(f"\n{len(methods)} methods with {parameters} parameters.")
    trees_by_name = {name: ast.parse(text) for package in HOUSE for name, text in modules(package).items()}
    rooms, moves = way(trees_by_name, "api.routes.jobs", "submit")
    print(f"POST /jobs enters {rooms} rooms in {moves} moves between rooms.")


if __name__ == "__main__":
    main()
