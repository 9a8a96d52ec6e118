"""Every command of the handbook that speaks to a service, run as it stands, page by page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from api.admin import keys
from core.identity import service as identity
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from tests.integration.api.conftest import EDGES, SCHEMA, Tenant
from tests.integration.api.test_compare import working
from tests.support.shell import Command
from tests.unit.local import table_shop

pytestmark = pytest.mark.extras

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"\b(ds|job|st|wh|key|prop)_\.\.\.")
MADE = {
    "register": "ds",
    "submit": "job",
    "stream open": "st",
    "webhook add": "wh",
    "key create": "key",
    "set-policy": "prop",
    "grant": "prop",
}
"""What the answer of a command is the id of."""
ELSEWHERE = {
    "choosing_epsilon.md": "tests/integration/api/test_choosing_epsilon.py",
    "persons.md": "tests/integration/api/test_persons_page.py",
    "integrate.md": "tests/integration/api/test_integrate_page.py",
}
"""Pages whose commands are run by another test."""
UNRUN = {"sharded_releases.md": "its files have millions of rows; test_sharded_job.py sends the same calls"}
PROGRAMS = ("graphveil ", "curl ", "python examples/", "python -m api.")
STARS = {"name": "stars", "kind": "integer", "bounds": [1, 5], "aggregate": "max"}
AGE = {"name": "age", "kind": "number", "bounds": [0, 99], "protection": "protected"}
CARRYING = {
    "node_types": [{**SCHEMA["node_types"][0], "attributes": [AGE]}],
    "edge_types": [{**SCHEMA["edge_types"][0], "attributes": [STARS]}],
}
"""People have ages, their mails stars."""


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command in the page's blocks that is of ``PROGRAMS``."""
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language not in ("", "console", "sh"):
            continue
        begun = ""
        for line in block.replace("\\\n", " ").splitlines():
            begun += re.sub(r"^(\$ )?([A-Z_]+=\S+ )*(?=graphveil )", "", line) + "\n"
            if begun.startswith(PROGRAMS):
                try:
                    yield shlex.split(begun, comments=True)
                except ValueError:  # a quotation goes on in the next line
                    continue
            begun = ""


def rows(header: str, more: str, between: str = ",") -> str:
    """The edges as a file with one column or more besides."""
    return "\n".join([header, *(line.replace(",", between) + more for line in EDGES.split()[1:])]) + "\n"


