"""Limits of requests: counted in Redis for all processes, in the process while Redis is away."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from api.app import create_app
from api.http.limits import PAUSE_SECONDS, Limits, network_of
from core.errors import RateLimited
from core.identity.models import Role
from core.settings import Settings
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant
from tests.support import redis as redis_server
from tests.support.faults import until
from tests.support.logged import events

NOWHERE = "redis://127.0.0.1:1/0"


class Clock:
    """The minutes by which requests are counted: they go by when a test says so."""

    def __init__(self) -> None:
        self.now = float(int(time.time()))  # Redis rounds fractions of a second

    def time(self) -> float:
        return self.now

    monotonic = time


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the limits, of what counts in Redis, and of what counts in the process."""
    made = Clock()
    for module in ("api.http.limits", "limits.storage.redis", "limits.storage.memory"):
        monkeypatch.setattr(f"{module}.time", made)
    return made


def limits(redis_url: str, **changes: int) -> Limits:
    named = {f"rate_limit_{name}": value for name, value in changes.items()}
    return Limits(Settings(**{"redis_url": redis_url, **named}))


def key() -> str:
    return f"key_{secrets.token_hex(8)}"


@contextmanager
def app_under(services: Services, **changes: Any) -> Iterator[TestClient]:
    """The service under other limits."""
    settings = services.settings.model_copy(update=changes)
    with TestClient(create_app(Services(services.db, services.store, settings))) as client:
        yield client


def test_all_processes_count_together(redis_url: str):
    one, other = limits(redis_url, per_minute=5), limits(redis_url, per_minute=5)
    who = key()
    for turn in (one, other, one, other, one):
        turn.take(who, "GET", "/jobs")
    for turn in (one, other):
        with pytest.raises(RateLimited) as refused:
            turn.take(who, "GET", "/jobs")
        assert refused.value.members["limit"] == 5
        assert refused.value.members["retry_after"] == 60
    one.take(key(), "GET", "/jobs")  # another key's limit is its own


def test_no_more_than_the_limit_are_admitted_at_once(redis_url: str):
    one, other, who = limits(redis_url, per_minute=20), limits(redis_url, per_minute=20), key()

    def admitted(turn: int) -> bool:
        try:
            (one, other)[turn % 2].take(who, "GET", "/jobs")
        except RateLimited:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(admitted, range(60))) == 20


def test_requests_that_make_jobs_have_a_limit_of_their_own(redis_url: str):
    limited, who = limits(redis_url, jobs_per_minute=2), key()
    for _ in range(3):
        limited.take(who, "GET", "/jobs")
    limited.take(who, "POST", "/jobs")
    limited.take(who, "POST", "/jobs/{job_id}/samples")
    with pytest.raises(RateLimited) as refused:
        limited.take(who, "POST", "/jobs")
    assert refused.value.members["limit"] == 2
    limited.take(who, "POST", "/datasets")


def test_a_refused_request_does_not_prolong_the_refusal(redis_url: str, clock: Clock):
    limited, who = limits(redis_url, per_minute=1), key()
    limited.take(who, "GET", "/jobs")
    waits = []
    for _ in range(3):
        clock.now += 10
        with pytest.raises(RateLimited) as refused:
            limited.take(who, "GET", "/jobs")
        waits.append(refused.value.members["retry_after"])
    assert waits == [50, 40, 30]
    clock.now += 31
    limited.take(who, "GET", "/jobs")


def test_a_request_that_one_limit_refuses_counts_under_none(redis_url: str):
    limited, who = limits(redis_url, per_minute=1, jobs_per_minute=5), key()
    limited.take(who, "GET", "/jobs")
    with pytest.raises(RateLimited) as refused:
        limited.take(who, "POST", "/jobs")
    assert refused.value.members["limit"] == 1
    _, jobs = limited.standing(who)
    assert jobs is not None
    assert jobs.remaining == 5


def test_a_request_asks_redis_once(redis_url: str):
    limited, who = limits(redis_url, per_minute=10, jobs_per_minute=10), key()
    limited.take(who, "POST", "/jobs")  # the script is there
    with redis.Redis.from_url(redis_url) as client:

        def asked() -> int:
            return int(client.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])

        before = asked()
        assert limited.take(who, "POST", "/jobs") is not None
        assert asked() - before == 1


def test_zero_is_no_limit_and_asks_nobody(redis_url: str):
    limited = limits(NOWHERE, per_minute=0, jobs_per_minute=0, attempts_per_minute=0)
    with capture_logs() as lines:
        assert limited.take(key(), "POST", "/jobs") is None
        limited.refused_attempt("192.0.2.1")
        limited.check_attempts("192.0.2.1")
        assert limited.standing(key()) == (None, None)
    assert lines == []


def test_headers_count_down(redis_url: str):
    limited, who = limits(redis_url, per_minute=10), key()
    left = [limited.take(who, "GET", "/jobs").remaining for _ in range(10)]
    assert left == list(range(9, -1, -1))


def test_without_redis_the_process_counts_for_itself():
    limited, who = limits(NOWHERE, per_minute=3), key()
    with capture_logs() as lines:
        for _ in range(3):
            limited.take(who, "GET", "/jobs")
        with pytest.raises(RateLimited):
            limited.take(who, "GET", "/jobs")
    assert events(lines, "api.http.limits") == ["rate_limits_counted_in_process"]
    assert "127.0.0.1" not in str(lines)


