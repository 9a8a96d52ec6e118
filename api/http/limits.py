"""How many requests one caller has in a minute. They are counted in Redis, for all processes of the service
together.

Redis is a convenience here, never a condition: while it does not answer, each process counts for itself, and
no request fails or waits for it.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Mapping

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from core.errors import RateLimited
from core.logging import get_logger
from core.settings import Settings
from graphveil.models.identity import RateLimit

WINDOW_SECONDS = 60
REDIS_TIMEOUT_SECONDS = 0.25
PAUSE_SECONDS = 5.0  # a Redis that failed is left alone for as long
MAX_NETWORKS = 10_000
JOB_ROUTES = frozenset(
    {
        *(("POST", "/jobs"), ("POST", "/jobs/{job_id}/samples"), ("POST", "/plans")),
        # The console's pages of the same workflows.
        *(("POST", "/console/jobs"), ("POST", "/console/jobs/{job_id}/samples")),
        ("GET", "/console/datasets/{dataset_id}/release"),
    }
)

# Of every list, or of none. Each holds moments, the newest first, as the library keeps them. Answered is
# which one has no room, or 0; of that one, or else of the last, how many are in the window and when the
# oldest came.
TAKE = """
local now, seconds = tonumber(ARGV[1]), tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
    local limit = tonumber(ARGV[2 + i])
    local oldest = redis.call('lindex', key, limit - 1)
    if oldest and tonumber(oldest) >= now - seconds then return {i, limit, oldest} end
end
for i, key in ipairs(KEYS) do
    redis.call('lpush', key, now)
    redis.call('ltrim', key, 0, ARGV[2 + i] - 1)
    redis.call('expire', key, seconds)
