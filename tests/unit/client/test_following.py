"""Following a job where there is a stream, where it breaks, and where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from core.webhooks import signing
from graphveil import Graphveil, InvalidWebhook, ProblemError, WaitTimeout, verify_webhook
from graphveil.sdk.events import Change, frames

JOB: dict[str, Any] = {
    "id": "job_1", "dataset_id": "ds_1", "version_id": "dv_1", "method": "psgraph", "parameters": {},
    "edge_types": [], "formats": [], "label": None, "epsilon": "1", "delta": "0", "unit": "edge",
    "window": None, "kind": "pure", "plan_digest": "d", "state": "running", "reason": None, "progress": None,
    "suite": "quick", "evaluation": None, "requested_by": "key_1", "created_at": "2026-01-01T00:00:00Z",
    "cancel_requested_at": None, "policy_version": 1, "run_time": None, "started_at": None,
    "finished_at": None, "attempt": None,
}  # fmt: skip
STEPS = [{"sequence": n, "stage": "fit", "done": n, "total": 9, "created_at": None} for n in (3, 4)]
STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def frame(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\nid: {data.get('sequence', '')}\n\n"


STATE = frame("state", {"sequence": 2, "state": "running", "created_at": None})
END = frame("state", {"sequence": 5, "state": "published", "created_at": None}) + frame(
    "end", {"state": "published"}
)
ALL = "retry: 2000\n\n" + STATE + ": still here\n\n" + "".join(frame("step", step) for step in STEPS) + END


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Graphveil:
    return Graphveil("http://x", "gv_x", transport=httpx.MockTransport(answer), sleep=lambda _: None)


class Service:
    """Answers polls with a job that ends at the third, and streams as told."""

    def __init__(self, *streams: httpx.Response | Exception) -> None:
        self._streams = list(streams)
        self.polls = 0
        self.places: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("Accept") == "text/event-stream":
            self.places.append(request.headers["Last-Event-ID"])
            following = self._streams.pop(0)
            if isinstance(following, Exception):
                raise following
            return following
        if request.url.path.endswith("/events"):
            after = int(request.url.params["after"])
            return httpx.Response(200, json={"items": [step for step in STEPS if step["sequence"] > after]})
        self.polls += 1
        return httpx.Response(200, json=JOB | {"state": "published" if self.polls > 2 else "running"})


def stream(text: str) -> httpx.Response:
    return httpx.Response(200, headers=STREAM, text=text)


def test_a_stream_is_followed_to_its_end() -> None:
    service = Service(stream(ALL))
    changes = list(client(service).follow("job_1"))
    assert [change.sequence for change in changes] == [2, 3, 4, 5]
    assert [change.state for change in changes] == ["running", None, None, "published"]
    assert [change.step.done for change in changes if change.step] == [3, 4]
    assert service.polls == 0


def test_a_stream_whose_time_is_over_is_taken_up_where_it_was() -> None:
    first = STATE + frame("step", STEPS[0])
    service = Service(stream(first), stream(""), stream(frame("step", STEPS[1]) + END))
    assert [change.sequence for change in client(service).follow("job_1")] == [2, 3, 4, 5]
    assert service.places == ["0", "3", "3"]


@pytest.mark.parametrize(
    "nothing",
    [
        httpx.Response(429, json={"type": "/problems/too-many-event-streams"}),
        httpx.Response(503, json={}),
        httpx.Response(406, text="no"),
        httpx.Response(200, json={"items": []}),
        httpx.ConnectError("refused"),
    ],
    ids=["limit", "full", "not acceptable", "an older service", "no connection"],
)
def test_without_a_stream_it_is_polled(nothing: httpx.Response | Exception) -> None:
    changes = list(client(Service(nothing)).follow("job_1"))
    assert [change.step.sequence for change in changes if change.step] == [3, 4]
    assert [change.state for change in changes if change.state] == ["running", "published"]


def test_a_stream_that_breaks_off_is_polled_from_where_it_was() -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield (STATE + frame("step", STEPS[0])).encode()
            raise httpx.ReadError("gone")

    service = Service(httpx.Response(200, headers=STREAM, stream=Broken()))
    changes = list(client(service).follow("job_1"))
    assert [change.step.sequence for change in changes if change.step] == [3, 4]
    assert changes[-1].state == "published"


def test_refusals_that_a_poll_would_meet_too_are_raised() -> None:
    for status in (401, 403, 404):
        service = client(Service(httpx.Response(status, json={"type": "/problems/x"})))
        with pytest.raises(ProblemError) as caught:
            list(service.follow("job_1"))
        assert caught.value.status == status


def test_waiting_ends_with_the_job_or_the_time() -> None:
    seen: list[tuple[str, int | None]] = []
    service = Service(stream(ALL))
    job = client(service).wait(
        "job_1", on_progress=lambda job, step: seen.append((job.state, step and step.done))
    )
    assert job.id == "job_1"
    assert seen[0] == ("running", 4)
    assert seen[-1] == ("published", 4)
    with pytest.raises(WaitTimeout):
        client(Service(stream(ALL))).wait("job_1", timeout_seconds=0)


def test_frames_are_read_as_the_standard_says() -> None:
    text = 'event: a\ndata: {"x":\ndata: 1}\nid: 1\n\n:comment\n\ndata:2\n\nevent: cut off\n'
    assert list(frames(iter(text.split("\n")[:-1]))) == [("a", {"x": 1}), ("", None), ("", 2)]


def test_a_change_is_a_step_or_a_state() -> None:
    assert Change(1, state="queued").step is None


# what a receiver checks

BODY = signing.body_of({"type": "job.published", "timestamp": "t", "data": {"job_id": "job_1"}})


def test_a_receiver_verifies_what_was_signed_and_refuses_all_else() -> None:
    secret = signing.new_secret()
    headers = signing.headers("whd_1", datetime.now(UTC), BODY, [signing.new_secret(), secret])
    assert verify_webhook(BODY, headers, secret.text)["data"] == {"job_id": "job_1"}
    assert verify_webhook(BODY.decode(), {k.title(): v for k, v in headers.items()}, secret.text)
    old = signing.headers("whd_1", datetime(2020, 1, 1, tzinfo=UTC), BODY, [secret])
    for payload, sent, key in (
        (BODY + b" ", headers, secret.text),
        (BODY, headers | {"webhook-id": "whd_2"}, secret.text),
        (BODY, headers | {"webhook-signature": "v1"}, secret.text),
        (BODY, headers | {"webhook-signature": "v1,%%%"}, secret.text),
        (BODY, headers | {"webhook-signature": ""}, secret.text),
        (BODY, headers | {"webhook-timestamp": "soon"}, secret.text),
        (BODY, {}, secret.text),
        (BODY, old, secret.text),
        (BODY, headers, signing.new_secret().text),
        (BODY, headers, "whsec_"),
        (b"\xff", headers, secret.text),
    ):
        with pytest.raises(InvalidWebhook):
            verify_webhook(payload, sent, key)
