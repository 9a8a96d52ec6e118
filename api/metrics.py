"""What the service counts about HTTP, by route template; served on the internal port only."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
)

PREFIX = "graphveil"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def package_version() -> str:
    """The installed version, or ``unknown`` when the package runs from an uninstalled tree."""
    try:
        return version("graphveil")
    except PackageNotFoundError:
        return "unknown"


class HttpMetrics:
    """The registry of one app. Labels are bounded: route templates, known methods, status codes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        Info(f"{PREFIX}_build", "What is running.", registry=self.registry).info(
            {"version": package_version()}
        )
        self._requests = Counter(
            f"{PREFIX}_http_requests_total",
            "Requests answered.",
            ["route", "method", "code"],
            registry=self.registry,
        )
        self._durations = Histogram(
            f"{PREFIX}_http_request_duration_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route", "method"],
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """One request is counted."""
        method = method if method in METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._durations.labels(route, method).observe(seconds)
