"""Every command in README and handbook is one that there is: its program, its options, its target, its route.

What speaks to a service is run as it stands (`test_walked_pages.py`, which names the others); here is what
sets one up, where no container engine, cluster or package index is needed to see that it is right.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from graphveil.cli.app import app
from tests.support.deployed import MANIFESTS, SERVICES
from tests.support.stage import COLLECTED

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAM = typer.main.get_command(app)
READERS_OWN = {"docker-compose.override.yml", "yours.yaml", "overlays/yours"}
"""Files that a page has its reader make."""


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


@pytest.mark.parametrize("line", of("pip install "))
def test_every_extra_that_is_installed_is_declared(line: str) -> None:
    for word in shlex.split(line)[2:]:
        place, _, extras = word.rstrip("]").partition("[")
        project = ROOT / {"graphveil": "client"}.get(place, place) / "pyproject.toml"
        declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        assert set(filter(None, extras.split(","))) <= declared.keys(), word


@pytest.mark.parametrize("line", of("docker compose "))
def test_compose_has_every_service_and_option(line: str) -> None:
    command, *words = shlex.split(line)[2:]
    assert command in {"up", "run", "stop", "exec", "config"}, command
    options = [word for word in words if word.startswith("-")]
    named = [word for word in words if not word.startswith("-")]
    assert command != "up" or (options, named) == (["--wait"], [])
    if command in ("run", "exec"):
        assert named[0] in SERVICES, line
    elif command == "stop":
        assert set(named) <= SERVICES.keys(), line


@pytest.mark.parametrize("line", of("(?:kubectl|helm|psql|docker build|R CMD) "))
def test_every_file_and_object_of_a_deployment_is_there(line: str) -> None:
    words = shlex.split(line)
    files = [word for word in words if re.search(r"/|\.ya?ml$|^Dockerfile", word) and "=" not in word]
    for word in files:
        if word not in READERS_OWN and not word.startswith("job/"):
            assert (ROOT / word).exists(), word
    declared = [each for each in MANIFESTS if "metadata" in each]
    objects = {(each["kind"].lower(), each["metadata"]["name"]) for each in declared}
    named = [(words[place], words[place + 1]) for place, word in enumerate(words) if word == "job"]
    named += [tuple(word.split("/")) for word in words if word.startswith("job/")]
    assert set(named) <= objects, line
    for word in words:
        if word.startswith("app.kubernetes.io/name="):
            labels = [each["metadata"].get("labels", {}) for each in declared]
            assert word.partition("=")[2] in {each.get("app.kubernetes.io/name") for each in labels}
    for place, word in enumerate(words):
        if word in ("-n", "--namespace"):
            assert ("namespace", words[place + 1]) in objects


PROGRAMS = "graphveil|curl|python|make|pip|docker|kubectl|helm|psql|R CMD|npm|git|cosign|uvicorn|celery"


def test_no_command_is_of_a_program_that_no_test_here_or_there_looks_at() -> None:
    seen = {match[1] for _, line in lines() if (match := re.match(rf"({PROGRAMS}) ", line))}
    assert seen == {
        "graphveil",
        "curl",
        "python",
        "make",
        "pip",
        "docker",
        "kubectl",
        "helm",
        "psql",
        "R CMD",
    }


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
