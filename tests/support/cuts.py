"""What callers, workers and the reaper do, each as something that a broken server can hit at any moment.

An operation is prepared over an unbroken connection, acted out over the wire, and then resolved as its caller
would: by asking again. ``resolve`` returns what does not hold.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

from fastapi.testclient import TestClient
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from api.app import create_app
from core.errors import GraphveilError
from core.identity import service as identity
from core.identity.models import Role
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.jobs.cancel import cancel_job
from tests.support.proxy import Moment, Wire
from tests.support.releases import ring_edges, stored_keys
from tests.support.shelves import Shelf, StoreMoment, shelf
from tests.support.streams import rows
from tests.support.world import CALLER, METHOD, Piece, World
from worker.reaper import reap_once
from worker.relay import relay_once

UNAVAILABLE = ("/problems/database-unavailable", "/problems/storage-unavailable")
Fault = Moment | StoreMoment


@dataclass
class Wired:
    """The world by way of a wire and of a shelf: its settings, its services, its API with a key for all."""

    world: World
    wire: Wire
    shelf: Shelf
    settings: Settings
    services: Services
    http: TestClient

    def call(self, method: str, path: str, **options: Any) -> Any:
        return self.http.request(method, path, **options)

    def breaks(self, moment: Fault) -> Wire | Shelf:
        """What it is that breaks at such a moment."""
        return self.wire if isinstance(moment, Moment) else self.shelf

    def rest(self) -> None:
        """No connection is open: the next operation says the same as the one before, word for word."""
        self.services.db.engine.dispose()
        self.world.services.db.engine.dispose()


@contextmanager
def wired(world: World, wire: Wire) -> Iterator[Wired]:
    """The context closes what it opened."""
    address = wire.address(world.settings.database_url)
    # No key is remembered: each request then says the same to the database.
    settings = world.settings.model_copy(update={"database_url": address, "key_cache_seconds": 0.0})
    with world.services.db.transaction() as session:
        roles = [Role.CURATOR, Role.REQUESTER]
        token = identity.create_key(session, tenant=CALLER.tenant, name="cut", roles=roles)[1]
    services = open_services(settings)
    services.db.notifier = world.services.db.notifier  # it notifies beside the wire, at moments of its own
    headers = {"Authorization": f"Bearer {token}"}
    app = create_app(services)
    with (
        shelf() as store,
        # Storage that fails once is asked again at once: the pause is for storage that is gone for a while.
        mock.patch("worker.kinds.release.COPY_PAUSE_SECONDS", 0.0),
        TestClient(app, raise_server_exceptions=False, headers=headers) as http,
    ):
        yield Wired(world, wire, store, settings, services, http)
    services.close()


@dataclass(frozen=True)
class Operation:
    """``begin`` prepares a subject, ``act`` does the thing to it, ``resolve`` finds out and finishes it."""

    name: str
    begin: Callable[[Wired], Any]
    act: Callable[[Wired, Any], Any]
    resolve: Callable[[Wired, Any, Any], list[str]]

    def injected(self, here: Wired, moment: Fault, number: int) -> tuple[bool, list[str]]:
        """Whether the cut happened, and what does not hold afterwards."""
        breaks, subject = here.breaks(moment), self.begin(here)
        here.rest()
        breaks.cut(moment, number)  # type: ignore[arg-type]
        outcome = self.act(here, subject)
        fired = breaks.mend()
        return fired, self.resolve(here, subject, outcome)

    def length(self, here: Wired, moment: Fault) -> int:
        """How many moments of the kind the operation has, from what it says to unbroken servers.

        Of two runs the second: the first may ask what a process asks once.
        """
        self._count(here, moment)
        return self._count(here, moment)

    def _count(self, here: Wired, moment: Fault) -> int:
        subject = self.begin(here)
        here.rest()
        with here.breaks(moment).counting(moment) as passed:  # type: ignore[arg-type]
            outcome = self.act(here, subject)
            count = passed()
        flaws = self.resolve(here, subject, outcome)
        assert flaws == [], (self.name, flaws)
        return count


def _refused(answer: Any) -> list[str]:
    """A caller whom a broken server hit is told to try again."""
    if answer.status_code < 300:
        return []
    problem = answer.json()
    if answer.status_code != 503 or problem["type"] not in UNAVAILABLE or not problem["retryable"]:
        return [f"answered {answer.status_code} {problem['type']}"]
    return [] if "Retry-After" in answer.headers else ["no Retry-After"]


def _again(here: Wired, act: Callable[[], Any], first: Any) -> tuple[Any, list[str]]:
    """The same request once more, as often as an upload that is still noticed as such needs."""
    flaws = _refused(first)
    answer = act()
    if answer.status_code == 409 and answer.json()["type"] == "/problems/conflict":
        here.world.lapse()
        reap_once(here.world.services)
        answer = act()
    if first.status_code < 300 and answer.status_code == 503:
        # The first answer passed before the connection broke; the second was sent on what was left of it.
        flaws += _refused(answer)
        answer = act()
    if answer.status_code >= 300:
        flaws.append(f"asked again: {answer.status_code} {answer.text}")
    elif first.status_code < 300 and first.json()["id"] != answer.json()["id"]:
        flaws.append("asked again: another object")
    return answer, flaws


def _ends(world: World, piece: Piece, state: str, entries: tuple[list[str], ...] | None = None) -> list[str]:
    """The piece ends in the state, with one of these sequences of ledger entries."""
    flaws = world.flaws(piece)
    found = world.finish(piece)
    flaws += world.flaws(piece) + ([] if found == state else [f"ended {found}, not {state}"])
    if entries is not None and world.entries(piece.subject_id) not in entries:
        flaws.append(f"entries {world.entries(piece.subject_id)}")
    left = stored_keys(world.services, f"staging/{piece.subject_id}")
    return flaws + ([f"left in staging: {left}"] if left else [])


KEPT = ["reserve", "charge"]
ANEW = ["reserve", "release", *KEPT]


def _submit(here: Wired, key: str) -> Any:
    body = {"dataset_id": here.world.dataset.id, "epsilon": "0.01", "method": METHOD, "repeat": True}
    return here.call("POST", "/jobs", json=body, headers={"Idempotency-Key": key})


def _submitted(here: Wired, key: str, first: Any) -> list[str]:
    answer, flaws = _again(here, lambda: _submit(here, key), first)
    with here.world.services.db.transaction() as session:
        made = session.scalar(select(func.count()).select_from(Job).where(Job.idempotency_key == key))
    if flaws or made != 1:
        return [*flaws, f"{made} jobs of one key"]
    piece = Piece(Topic.RUN, answer.json()["id"])
    return [*here.world.flaws(piece), *_ends(here.world, piece, "published", (KEPT,))]


def _cancelled(here: Wired, piece: Piece, first: Any) -> list[str]:
    _, flaws = _again(here, lambda: _cancel(here, piece), first)
    return flaws + _ends(here.world, piece, "cancelled", (["reserve", "release"],))


def _cancel(here: Wired, piece: Piece) -> Any:
    return here.call("POST", f"/jobs/{piece.subject_id}/cancel")


def _next_step(here: Wired) -> int:
    return here.call("GET", f"/streams/{here.world.stream.id}").json()["next_step"]


def _push(here: Wired, step: int) -> Any:
    return here.call("POST", f"/streams/{here.world.stream.id}/snapshots?step={step}", content=rows(step))


def _pushed(here: Wired, step: int, first: Any) -> list[str]:
    flaws = _refused(first)
    answer = _push(here, step)
    if answer.status_code not in (200, 202):
        return [*flaws, f"sent again: {answer.status_code} {answer.text}"]
    piece = Piece(Topic.RUN, answer.json()["job_id"])
    if first.status_code < 300 and first.json()["job_id"] != piece.subject_id:
        flaws.append("sent again: another job")
    if _next_step(here) != step + 1:
        flaws.append("the stream counts otherwise")
    return [*flaws, *here.world.flaws(piece), *_ends(here.world, piece, "published", (KEPT,))]


def _put(here: Wired, dataset_id: str) -> Any:
    return here.call("PUT", f"/datasets/{dataset_id}/content?part=edges&format=csv", content=ring_edges())


def _received(here: Wired, dataset_id: str, first: Any) -> list[str]:
    if first.status_code >= 300:
        first, flaws = _again(here, lambda: _put(here, dataset_id), first)
        if flaws and "invalid-transition" not in flaws[-1]:
            return flaws
        # The upload was complete though its answer was lost, and is validated by now: the dataset shows it.
    version = here.call("GET", f"/datasets/{dataset_id}").json()["version"]
    return _ends(here.world, Piece(Topic.INGEST, version["id"]), "ready")


def _work(here: Wired, piece: Piece, sabotage: Callable[[str], None] | None = None) -> None:
    with suppress(SQLAlchemyError):  # what a broker's task would log
        here.world.work(piece, here.settings, sabotage)


def _broken(kind: str) -> None:
    if kind == "release":
        raise ValueError("a generator that fails")


def _fail(here: Wired, piece: Piece) -> None:
    _work(here, piece, _broken)


def _failed(here: Wired, piece: Piece, _: Any) -> list[str]:
    found = here.world.finish(piece, _broken)
    flaws = here.world.flaws(piece)
    if found != "failed" or here.world.entries(piece.subject_id)[-1] != "forfeit":
        flaws.append(f"ended {found} with {here.world.entries(piece.subject_id)}")
    return flaws


def _stop(here: Wired, piece: Piece) -> None:
    def cancel(kind: str) -> None:
        with suppress(GraphveilError):
            cancel_job(here.world.services, CALLER, piece.subject_id)

    _work(here, piece, cancel)


def _stopped(here: Wired, piece: Piece, _: Any) -> list[str]:
    """Cancelled, and paid for; or handed back before its child ended, and then published."""
    found = here.world.finish(piece)
    entries = here.world.entries(piece.subject_id)
    expected = {"cancelled": "forfeit", "published": "charge"}
    return here.world.flaws(piece) + ([] if entries[-1] == expected.get(found) else [f"{found}: {entries}"])


def _lost(here: Wired) -> Piece:
    """A job that was opened, and whose worker is gone."""

    class Gone(BaseException):
        """As sudden as a kill."""

    def die(kind: str) -> None:
        raise Gone

    piece = here.world.job()
    with suppress(Gone):
        here.world.work(piece, sabotage=die)
    here.world.lapse()
    return piece


def _worked(
    state: str, entries: tuple[list[str], ...] | None = None
) -> Callable[[Wired, Piece, Any], list[str]]:
    return lambda here, piece, _: _ends(here.world, piece, state, entries)


def _relay(here: Wired, _: Piece) -> None:
    with suppress(SQLAlchemyError):
        relay_once(here.services.db, lambda name, subject_id: None)


OPERATIONS = {
    each.name: each
    for each in (
        Operation("submit", lambda here: secrets.token_hex(8), _submit, _submitted),
        Operation("cancel", lambda here: here.world.job(), _cancel, _cancelled),
        Operation("send a snapshot", _next_step, _push, _pushed),
        Operation("upload", lambda here: here.world.empty_dataset().id, _put, _received),
        Operation("run a job", lambda here: here.world.job(), _work, _worked("published", (KEPT, ANEW))),
        Operation(
            "run a snapshot", lambda here: here.world.tick(), _work, _worked("published", (KEPT, ANEW))
        ),
        Operation("settle a failure", lambda here: here.world.job(), _fail, _failed),
        Operation("settle a cancel", lambda here: here.world.job(), _stop, _stopped),
        Operation("ingest", lambda here: here.world.upload(), _work, _worked("ready")),
        Operation("compare", lambda here: here.world.evaluation(), _work, _worked("done")),
        Operation("audit", lambda here: here.world.audit(), _work, _worked("done")),
        Operation("recover", _lost, lambda here, _: reap_once(here.services), _worked("published", (ANEW,))),
        Operation("relay", lambda here: here.world.job(), _relay, _worked("published", (KEPT,))),
    )
}
