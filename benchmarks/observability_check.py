"""``python -m benchmarks.observability_check``: every panel and alert asked of a live service.

Starts every process of docker-compose.yml (:mod:`benchmarks.stack`), with a real Prometheus (``prometheus``
in the PATH) and the repository's rules; publishes two releases, has two jobs refused, downloads the releases
from the S3 storage, and kills a job's worker until the job has failed. Then it asks for every expression of
every panel, alert and recorded figure over the time of the run, and for the ledger's view as the dashboards'
role. Prints what was empty, and how many series its selectors had. Exits 1 where a panel without a word for
emptiness was empty, a metric is unknown to Prometheus, or other alerts fired than that of lost attempts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg

from benchmarks.campaign_scene import generator_of
from benchmarks.compose_file import ROOT
from benchmarks.stack import ComposeStack
from graphveil.errors import ProblemError
from graphveil.sdk.client import Graphveil
from tests.support.faults import alive, children_of, until
from tests.support.promql import dashboards, filled, rules, selectors

EXAMPLE = ROOT / "examples" / "us-flights"
SETTLE_SECONDS = 12.0
FIRES = {"JobAttemptsLost"}
"""What the lost attempts set off, and nothing else."""


def wait(met: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    """Returns when it is met; RuntimeError after so many seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            if met():
                return
        except httpx.TransportError:
            time.sleep(0.2)
        time.sleep(0.2)
    raise RuntimeError(f"not within {seconds:.0f} s: {what}")


def _ups(client: httpx.Client) -> set[str]:
    found = client.get("/query", params={"query": "up"}).json()["data"]["result"]
    return {each["value"][1] for each in found} if len(found) == 3 else set()


def publish(stack: ComposeStack, folder: Path) -> None:
    """Two releases, of two accounts, one of them with a delta; report and files of each; two refusals."""
    schema = json.loads((EXAMPLE / "schema.json").read_text())
    with Graphveil(stack.url, stack.token) as service:
        datasets = []
        for name, delta, left_out in (("flights", "0", 0), ("other-flights", "1e-6", 100)):
            edges = folder / f"{name}.csv"
            lines = (EXAMPLE / "edges.csv").read_text().splitlines(keepends=True)
            edges.write_text("".join(lines[: len(lines) - left_out]))  # the same content has one account
            dataset = service.register_dataset(
                name, unit="event", epsilon="4", delta=delta, graph_schema=schema
            )
            service.upload(dataset.id, EXAMPLE / "nodes.csv", part="nodes")
            service.upload(dataset.id, edges, part="edges")
            datasets.append(service.wait_ready(dataset.id, timeout_seconds=120).id)
        for dataset_id in datasets:
            job = service.submit(dataset_id, epsilon="1", repeat=True)
            job = service.wait(job.id, timeout_seconds=240)
            print(f"job of {dataset_id}: {job.state}")
            _fetch(service, job.id, folder)
            try:
                service.submit(dataset_id, epsilon="100", repeat=True)
            except ProblemError as error:
                print(f"refused, as it must be: {error}")


def lose(stack: ComposeStack) -> None:
    """A job has failed, because each of its attempts lost its worker: one alert is about that."""
    with Graphveil(stack.url, stack.token) as service:
        dataset_id = next(iter(service.datasets())).id
        job = service.submit(dataset_id, epsilon="1", repeat=True)
        for _ in range(stack.settings.max_attempts):
            holder = until(lambda: _at_work(stack), seconds=300.0, what="a worker at the job")
            os.kill(holder, signal.SIGKILL)
            until(lambda holder=holder: not alive(holder), what="the end of the worker's process")
        job = service.wait(job.id, timeout_seconds=300)
        print(f"job of {dataset_id}, its workers killed: {job.state}, {job.reason}")


def _at_work(stack: ComposeStack) -> int | None:
    """The worker's process that makes a release now."""
    found = (pid for pid in children_of(stack.processes["worker"].pid) if generator_of(pid, "release"))
    return next(found, None)


def _fetch(service: Graphveil, job_id: str, folder: Path) -> None:
    """Report and files of the release are here, and are what the charge names."""
    report = service.wait_report(job_id, timeout_seconds=240)
    print(f"report: {report['public']['guarantee']['statement']}")
    for artifact in service.artifacts(job_id):
        if artifact.role == "artifact":
            service.download(job_id, artifact.name, folder / artifact.name)
            print(f"downloaded {artifact.name}: {artifact.size_bytes} bytes, digest as charged")


