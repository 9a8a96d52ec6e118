"""Every command in README and handbook is one that there is: its program, its options, its target, its route.

Pages that lead somewhere are run as they stand (`test_integrate_page.py`, `test_walked_pages.py`,
`test_choosing_epsilon.py`, `test_persons_page.py`, `test_synthesis.py`); here are all the others too.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from graphveil.cli.app import app
from tests.support.stage import COLLECTED

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAM = typer.main.get_command(app)


def lines() -> Iterator[tuple[str, str]]:
    """Every command line of the pages, a continued one as one: the page's name, and the line."""
    for page in PAGES:
        for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language in ("", "sh", "console"):
                for line in block.replace("\\\n", " ").splitlines():
                    yield page.name, line.strip().removeprefix("$ ")


def of(program: str) -> list[Any]:
    """The lines that begin with the program, without what stands before it and without a comment."""
    begun = re.compile(rf"^(?:[A-Z_]+=\S+ )*({program}.*?)(?:\s+#.*|\s+&&.*|\s+\|.*)?$")
    found = [(name, match[1]) for name, line in lines() if (match := begun.match(line))]
    assert found
    return [pytest.param(line, id=f"{name}: {line[:50]}") for name, line in found]


@pytest.mark.parametrize("line", of("graphveil "))
def test_the_program_takes_every_line(line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = PROGRAM
    context = click.Context(PROGRAM)
    while words and words[0] == "--json":
        words.pop(0)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, context = found, click.Context(found, info_name=words.pop(0), parent=context)
    command.make_context(command.name, [*words], parent=context.parent)


@pytest.mark.parametrize("line", of("python -m "))
def test_every_module_that_is_run_is_there(line: str) -> None:
    module = shlex.split(line.replace("…", ""))[2]
    assert importlib.util.find_spec(module) is not None, module


@pytest.mark.parametrize("line", of("python [a-z]"))
def test_every_script_that_is_run_is_there(line: str) -> None:
    assert (ROOT / shlex.split(line)[1]).is_file(), line


@pytest.mark.parametrize("line", of("make "))
def test_make_has_every_target(line: str) -> None:
    targets = set(
        re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = [word for word in shlex.split(line)[1:] if "=" not in word]
    assert named
    assert set(named) <= targets


def test_python_blocks_are_python_and_name_what_there_is() -> None:
    for page in PAGES:
        for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language != "python":
                continue
            called: dict[str, Any] = {}
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.Import):
                    for each in node.names:
                        if each.name.startswith("graphveil"):
                            called[each.asname or each.name] = importlib.import_module(each.name)
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphveil"):
                    module = importlib.import_module(str(node.module))
                    assert all(hasattr(module, each.name) for each in node.names), (page.name, node.module)
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    holder = called.get(node.value.id)
                    assert holder is None or hasattr(holder, node.attr), (page.name, node.attr)


def test_every_call_by_hand_has_a_route() -> None:
    paths = {
        re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$"): set(item)
        for path, item in COLLECTED.openapi()["paths"].items()
    }
    seen = 0
    for name, line in lines():
        call = re.match(r"curl\b.*?\s[\"']?(?:https?://[\w.:]+/v1|\$\w+(?:/v1)?|\.\.\.)(/[\w./$-]*)", line)
        if call is None:
            continue
        seen += 1
        said = re.search(r"-X (\w+)", line)
        upload = re.search(r" (?:--upload-file|-T) ", line)
        method = said[1].lower() if said else "put" if upload else "post" if " -d " in line else "get"
        found = [methods for path, methods in paths.items() if path.match(f"/v1{call[1]}")]
        assert any(method in methods for methods in found), (name, line)
    assert seen > 10
