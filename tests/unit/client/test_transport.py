"""Retries, problems and downloads against a real HTTP server that answers by script."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from graphveil import (
    ClientError,
    DigestMismatch,
    Graphveil,
    ProblemError,
    TransportError,
    WaitTimeout,
)
from graphveil.problems import Conflict
from graphveil.sdk import files

Answer = tuple[int, dict[str, str], bytes]
CONTENT = b"source,target\n0,1\n" * 200_000  # several chunks
PROBLEM = {"type": "/problems/conflict", "title": "No", "status": 409, "detail": "it stands", "domain": "d"}


class Scripted:
    """A server that gives its answers in turn, the last one for ever, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Nothing is printed."""

            def answer(self) -> None:
                body = script.read(self)
                script.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = (
                    script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
                )
                if status == 0:  # hang up without a word
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @staticmethod
    def read(handler: BaseHTTPRequestHandler) -> bytes:
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))


@pytest.fixture
def script() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    scripted.server.shutdown()
    scripted.server.server_close()


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def client(script: Scripted, naps: list[float]) -> Iterator[Graphveil]:
    with Graphveil(script.url, "gv_token", sleep=naps.append) as connected:
        yield connected


def ok(value: object, **headers: str) -> Answer:
    return 200, headers, json.dumps(value).encode()


BUSY: Answer = (503, {"Retry-After": "3"}, b"{}")
HANG_UP: Answer = (0, {}, b"")
RECEIVED = ok({"id": "dv_1", "dataset_id": "ds_1", "number": 1, "state": "queued"})


def test_a_request_carries_the_key_and_the_version(script: Scripted, client: Graphveil):
    script.answers = [ok({"items": []})]
    assert client.methods() == []
    method, path, headers, _ = script.asked[0]
    assert (method, path) == ("GET", "/v1/methods")
    assert headers["Authorization"] == "Bearer gv_token"


@pytest.mark.parametrize("trouble", [BUSY, HANG_UP], ids=["busy", "hang-up"])
def test_a_safe_request_is_tried_again(
    script: Scripted, client: Graphveil, naps: list[float], trouble: Answer
):
    script.answers = [trouble, trouble, ok({"items": []})]
    assert client.methods() == []
    assert len(script.asked) == 3
    assert naps == ([3.0, 3.0] if trouble is BUSY else [0.2, 0.4])


def test_an_upload_is_sent_again_from_its_start(script: Scripted, client: Graphveil, tmp_path: Path):
    file = tmp_path / "edges.csv"
    file.write_bytes(CONTENT)
    script.answers = [BUSY, HANG_UP, RECEIVED]
    assert client.upload("ds_1", file, options={"delimiter": ";"}).number == 1
    assert [body == CONTENT for *_, body in script.asked] == [True, True, True]
    assert all("delimiter=%3B&part=edges&format=csv" in path for _, path, _, _ in script.asked)


def test_a_submit_is_repeated_under_one_key(script: Scripted, client: Graphveil):
    script.answers = [HANG_UP, (409, {}, json.dumps(PROBLEM).encode())]
    with pytest.raises(ProblemError):
        client.submit("ds_1", epsilon="1")
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in script.asked]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_two_submits_have_two_keys(script: Scripted, client: Graphveil):
    script.answers = [(409, {}, json.dumps(PROBLEM).encode())]
    for _ in range(2):
        with pytest.raises(ProblemError):
            client.submit("ds_1", epsilon="1")
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in script.asked}) == 2


@pytest.mark.parametrize("trouble", [BUSY, HANG_UP], ids=["busy", "hang-up"])
def test_a_post_that_might_act_twice_is_not_repeated(script: Scripted, client: Graphveil, trouble: Answer):
    script.answers = [trouble, ok({})]
    with pytest.raises(TransportError if trouble is HANG_UP else ProblemError):
        client.register_dataset("d", unit="edge", epsilon="1")
    assert len(script.asked) == 1


def test_retries_end(script: Scripted, client: Graphveil, naps: list[float]):
    script.answers = [HANG_UP]
    with pytest.raises(TransportError, match=r"127\.0\.0\.1"):
        client.methods()
    assert len(script.asked) == 5
    assert naps == sorted(naps)


def test_a_problem_keeps_its_members(script: Scripted, client: Graphveil):
    script.answers = [(409, {}, json.dumps(PROBLEM).encode())]
    with pytest.raises(ProblemError) as caught:
        client.dataset("ds_1")
    assert (caught.value.slug, caught.value.status, str(caught.value)) == ("conflict", 409, "it stands")
    assert caught.value.members == {"domain": "d"}
    assert isinstance(caught.value, Conflict)


def test_a_problem_of_no_known_class_is_raised_as_one(script: Scripted, client: Graphveil):
    script.answers = [(418, {}, json.dumps(PROBLEM | {"type": "/problems/of-a-later-version"}).encode())]
    with pytest.raises(ProblemError) as caught:
        client.dataset("ds_1")
    assert type(caught.value) is ProblemError
    assert caught.value.slug == "of-a-later-version"


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[]", b""])
def test_an_answer_that_is_no_problem_is_still_an_error(script: Scripted, client: Graphveil, body: bytes):
    script.answers = [(418, {}, body)]
    with pytest.raises(ProblemError, match="418"):
        client.dataset("ds_1")


def listed(digest: str) -> Answer:
    entry = {"name": "g.csv", "role": "artifact", "media_type": "text/csv", "size_bytes": 1, "sha256": digest}
    return ok({"items": [entry]})


def test_a_download_is_what_the_release_names(script: Scripted, client: Graphveil, tmp_path: Path):
    script.answers = [listed(hashlib.sha256(CONTENT).hexdigest()), (200, {}, CONTENT)]
    path = client.download("job_1", "g.csv", tmp_path / "new" / "g.csv")
    assert path.read_bytes() == CONTENT


def test_a_download_with_another_digest_leaves_nothing(script: Scripted, client: Graphveil, tmp_path: Path):
    script.answers = [listed("0" * 64), (200, {}, CONTENT)]
    with pytest.raises(DigestMismatch):
        client.download("job_1", "g.csv", tmp_path / "g.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_leaves_nothing(script: Scripted, client: Graphveil, tmp_path: Path):
    (tmp_path / "g.csv").write_text("what was there before")
    longer = {"Content-Length": str(len(CONTENT) + 1), "Connection": "close"}
    script.answers = [listed(hashlib.sha256(CONTENT).hexdigest()), (200, longer, CONTENT)]
    with pytest.raises(TransportError):
        client.download("job_1", "g.csv", tmp_path / "g.csv")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["what was there before"]


def test_a_file_that_the_release_does_not_list_is_not_fetched(
    script: Scripted, client: Graphveil, tmp_path: Path
):
    script.answers = [ok({"items": []})]
    with pytest.raises(ClientError, match=r"g\.csv"):
        client.download("job_1", "g.csv", tmp_path / "g.csv")
    assert len(script.asked) == 1


def dataset(state: str) -> dict[str, object]:
    names = ("id", "name", "unit", "protection_domain", "account_id", "filter")
    moment = "2026-01-02T03:04:05Z"
    limits = ("methods", "max_epsilon_per_job", "approval_above_epsilon", "curator_report_readers")
    policy = dict.fromkeys(limits) | {"kinds": [], "project_required": False, "team_required": False}
    rest = {"policy": policy, "policy_version": 1, "public": False, "created_at": moment}
    return {**dict.fromkeys(names, "x"), "state": state, **rest}


def test_waiting_respects_retry_after(script: Scripted, client: Graphveil, naps: list[float]):
    script.answers = [
        ok(dataset("validating"), **{"Retry-After": "7"}),
        ok(dataset("validating")),
        ok(dataset("ready")),
    ]
    states: list[str] = []
    client.wait_ready("ds_1", on_change=lambda found: states.append(found.state))
    assert states == ["validating", "validating", "ready"]
    assert naps == [7.0, 2.0]


def test_waiting_ends_in_time(script: Scripted, client: Graphveil):
    script.answers = [ok(dataset("validating"))]
    with pytest.raises(WaitTimeout):
        client.wait_ready("ds_1", timeout_seconds=0)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.csv", "csv"), ("a.csv.gz", "csv"), ("A.PARQUET", "parquet"), ("x.y.mtx", "matrix_market")],
)
def test_the_name_suggests_the_format(name: str, format: str):
    assert files.format_of(Path(name)) == format


@pytest.mark.parametrize("name", ["a.xls", "a", "a.gz"])
def test_a_name_that_suggests_nothing_is_refused(name: str):
    with pytest.raises(ClientError, match="say which"):
        files.format_of(Path(name))


def test_a_busy_stream_is_waited_for_as_long_as_it_asks(
    script: Scripted, client: Graphveil, naps: list[float]
):
    body = {"type": "/problems/stream-busy", "title": "No", "status": 409, "retry_after": 7}
    busy: Answer = (409, {"Retry-After": "7"}, json.dumps(body).encode())
    script.answers = [busy, busy]
    with pytest.raises(ProblemError):
        client.streams.push("st_1", b"0,1", step=0)
    assert naps == []
    script.answers = [busy, busy, HANG_UP]
    with pytest.raises(TransportError):
        client.streams.push("st_1", b"0,1", step=0, patience_seconds=60)
    assert naps[:2] == [7, 7]