def asked() -> Iterator[tuple[str, str, str, bool]]:
    """Kind, place, expression, and whether it may be empty."""
    for rule in rules():
        kind = "alert" if "alert" in rule else "figure"
        yield (
            kind,
            rule.get("alert") or rule["record"],
            rule["expr"],
            kind == "alert" or "ratio_rate" in rule["record"],
        )
    for board in dashboards():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                if "expr" in target:
                    may = bool(panel["fieldConfig"]["defaults"].get("noValue"))
                    yield "panel", f"{board['uid']}: {panel['title']}", filled(target["expr"]), may


def series(client: httpx.Client, query: str, since: float) -> int:
    """How many series the expression had at any time of the run."""
    asked = {"query": query, "start": since, "end": time.time(), "step": 2}
    answer = client.post("/query_range", data=asked).json()
    if answer["status"] != "success":
        raise RuntimeError(f"{query}: {answer}")
    return len(answer["data"]["result"])


def check(client: httpx.Client, since: float) -> bool:
    """Whether every expression behaved; one line for each that was empty."""
    known = {each["metric"] for each in client.get("/targets/metadata").json()["data"]}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    counts = {"alert": [0, 0], "figure": [0, 0], "panel": [0, 0]}
    good = True
    for kind, place, query, may_be_empty in asked():
        found = series(client, query, since)
        counts[kind][0 if found else 1] += 1
        names = {each.name: _family(each.name) for each in selectors(query)}
        unknown = [
            n
            for n, family in names.items()
            if not {n, family} & known and n not in recorded | {"up", "ALERTS"}
        ]
        if unknown:
            good = False
            print(f"UNKNOWN {kind} {place}: {unknown}")
        if not found:
            told = {s.prettify(): series(client, s.prettify(), since) for s in selectors(query)}
            heard = ", ".join(f"{text}: {count}" for text, count in told.items())
            print(f"empty   {kind} {place}: series of its selectors: {heard}")
            good &= may_be_empty
            if not may_be_empty:
                print("        MAY NOT BE EMPTY")
    for kind, (full, empty) in counts.items():
        print(f"{kind}s with data: {full}, empty: {empty}")
    firing = client.get("/query", params={"query": 'ALERTS{alertstate="firing"}'}).json()["data"]["result"]
    names = {each["metric"]["alertname"] for each in firing}
    print("alerts that fire:", sorted(names) or "none")
    return good and names == FIRES


def _family(name: str) -> str:
    for ending in ("_total", "_bucket", "_info"):
        name = name.removesuffix(ending)
    return name


def check_view(stack: ComposeStack) -> bool:
    """Whether the dashboards' role reads its view, with the panel's own SQL, and nothing else."""
    with psycopg.connect(stack.superuser_url()) as owner:
        accounts = [row[0] for row in owner.execute("SELECT id FROM budget_accounts")]
    listed = ", ".join(f"'{account}'" for account in accounts)
    with psycopg.connect(stack.superuser_url("graphveil_reader")) as reader:
        for board in dashboards():
            for place, sql in _statements(board):
                sql = sql.replace("$__timeFilter(created_at)", "created_at > now() - interval '1 hour'")
                rows = reader.execute(sql.replace("${account:sqlstring}", listed)).fetchall()
                print(f"{place}: {len(rows)} rows")
                if not rows:
                    return False
        try:
            reader.execute("SELECT count(*) FROM ledger_entries")
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


def _statements(board: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            if "rawSql" in target:
                yield f"{board['uid']}: {panel['title']}", target["rawSql"]
    for annotation in board["annotations"]["list"]:
        yield f"{board['uid']}: {annotation['name']}", annotation["target"]["rawSql"]


def main() -> int:
    """The exit code."""
    if shutil.which("prometheus") is None:
        print("prometheus is not in the PATH (Debian: apt-get install prometheus)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="gv-watch-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run under another user, which walks through it
        with (
            ComposeStack(folder / "stack", watched=True) as stack,
            httpx.Client(base_url=stack.prometheus_url, timeout=60) as client,
        ):
            print("started:", ", ".join(stack.processes))
            wait(lambda: _ups(client) == {"1"}, "all targets up")
            since = time.time()
            time.sleep(SETTLE_SECONDS)
            publish(stack, folder)
            lose(stack)
            time.sleep(SETTLE_SECONDS)
            good = check(client, since)
            return 0 if check_view(stack) and good else 1


if __name__ == "__main__":
    sys.exit(main())
