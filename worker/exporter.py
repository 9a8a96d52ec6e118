"""``python -m worker.exporter``: budgets, jobs and checks as Prometheus metrics, read from PostgreSQL.

Nothing is kept in memory but the last reading, for a few seconds. Where the database does not answer there
are no series, never zeros: a dead source must not look like an empty one.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from core import logging
from core.ledger.amounts import NANO
from core.logging import get_logger
from core.settings import get_settings
from core.workflows.context import open_services
from core.workflows.gauges import Gauges, read_gauges
from worker.stopping import Stopping

PREFIX = "graphveil"
FRESH_SECONDS = 5.0
AMOUNTS = {
    "capacity": "What the account may spend in all.",
    "charged": "What it has spent.",
    "reserved": "What it has set aside for jobs under way.",
    "remaining": "What a new job may cost.",
}

log = get_logger(__name__)


class GaugeCollector(Collector):
    """The reading as metrics; a reading of the last five seconds serves all who ask."""

    def __init__(self, read: Callable[[], Gauges], registry: CollectorRegistry) -> None:
        registry.register(self)  # before its counters, so that a scrape tells of itself
        self._read = read
        self._lock = threading.Lock()
        self._last: tuple[float, Gauges] | None = None
        self._scrapes = Counter(
            f"{PREFIX}_exporter_scrapes", "Times the metrics were asked for.", registry=registry
        )
        self._errors = Counter(
            f"{PREFIX}_exporter_scrape_errors", "Times PostgreSQL did not answer.", registry=registry
        )

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: registering must not read."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Every series, or none where the database does not answer."""
        self._scrapes.inc()
        try:
            gauges = self._recent()
        except SQLAlchemyError as error:
            self._errors.inc()
            log.warning("not_read", error=type(error).__name__)
            return
        yield from families(gauges)

    def _recent(self) -> Gauges:
        with self._lock:
            now = time.monotonic()
            if self._last is None or now - self._last[0] > FRESH_SECONDS:
                self._last = None  # a reading that fails leaves nothing to serve
                self._last = (now, self._read())
            return self._last[1]


def families(gauges: Gauges) -> Iterator[GaugeMetricFamily]:
    """The metrics of one reading."""
    for name, meaning in AMOUNTS.items():
        family = GaugeMetricFamily(
            f"{PREFIX}_budget_{name}_epsilon", f"{meaning} Epsilon; sums over accounts mean nothing.",
            labels=["account", "unit"],
        )  # fmt: skip
        for budget in gauges.budgets:
            family.add_metric([budget.account_id, budget.unit], getattr(budget, name) / 10**NANO)
        yield family
    yield _one("budget_accounts", "Budget accounts; the fullest of them have gauges.", gauges.accounts)
    jobs = GaugeMetricFamily(f"{PREFIX}_jobs", "Jobs by state.", labels=["state"])
    for state, count in gauges.jobs.items():
        jobs.add_metric([state], count)
    yield jobs
    yield _one(
        "oldest_queued_job_age_seconds",
        "How long the oldest queued job has waited; 0 where none waits.",
        gauges.oldest_queued_seconds,
    )
    yield _one("outbox_unsent", "Messages that the broker has not been told.", gauges.outbox_unsent)
    violations = GaugeMetricFamily(
        f"{PREFIX}_invariant_violations", "Places in which the promise was broken.", labels=["invariant"]
    )
    checked = GaugeMetricFamily(
        f"{PREFIX}_invariant_checked_timestamp_seconds", "When it was last checked.", labels=["invariant"]
    )
    for check in gauges.checks:
        violations.add_metric([check.invariant], check.violations)
        checked.add_metric([check.invariant], check.checked_at)
    yield violations
    yield checked


def _one(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", meaning, value=value)


def main() -> int:
    """The exit code."""
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    services = open_services(settings)
    stopping = Stopping()
    registry = CollectorRegistry()
    GaugeCollector(lambda: read_gauges(services), registry)
    listener, thread = start_http_server(settings.exporter_port, addr=settings.host, registry=registry)
    log.info("exporter_started", host=settings.host, port=settings.exporter_port)
    while not stopping.wait(3600.0):
        continue
    listener.shutdown()
    thread.join()
    services.close()
    log.info("exporter_stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
