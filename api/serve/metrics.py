"""What the service counts about HTTP. It counts by route template, and is served on the internal port
only."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
)

from core.version import package_version

PREFIX = "graphveil"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
WATCHED = tuple(("/jobs", "POST", code) for code in ("202", "500", "503"))
"""What the objectives ask about. Counted from zero: of a series that begins later, ``rate()`` misses one."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def tell_build(registry: CollectorRegistry) -> None:
    """Name the version that runs in the registry."""
    Info(f"{PREFIX}_build", "What is running.", registry=registry).info({"version": package_version()})


class HttpMetrics:
    """The registry of one app. Labels are bounded: route templates, known methods, status codes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        tell_build(self.registry)
        self._requests = Counter(
            f"{PREFIX}_http_requests_total",
            "Requests answered.",
            ["route", "method", "code"],
            registry=self.registry,
        )
        for watched in WATCHED:
            self._requests.labels(*watched)
        self._durations = Histogram(
            f"{PREFIX}_http_request_duration_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route", "method"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._problems = Counter(
            f"{PREFIX}_http_problems_total",
            "Answers that were problems, by the slug of their kind.",
            ["problem"],
            registry=self.registry,
        )

    def observe(
        self, route: str, method: str, status: int, seconds: float, problem: str | None = None
    ) -> None:
        """Count one request. The problem that it was answered with counts too, if any."""
        method = method if method in METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._durations.labels(route, method).observe(seconds)
        if problem is not None:
            self._problems.labels(problem).inc()