end
local last = KEYS[#KEYS]
local low, high = 0, redis.call('llen', last) - 1
while low < high do
    local middle = math.ceil((low + high) / 2)
    local moment = tonumber(redis.call('lindex', last, middle))
    if moment >= now - seconds then low = middle else high = middle - 1 end
end
return {0, low + 1, redis.call('lindex', last, low)}
"""

log = get_logger(__name__)


def headers_of(standing: RateLimit) -> dict[str, str]:
    """Make the header fields of draft-ietf-httpapi-ratelimit-headers-07 (one field each)."""
    return {
        "RateLimit-Limit": str(standing.limit),
        "RateLimit-Remaining": str(standing.remaining),
        "RateLimit-Reset": str(standing.reset_seconds),
    }


class Limits:
    """The limits of one app. They are per key, per key for requests that make jobs, and per address for
    refusals.

    A moving window: no minute, wherever it begins, sees more than the limit. One round trip to Redis a
    request. Opens no connection before its first use. Safe to share between threads.
    """

    def __init__(self, settings: Settings) -> None:
        self._requests = _item(settings.rate_limit_per_minute)
        self._jobs = _item(settings.rate_limit_jobs_per_minute)
        self._attempts = _item(settings.rate_limit_attempts_per_minute)
        self._open = _Opened(settings.rate_limit_open_per_minute)
        self._counter = _Counter(settings.redis_url)

    def take(self, key_id: str, method: str, route: str) -> RateLimit | None:
        """Count the request against its key. Returned is how the key stands now, or None where there is no
        limit.

        Raises RateLimited; a refused request does not count.
        """
        taken = {} if self._jobs is None or (method, route) not in JOB_ROUTES else {"jobs": self._jobs}
        if self._requests is not None:
            taken["requests"] = self._requests
        standing = self._hit(taken, key_id) if taken else None
        return None if self._requests is None else standing

    def standing(self, key_id: str) -> tuple[RateLimit | None, RateLimit | None]:
        """Return how the key stands. It does with all requests, and with those that make jobs; None: no
        limit."""
        return (
            None if self._requests is None else self._counter.standing(self._requests, "requests", key_id),
            None if self._jobs is None else self._counter.standing(self._jobs, "jobs", key_id),
        )

    def check_attempts(self, client: str) -> None:
        """Check that few credentials of the address were refused. It raises RateLimited otherwise."""
        if self._attempts is not None:
            standing = self._counter.standing(self._attempts, "attempts", network_of(client))
            if standing.remaining <= 0:
                raise _refusal(self._attempts, standing)

    def refused_attempt(self, client: str) -> None:
        """Count a refused credential against its address."""
        if self._attempts is not None:
            self._counter.take({"attempts": self._attempts}, network_of(client))

    def attempt(self, client: str) -> None:
        """Count an address's attempt to sign in. It counts before anything of it is read, whatever comes of
        it.

        Raises RateLimited.
        """
        if self._attempts is not None:
            self._hit({"attempts": self._attempts}, network_of(client))

    def open(self, client: str) -> None:
        """Count a request that needs no key against its address. Raises RateLimited. Waits for nobody."""
        self._open.take(network_of(client))

    def _hit(self, taken: Mapping[str, RateLimitItem], name: str) -> RateLimit:
        refused, standing = self._counter.take(taken, name)
        if refused is not None:
            raise _refusal(refused, standing)
        return standing


class _Opened:
    """Counts by the minute in this process alone: a thread and a round trip would cost more than the pages.

    Used from the event loop alone. Memory: ``MAX_NETWORKS``; more than those begin anew.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: dict[str, int] = {}
        self._ends = -math.inf

    def take(self, network: str) -> None:
        """Count one more. Raises RateLimited."""
        if not self._limit:
            return
        now = time.monotonic()
        if now >= self._ends or len(self._counts) >= MAX_NETWORKS:
            self._counts.clear()
            self._ends = now + WINDOW_SECONDS
        count = self._counts.get(network, 0)
        if count >= self._limit:
            raise _refused(self._limit, max(1, math.ceil(self._ends - now)))
        self._counts[network] = count + 1


class _Counter:
    """Counts in Redis; in this process while Redis does not answer, and for ``PAUSE_SECONDS`` after."""

    def __init__(self, redis_url: str) -> None:
        pool = ConnectionPool.from_url(
            redis_url,
            socket_timeout=REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
            # Once more after a connection that had been closed meanwhile; never after a silence.
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )
        self._storage = RedisStorage(redis_url, connection_pool=pool, key_prefix="graphveil:limits")
        self._shared = MovingWindowRateLimiter(self._storage)
        self._script = Redis(connection_pool=pool).register_script(TAKE)
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._lock = threading.Lock()
        self._shared_from = -math.inf  # Redis is asked from this moment on
        self._down = False

    def take(self, taken: Mapping[str, RateLimitItem], name: str) -> tuple[RateLimitItem | None, RateLimit]:
        """Count one more of every kind, if each has room. Returned are the limit that has none, if any, and
        how that one stands, or else the last."""
        items = list(taken.values())
        if self._ask_redis():
            keys = [self._storage.prefixed_key(item.key_for(kind, name)) for kind, item in taken.items()]
            limits = [item.amount for item in items]
            try:
                full, count, oldest = self._script(keys, [time.time(), WINDOW_SECONDS, *limits])
            except (RedisError, OSError) as error:
                self._failed(error)
            else:
                self._answered()
                item = items[full - 1]
                standing = _standing(item, float(oldest) + WINDOW_SECONDS, item.amount - count)
                return (item if full else None), standing
        for kind, item in taken.items():
            if not self._own.hit(item, kind, name):
                return item, _standing(item, *self._own.get_window_stats(item, kind, name))
        return None, _standing(item, *self._own.get_window_stats(item, kind, name))

    def standing(self, item: RateLimitItem, kind: str, name: str) -> RateLimit:
        """How many are left, and the seconds until the oldest of the window leaves it."""
        limiter = self._shared if self._ask_redis() else self._own
        try:
            reset_at, remaining = limiter.get_window_stats(item, kind, name)
        except (RedisError, OSError) as error:
            self._failed(error)
            reset_at, remaining = self._own.get_window_stats(item, kind, name)
        return _standing(item, reset_at, remaining)

    def _ask_redis(self) -> bool:
        """Tell whether to ask Redis: it is well, or it is time to try it, which one request then does."""
        if not self._down:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._shared_from:
                return False
            self._shared_from = now + PAUSE_SECONDS
            return True

    def _failed(self, error: Exception) -> None:
        with self._lock:
            first, self._down = not self._down, True
            self._shared_from = time.monotonic() + PAUSE_SECONDS
        if first:
            log.warning("rate_limits_counted_in_process", error=type(error).__name__)

    def _answered(self) -> None:
        if self._down:
            with self._lock:
                back, self._down = self._down, False
            if back:
                log.info("rate_limits_counted_in_redis")


def network_of(client: str) -> str:
    """Name one client's network. It is an IPv4 address, or the /64 that one IPv6 host has for itself."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)


def client_of(request: Request) -> str:
    """Name the address that the request came from. The trusted proxies tell it."""
    return request.client.host if request.client else ""


def _item(per_minute: int) -> RateLimitItem | None:
    return RateLimitItemPerMinute(per_minute) if per_minute else None


def _standing(item: RateLimitItem, reset_at: float, remaining: float) -> RateLimit:
    seconds = min(WINDOW_SECONDS, max(1, math.ceil(reset_at - time.time())))
    return RateLimit(limit=item.amount, remaining=max(0, int(remaining)), reset_seconds=seconds)


def _refusal(item: RateLimitItem, standing: RateLimit) -> RateLimited:
    return _refused(item.amount, standing.reset_seconds)


def _refused(limit: int, retry_after: int) -> RateLimited:
    return RateLimited(
        f"at most {limit} of these requests are taken in {WINDOW_SECONDS} seconds",
        limit=limit,
        window_seconds=WINDOW_SECONDS,
        retry_after=retry_after,
    )