def test_a_redis_that_never_answers_costs_one_request_a_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("api.http.limits.REDIS_TIMEOUT_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        limited = limits(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", per_minute=1000)
        waited, fails = [], limited._counter._failed
        monkeypatch.setattr(limited._counter, "_failed", lambda error: (waited.append(error), fails(error)))
        who = key()
        for _ in range(100):
            limited.take(who, "GET", "/jobs")
    assert len(waited) == 1


def test_redis_is_asked_again_when_it_is_back(monkeypatch: pytest.MonkeyPatch, clock: Clock):
    monkeypatch.setattr("api.http.limits.REDIS_TIMEOUT_SECONDS", 0.5)
    with redis_server.server() as url:
        limited = limits(url, per_minute=100)
        with redis.Redis.from_url(url) as client, capture_logs() as lines:

            def told(where: str) -> bool:
                """Whether the last word after another request is that it was counted there."""
                clock.now += PAUSE_SECONDS
                limited.take(key(), "GET", "/jobs")
                said = events(lines, "api.http.limits")
                return said[-1:] in ([], [f"rate_limits_counted_in_{where}"])

            until(lambda: told("redis"))
            client.execute_command("CLIENT", "PAUSE", "3600000", "WRITE")
            until(lambda: told("process"))
            client.execute_command("CLIENT", "UNPAUSE")
            until(lambda: told("redis"))
        # Alternately, and of each change once: a machine may stand still for a moment too.
        said = events(lines, "api.http.limits")
        assert set(said[::2]) == {"rate_limits_counted_in_process"}
        assert set(said[1::2]) == {"rate_limits_counted_in_redis"}


def test_a_connection_that_redis_closed_is_opened_again_unseen():
    with redis_server.server() as url:
        limited, who = limits(url, per_minute=100), key()
        limited.take(who, "GET", "/jobs")
        with redis.Redis.from_url(url) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        with capture_logs() as lines:
            limited.take(who, "GET", "/jobs")
        assert not events(lines, "api.http.limits")


@pytest.mark.parametrize(
    ("client", "counted_as"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "unknown"),
        ("", "unknown"),
    ],
)
def test_one_host_is_one_address(client: str, counted_as: str):
    assert network_of(client) == counted_as


def test_the_limit_is_a_problem_with_the_seconds_to_wait(api_services: Services, tenant: Tenant):
    with app_under(api_services, rate_limit_per_minute=3) as http:
        caller = Tenant(http, api_services, tenant._process)
        answers = [caller.call("GET", "/methods") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
    assert {answer.headers["RateLimit-Limit"] for answer in answers} == {"3"}
    refused = answers[-1]
    assert refused.json()["type"] == "/problems/rate-limited"
    assert refused.json()["retryable"] is True
    wait = int(refused.headers["Retry-After"])
    assert wait == refused.json()["retry_after"] == int(refused.headers["RateLimit-Reset"]) == 60


def test_the_limit_of_jobs_is_counted_under_both_prefixes(api_services: Services, tenant: Tenant):
    with app_under(api_services, rate_limit_jobs_per_minute=2) as http:
        caller = Tenant(http, api_services, tenant._process)
        answers = [caller.call("POST", path, json={}) for path in ("/jobs", "/v1/jobs", "/jobs")]
        assert [answer.status_code for answer in answers] == [422, 422, 429]
        assert caller.call("GET", "/jobs").status_code == 200


def test_a_menu_of_plans_counts_as_a_job(api_services: Services, tenant: Tenant):
    with app_under(api_services, rate_limit_jobs_per_minute=2) as http:
        caller = Tenant(http, api_services, tenant._process)
        answers = [caller.call("POST", path, json={}) for path in ("/plans", "/v1/plans", "/jobs")]
        assert [answer.status_code for answer in answers] == [422, 422, 429]


def test_refused_credentials_close_the_door_for_their_address(api_services: Services, tenant: Tenant):
    with (
        redis_server.server() as url,
        app_under(
            api_services, rate_limit_attempts_per_minute=3, redis_url=url, key_cache_seconds=60
        ) as http,
    ):
        caller = Tenant(http, api_services, tenant._process)
        assert caller.call("GET", "/methods").status_code == 200
        wrong = {"Authorization": "Bearer gv_" + "x" * 43}
        answers = [http.get("/methods", headers=wrong).status_code for _ in range(5)]
        assert answers == [401, 401, 401, 429, 429]
        assert http.get("/methods").status_code == 429
        assert caller.call("GET", "/methods").status_code == 200  # at work already
        assert caller.call("GET", "/methods", Role.AUDITOR).status_code == 429
        assert http.get("/healthz").status_code == 200


def test_coming_without_credentials_is_an_attempt_too(api_services: Services):
    with (
        redis_server.server() as url,
        app_under(api_services, rate_limit_attempts_per_minute=3, redis_url=url) as http,
    ):
        answers = [http.post("/jobs", json={}) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
        assert answers[-1].headers["Retry-After"] == "60"
        assert http.get("/healthz").status_code == 200


def test_no_request_fails_without_redis(api_services: Services, tenant: Tenant):
    with app_under(api_services, redis_url=NOWHERE) as http:
        caller = Tenant(http, api_services, tenant._process)
        results: list[int] = []
        threads = [
            threading.Thread(target=lambda: results.append(caller.call("GET", "/methods").status_code))
            for _ in range(8)
        ]
        caller.token(Role.CURATOR, Role.REQUESTER)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [200] * 8