class Walk:
    """One reader of a page: each command is sent, and what it makes stands for the page's own ids.

    ``words``: what stands for a word of the page. ``before``: what is done ahead of a command, by its name.
    ``alone``: no other worker does what waits.
    """

    def __init__(self, address: str, tenant: Tenant, folder: Path) -> None:
        self.tenant, self.folder = tenant, folder
        self.command, self.second = (Command(address, self.token(name)) for name in ("ada", "bo"))
        self.ids: dict[str, str] = {}
        self.said: dict[str, str] = {}
        self.words: dict[str, str] = {"https://graphveil.example": address, "gv_...": self.token("ada")}
        for name in ("$URL", "$SERVICE", "$GRAPHVEIL_URL"):
            self.words[name] = address
        self.words |= {"$TOKEN": self.words["gv_..."], "$api": f"{address}/v1"}
        self.words["$auth"] = f"Authorization: Bearer {self.words['gv_...']}"
        self.before: dict[str, Callable[[], object]] = {}
        self.alone = True

    def page(self, name: str) -> None:
        """Run the commands of a page."""
        for program, *words in commands(ROOT / "docs" / name):
            if program == "curl":
                self.call([part for word in words for part in self._real(word)])
            elif words[0] == "-m":
                self.administer([part for word in words[2:] for part in self._real(word)])
            elif program == "python":
                subprocess.run([sys.executable, *words], check=True, cwd=self.folder)
            else:
                self.run(words)

    def call(self, words: list[str]) -> None:
        done = subprocess.run(["curl", "-fsS", *words], capture_output=True, cwd=self.folder, timeout=240)
        assert done.returncode == 0, (words, done.stderr)
        if "POST" in words and (found := re.search(rb'"id":"((ds|job|st)_\w+)"', done.stdout)):
            self.ids[found[2].decode()] = found[1].decode()
        self._work()

    def administer(self, words: list[str]) -> None:
        done = CliRunner().invoke(keys.app, words)
        assert done.exit_code == 0, done.output
        if words[0] == "create":
            (self.ids["key"],) = re.findall(r"key_\w+", done.output)

    def run(self, words: list[str]) -> None:
        name = " ".join([each for each in words if each != "--json"][:2])
        for each in {name, name.split()[0]} & self.before.keys():
            self.before[each]()
        words = [part for word in words for part in self._real(word)]
        if words[0] == "upload":
            received = self.command.json(*words, "--no-wait")
            if "--part" not in words:
                self.tenant.work(Topic.INGEST, received["id"])
            return
        waits = "--wait" in words
        words = [each for each in words if each != "--wait"]
        kind = None if "--dry-run" in words else MADE.get(name) or MADE.get(words[0])
        if kind is not None:
            self.ids[kind] = self.command.json(*words)["id"]
        else:
            person = self.second if words[0] in ("approve", "reject") else self.command
            self.said[name] = person(*words, answers="y\n").stdout
        if waits or kind is not None:
            self._work()

    def job(self, state: str = "published", **policy: str) -> str:
        """A job in that state, of a dataset of its own, which is the page's from here on."""
        self.ids["ds"] = self.tenant.register(
            "4", graph_schema=CARRYING, **({"policy": policy} if policy else {})
        )["id"]
        ages = "id,age\n" + "".join(f"{node},{20 + node}\n" for node in range(60))
        self.tenant.upload(self.ids["ds"], ages, "part=nodes&format=csv")
        received = self.tenant.upload(self.ids["ds"], rows("source,target,stars", ",3"))
        self.tenant.work(Topic.INGEST, received.json()["id"])
        self.ids["job"] = self.command.json("submit", self.ids["ds"], "--epsilon", "1")["id"]
        if state == "published":
            self._work()
            self.tenant.work(Topic.EVALUATE, self.ids["job"])
        assert self.tenant.call("GET", f"/jobs/{self.ids['job']}").json()["state"] == state
        return self.ids["job"]

    def token(self, person: str) -> str:
        with self.tenant.services.db.transaction() as session:
            return identity.create_key(
                session, tenant=self.tenant.name, name=person, roles=Role, person=person
            )[1]

    def _real(self, word: str) -> list[str]:
        for said, real in self.words.items():
            word = real if word == said else word.replace(said, real) if not said.isalnum() else word
        word = PLACE.sub(lambda found: self.ids[found[1]], word)
        return sorted(glob(word)) if "[" in word and "{" not in word else [word]

    def _work(self) -> None:
        """A worker does whatever waits, in its order."""
        while self.alone and (waiting := self._queued()):
            self.tenant.work(Topic.RUN, waiting[-1]["id"])

    def _queued(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.tenant.call("GET", "/jobs?state=queued").json()["items"]
        return found


@pytest.fixture
def walk(address: str, tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """A reader in a folder of its own, with two files of his and the repository's examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "edges.csv").write_text(EDGES)
    monkeypatch.chdir(tmp_path)
    return Walk(address, tenant, tmp_path)


def test_the_tutorial(walk: Walk) -> None:
    walk.page("tutorial.md")
    assert (walk.folder / "release" / "edges.parquet").exists()
    assert "us-flights" in walk.said["budget ds_..."]
    assert walk.tenant.call("GET", f"/jobs/{walk.ids['job']}").json()["state"] == "published"


@pytest.fixture
def administered(api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called on the service's host has its settings."""
    monkeypatch.setattr(keys, "get_settings", lambda: api_settings)


@pytest.mark.usefixtures("administered")
def test_keys_of_persons(walk: Walk) -> None:
    walk.page("identity.md")
    assert "portal" in walk.said["key list"]
    keys = walk.tenant.call("GET", "/keys", Role.OPERATOR).json()["items"]
    assert {each["id"]: each["state"] for each in keys}[walk.ids["key"]] == "revoked"


def test_a_live_stream(walk: Walk) -> None:
    walk.page("streams.md")
    assert (walk.folder / "flights.zip").stat().st_size > 10_000
    streams = walk.tenant.call("GET", "/streams").json()["items"]
    assert [(each["state"], each["next_step"], each["label"]) for each in streams] == [
        ("closed", 3, "flights"),
        ("closed", 6, "flights"),
    ]


@pytest.mark.usefixtures("administered")
def test_the_program(walk: Walk) -> None:
    declared: list[str] = []

    def proposed() -> None:
        declared.append(walk.ids["ds"])
        walk.ids["ds"] = walk.tenant.register(graph_schema=None)["id"]
        received = walk.tenant.upload(walk.ids["ds"], rows("source,target,stars", ",3"))
        walk.tenant.work(Topic.INGEST, received.json()["id"])

    def confirmed() -> None:
        dataset = walk.tenant.call("GET", f"/datasets/{walk.ids['ds']}").json()
        walk.tenant.work(Topic.INGEST, dataset["version"]["id"])
        assert walk.tenant.call("GET", f"/datasets/{walk.ids['ds']}").json()["state"] == "ready"
        walk.ids["ds"] = declared.pop()

    walk.before = {
        "confirm-schema": proposed,
        "plan": confirmed,
        "approve": lambda: walk.job("awaiting_approval", approval_above_epsilon="0.25"),
    }
    walk.page("api.md")
    assert (walk.folder / "report.html").stat().st_size > 10_000
    assert list((walk.folder / "release").iterdir())
    assert not declared


def test_comparing(walk: Walk) -> None:
    knows = {**SCHEMA, "edge_types": [{**SCHEMA["edge_types"][0], "name": "knows"}]}
    walk.ids["ds"] = walk.tenant.ready(content=EDGES + "0,30\n", graph_schema=knows)
    walk.words["5"] = "1"  # five runs are one run five times
    walk.alone = False
    with working(walk.tenant):
        walk.page("compare.md")
    assert "edgerand" in walk.said["compare ds_..."]


def test_an_upload_of_named_columns(walk: Walk) -> None:
    (walk.folder / "calls.csv").write_text(rows("caller;callee;seconds;when", ";3;1000", ";"))
    calls = {**CARRYING["edge_types"][0], "temporal": True, "attributes": [{**STARS, "name": "seconds"}]}
    declared = {**SCHEMA, "edge_types": [calls], "time": {"start": 0, "width": 70, "count": 52}}
    walk.words["$ID"] = walk.tenant.register(unit="event", graph_schema=declared)["id"]
    walk.page("datasets.md")
    assert walk.tenant.call("GET", f"/datasets/{walk.words['$ID']}").json()["state"] == "ready"


def test_tables(walk: Walk) -> None:
    answers = yaml.safe_dump(table_shop.mapping())
    mapping = table_shop.write(walk.folder / "shop") / "tables.yaml"
    mapping.unlink()

    def answered() -> None:
        assert "ask" in mapping.read_text()
        mapping.write_text(answers)

    walk.before = {"tables synthesize": answered}
    walk.page("tables.md")
    assert (walk.folder / "synthetic" / "flights.csv").exists()


@pytest.mark.parametrize("page", ["edge_values.md", "node_attributes.md", "measurements.md", "report.md"])
def test_what_a_job_is_asked_with_and_gives(walk: Walk, page: str) -> None:
    walk.job()
    walk.page(page)


def test_an_audit(walk: Walk) -> None:
    walk.page("audits.md")


def test_a_graph_without_data(walk: Walk) -> None:
    walk.job()
    walk.page("python.md")


def test_events(walk: Walk) -> None:
    walk.job()
    walk.page("events.md")
    assert "published" in walk.said["wait job_..."]


def test_evidence(walk: Walk) -> None:
    walk.job()
    walk.command("download", walk.ids["job"], "--to", "folder")
    walk.words["PUBLIC-KEY"] = walk.command.json("public-keys")["items"][0]["public_key"]
    walk.page("evidence.md")


def test_who_decides(walk: Walk) -> None:
    (walk.folder / "policy.json").write_text(json.dumps({"max_epsilon_per_job": "1"}))
    walk.ids["ds"] = guarded = walk.tenant.ready(epsilon="4", policy={"approval_above_epsilon": "0.25"})

    def proposed() -> None:
        walk.ids["ds"] = guarded
        walk.run(["grant", "ds_...", "--epsilon", "1", "--reason", "third year"])

    walk.words["5d41..."] = walk.tenant.call("GET", f"/datasets/{guarded}/policy").headers["ETag"].strip('"')
    walk.words["2026-01-31T12:00:00Z"] = datetime.now(UTC).isoformat()
    walk.before = {
        "reject": lambda: walk.job("awaiting_approval", approval_above_epsilon="0.25"),
        "withdraw": proposed,
    }
    walk.page("governance.md")
    assert "blue" in walk.said["quotas ds_..."]


def test_webhooks(walk: Walk) -> None:
    walk.page("webhooks.md")
    assert "webhook.test" in walk.said["webhook deliveries"]


def test_no_page_is_forgotten() -> None:
    walked = set(re.findall(r'"(\w+\.md)"', Path(__file__).read_text(encoding="utf-8")))
    assert {page.name for page in (ROOT / "docs").glob("*.md") if any(commands(page))} == walked
    for name, file in ELSEWHERE.items():
        assert name in (ROOT / file).read_text(encoding="utf-8"), name
