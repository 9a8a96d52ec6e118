"""Commands of the tutorial, and of the pages of streams and keys, run as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant
from tests.support.shell import Command

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"^(ds|job|st|wh|key)_\.\.\.$")


class Walk:
    """One reader of a page: each command is sent, and what it makes stands for the page's own ids."""

    def __init__(self, address: str, tenant: Tenant, folder: Path) -> None:
        self.command = Command(address, tenant.token(*Role))
        self.tenant, self.folder = tenant, folder
        self.ids: dict[str, str] = {}
        self.said: dict[str, str] = {}

    def page(self, name: str) -> None:
        """Run every line of the page's blocks that is a command of this project."""
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for language, block in BLOCK.findall(text):
            if language not in ("", "console", "sh"):
                continue
            for line in block.replace("\\\n", " ").splitlines():
                if (command := line.removeprefix("$ ")).startswith("graphveil "):
                    self.run(shlex.split(command, comments=True)[1:])
                elif command.startswith("python examples/"):
                    words = shlex.split(command, comments=True)
                    subprocess.run([sys.executable, *words[1:]], check=True, cwd=self.folder)

    def run(self, words: list[str]) -> None:
        words = [part for word in words for part in self._real(word)]
        if words[0] == "upload":
            received = self.command.json(*words, "--no-wait")
            if "--part" not in words:
                self.tenant.work(Topic.INGEST, received["id"])
            return
        if "--wait" in words:
            words.remove("--wait")
        made = {
            "register": "ds",
            "submit": "job",
            "stream open": "st",
            "webhook add": "wh",
            "key create": "key",
        }
        kind = made.get(words[0]) or made.get(" ".join(words[:2]))
        if kind is None or "--dry-run" in words:
            self.said[" ".join(words[:2])] = self.command(*words).stdout
            self._work()
            return
        self.ids[kind] = self.command.json(*words)["id"]
        self._work()

    def _real(self, word: str) -> list[str]:
        found = PLACE.match(word)
        if found:
            return [self.ids[found[1]]]
        return sorted(glob(word)) if "[" in word else [word]

    def _work(self) -> None:
        """A worker does whatever waits, in its order."""
        while waiting := self._queued():
            self.tenant.work(Topic.RUN, waiting[-1]["id"])

    def _queued(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.tenant.call("GET", "/jobs?state=queued").json()["items"]
        return found


@pytest.fixture
def walk(address: str, tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """A reader in a folder of its own, beside the repository's examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return Walk(address, tenant, tmp_path)


def test_the_tutorial(walk: Walk) -> None:
    walk.page("tutorial.md")
    assert (walk.folder / "release" / "edges.parquet").exists()
    assert "us-flights" in walk.said[f"budget {walk.ids['ds']}"]
    assert walk.tenant.call("GET", f"/jobs/{walk.ids['job']}").json()["state"] == "published"


def test_keys_of_persons(walk: Walk) -> None:
    walk.page("identity.md")
    assert "portal" in walk.said["key list"]
    keys = walk.tenant.call("GET", "/keys", Role.OPERATOR).json()["items"]
    assert {each["id"]: each["state"] for each in keys}[walk.ids["key"]] == "revoked"


def test_a_live_stream(walk: Walk) -> None:
    walk.page("streams.md")
    assert (walk.folder / "flights.zip").stat().st_size > 10_000
    stream = walk.tenant.call("GET", f"/streams/{walk.ids['st']}").json()
    assert (stream["state"], stream["next_step"], stream["label"]) == ("closed", 6, "flights")
