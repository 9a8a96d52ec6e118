"""How many files one request passes through: the distance that a reader walks who follows it.

    python -m benchmarks.files_entered
    python -m benchmarks.files_entered --names

Each step of a job's way runs once in this process, first unwatched, so that imports and caches are done, and
then watched. Counted are files of ``api``, ``worker`` and ``core`` of which a function was entered, and hops:
calls from a function of one of them to a function of another. Children's work is done in place.
``--names`` lists the files of each step, with the number of ways into each.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi.testclient import TestClient

from api.app import create_app
from core.db import migrate
from core.identity import service as identity
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import open_services
from deploy.local.servers import EmbeddedPostgres, EmbeddedRedis
from tests.support.inline import children_inline
from tests.support.releases import SCHEMA, ring_edges
from worker.process import open_process
from worker.work import take

ROOT = str(Path(__file__).resolve().parents[1]) + "/"
ROOMS = tuple(ROOT + room + "/" for room in ("api", "worker", "core"))


class Walk:
    """Files entered and hops from file to file, while it is ``open``; watches every thread started later."""

    def __init__(self) -> None:
        self.open = False
        self.files: set[str] = set()
        self.hops: set[tuple[str, str, str]] = set()
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    def of(self, act: Callable[[], object]) -> tuple[int, int]:
        """Files that the act enters, and its hops."""
        self.files, self.hops, self.open = set(), set(), True
        act()
        self.open = False
        return len(self.files), len(self.hops)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if not self.open or event != "call" or not name.startswith(ROOMS):
            return
        self.files.add(name)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOMS):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != name:
            self.hops.add((caller.f_code.co_filename, name, frame.f_code.co_qualname))


def settings(folder: Path, undo: ExitStack) -> Settings:
    """Of a service on servers of its own."""
    redis = EmbeddedRedis(folder / "redis", password=secrets.token_hex(16), log=folder / "redis.log")
    for name in ("objects", "work"):
        (folder / name).mkdir()
    found = Settings(
        database_url=undo.enter_context(
            EmbeddedPostgres(folder / "postgres", password=secrets.token_hex(16))
        ).url,
        redis_url=undo.enter_context(redis).url,
        storage_url=(folder / "objects").as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        work_folder=folder / "work",
    )
    migrate.upgrade(found.database_url)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", action="store_true", help="list the files of each step")
    names = parser.parse_args().names
    walk = Walk()
    with tempfile.TemporaryDirectory() as place, ExitStack() as undo:
        chosen = settings(Path(place), undo)
        services = open_services(chosen)
        undo.callback(services.close)
        client = undo.enter_context(TestClient(create_app(services)))
        process = open_process(chosen)
        with services.db.transaction() as session:
            roles = (Role.CURATOR, Role.REQUESTER)
            _, token = identity.create_key(session, tenant="t", name="n", roles=roles)

        def call(method: str, path: str, **given: Any) -> Any:
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": secrets.token_hex(8)}
            answer = client.request(method, "/v1" + path, headers=headers, **given)
            assert answer.status_code < 300, answer.text
            return answer.json()

        def work(topic: Topic, subject_id: str) -> None:
            with children_inline():
                assert take(process, topic, subject_id, lambda: False)

        def way(watched: Callable[[str, Callable[[], Any]], Any], name: str) -> None:
            declared = {
                "name": name,
                "unit": "edge",
                "epsilon": "9",
                "graph_schema": SCHEMA.model_dump(mode="json"),
            }
            dataset = call("POST", "/datasets", json=declared)["id"]
            content = f"/datasets/{dataset}/content?part=edges&format=csv"
            version = watched("PUT content", lambda: call("PUT", content, content=ring_edges()))["id"]
            watched("ingest", lambda: work(Topic.INGEST, version))
            body = {"dataset_id": dataset, "epsilon": "1", "method": "dcsbm"}
            job = watched("POST /jobs", lambda: call("POST", "/jobs", json=body))["id"]
            watched("run of dcsbm", lambda: work(Topic.RUN, job))
            watched("GET report", lambda: call("GET", f"/jobs/{job}/report"))

        way(lambda _, act: act(), "unwatched")
        rows: list[tuple[str, int, int]] = []
        listed: dict[str, list[str]] = {}

        def watched(name: str, act: Callable[[], Any]) -> Any:
            kept: list[Any] = []
            rows.append((name, *walk.of(lambda: kept.append(act()))))
            if names:
                ways = Counter(entered for _, entered, _ in walk.hops)
                listed[name] = [f"{ways[file]:4d} {file.removeprefix(ROOT)}" for file in sorted(walk.files)]
            return kept[0]

        way(watched, "watched")
        print("| step | files entered | hops |\n|---|---|---|")
        for name, files, hops in rows:
            print(f"| {name} | {files} | {hops} |")
        for name, lines in listed.items():
            print(f"\n{name}", *lines, sep="\n")


if __name__ == "__main__":
    main()
