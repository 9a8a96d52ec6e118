"""The command line, as one key of one service."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

from graphveil.cli.app import app


class Command:
    """``graphveil``, called without a process; the words of ``under`` stand before every command's own."""

    def __init__(self, address: str, token: str, *under: str) -> None:
        self._environment = {"GRAPHVEIL_URL": address, "GRAPHVEIL_TOKEN": token, "COLUMNS": "200"}
        self._under = under

    def __call__(self, *arguments: str, code: int = 0, answers: str = "") -> Result:
        """``answers``: what is typed where the command asks."""
        return self._invoked([*self._under, *arguments], code, answers)

    def json(self, *arguments: str) -> Any:
        """What the command answers with ``--json``."""
        return json.loads(self._invoked(["--json", *self._under, *arguments], 0).stdout)

    def _invoked(self, arguments: list[str], code: int, answers: str = "") -> Result:
        result = CliRunner().invoke(app, arguments, input=answers, env=self._environment)
        assert result.exit_code == code, result.output
        return result
