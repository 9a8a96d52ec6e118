"""The checks behind ``/readyz``. Each tries the real thing once, with a short time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache

import redis
import structlog
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from api.schemas.health import Readiness
from core.db.migrate import configuration
from core.workflows.common.context import Services

TIMEOUT_SECONDS = 2.0
PROBE_KEY = "readiness-probe"  # never written: asking whether it exists reaches the store

log = structlog.get_logger(component="api.readiness")


def check(services: Services) -> Readiness:
    """Run every check. A failure is logged by the class of its error only."""
    checks: dict[str, Callable[[Services], bool]] = {
        "database": _database,
        "migrations": _migrations,
        "redis": _redis,
        "storage": _storage,
    }
    ends = time.monotonic() + TIMEOUT_SECONDS
    answers = {name: _begun(name, probe, services) for name, probe in checks.items()}
    outcome = {name: _passes(name, answer, ends) for name, answer in answers.items()}
    return Readiness(ready=all(outcome.values()), checks=outcome)


_under_way: dict[tuple[str, int], Future[bool]] = {}
_lock = threading.Lock()


def _begun(name: str, probe: Callable[[Services], bool], services: Services) -> Future[bool]:
    """Begin the probe, one of a kind at a time, so that those that hang never pile up."""
    key = (name, id(services))
    with _lock:
        if key in _under_way:
            return _under_way[key]
        answer = _under_way[key] = Future()

    def run() -> None:
        try:
            answer.set_result(probe(services))
        except Exception as error:  # whatever a dead dependency raises, the answer is "not ready"
            answer.set_exception(error)
        finally:
            with _lock:
                del _under_way[key]

    threading.Thread(target=run, name=f"readiness-{name}", daemon=True).start()
    return answer


def _passes(name: str, answer: Future[bool], ends: float) -> bool:
    try:
        return answer.result(timeout=max(0.0, ends - time.monotonic()))
    except Exception as error:
        log.warning("not_ready", check=name, error=type(error).__qualname__)
        return False


def _database(services: Services) -> bool:
    with services.db.transaction() as session:
        answer: int = session.execute(text("SELECT 1")).scalar_one()
    return answer == 1


def _migrations(services: Services) -> bool:
    """Check that the schema is this code's, or a newer one, which suits the version before it.

    While a new version is rolled out its migrations are there first, and the old pods serve until they go.
    """
    with services.db.engine.connect() as connection:
        current = set(MigrationContext.configure(connection).get_current_heads())
    newest, known = _revisions()
    return current == newest or (bool(current) and not current & known)


@lru_cache(maxsize=1)
def _revisions() -> tuple[frozenset[str], frozenset[str]]:
    """Read the heads of the migrations that this code ships with, and all of them."""
    scripts = ScriptDirectory.from_config(configuration(""))
    return frozenset(scripts.get_heads()), frozenset(each.revision for each in scripts.walk_revisions())


def _redis(services: Services) -> bool:
    client = redis.Redis.from_url(
        services.settings.redis_url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
    )
    with client:
        return bool(client.ping())


def _storage(services: Services) -> bool:
    services.store.exists(PROBE_KEY)
    return True
