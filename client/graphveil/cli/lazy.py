"""Commands whose modules load when they are called. The help of all of them is read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

HERE = Path(__file__).parent

COMMANDS = {
    "datasets": ("register", "upload", "read-again", "confirm-schema", "dataset", "datasets", "archive"),
    "sensitive_links": ("put-sensitive-links", "sensitive-links", "delete-sensitive-links"),
    "budget": ("budget", "unblock", "ledger", "verify", "health", "grant", "quotas", "quota", "adjust"),
    "governance": ("policy", "set-policy", "proposals", "proposal", "approve", "reject", "withdraw"),
    "keys": ("me", "key"),
    "jobs": ("methods", "plan", "submit", "wait", "job", "jobs", "cancel", "report", "download"),
    "samples": ("sample",),
    "declared": ("declared",),
    "evidence": ("evidence", "verify-evidence", "public-keys"),
    "events": ("watch", "webhook"),
    "audits": ("audit", "audits"),
    "compare": ("compare",),
    "assistant": ("mcp",),
    "reproduce": ("reproduce",),
    "streams": ("stream",),
    "tables": ("tables",),
}
"""The commands by the module that has them, each a function of that name or the module's ``app``."""


class LazyGroup(TyperGroup):
    """A group whose commands load lazily.

    What is below it is known by name and help only until one is called.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: Unloaded(module, name) for module, names in COMMANDS.items() for name in names}

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names, for an overview of the commands."""
        for module, names in COMMANDS.items():
            helps = dict(_helps(module))
            for name in names:
                self.commands[name].help = helps[name]
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called, and load it."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found.loaded() if isinstance(found, Unloaded) else found, rest


class Unloaded(TyperCommand):
    """A command's name and help."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(name)
        self._module = module

    def loaded(self) -> Any:
        """Load the module's command of this name."""
        module, name = import_module(f"graphveil.cli.{self._module}"), str(self.name)
        function = getattr(module, name.replace("-", "_"), None)
        if not callable(function):
            return get_group(module.app)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(function)
        return get_command(alone)


def _helps(module: str) -> Iterator[tuple[str, str]]:
    """Read the help of a module's commands off its source, which costs a tenth of running it."""
    for node in ast.parse((HERE / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name.replace("_", "-"), ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            given = {each.arg: getattr(each.value, "value", None) for each in node.value.keywords}
            yield str(given.get("name")), str(given.get("help"))
