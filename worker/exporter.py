"""``python -m worker.exporter``: budgets, jobs and checks as Prometheus metrics, read from PostgreSQL.

The last reading is kept for a few seconds, and counts of rows that no longer change for good. Where the
database does not answer there are no series of it, never zeros: a dead source must not look empty.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from core import command_line, logging
from core.logging import get_logger
from core.settings import get_settings
from core.workflows.common.context import Services, open_services
from core.workflows.operations.gauges import Gauges, read_gauges
from core.workflows.operations.gauges_totals import Totals
from worker import heartbeat
from worker.exported import PREFIX, constants, families
from worker.stopping import Stopping

FRESH_SECONDS = 5.0

log = get_logger(__name__)


class Readings:
    """Readings that continue each other's counts. They do until one fails: the database may be another one
    then."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._totals = Totals()

    def __call__(self) -> Gauges:
        """Read the service as it is now. One at a time."""
        try:
            return read_gauges(self._services, self._totals)
        except SQLAlchemyError:
            self._totals = Totals()
            raise


class GaugeCollector(Collector):
    """The reading as metrics; a reading of the last five seconds serves all who ask."""

    def __init__(self, read: Callable[[], Gauges], registry: CollectorRegistry) -> None:
        registry.register(self)  # before its counters, so that a scrape counts itself
        self._read = read
        self._lock = threading.Lock()
        self._last: tuple[float, Gauges] | None = None
        self._scrapes = Counter(
            f"{PREFIX}_exporter_scrapes", "Times the metrics were asked for.", registry=registry
        )
        self._errors = Counter(
            f"{PREFIX}_exporter_scrape_errors", "Times PostgreSQL did not answer.", registry=registry
        )
        self._took = Gauge(
            f"{PREFIX}_exporter_read_duration_seconds", "How long the last reading took.", registry=registry
        )

    def describe(self) -> list[Metric]:
        """Describe nothing: registering must not read."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every series; where the database does not answer, only those that it does not tell."""
        self._scrapes.inc()
        yield from constants()
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
                self._took.set(time.monotonic() - now)
            return self._last[1]


class _Handler(WSGIRequestHandler):
    disable_nagle_algorithm = True  # the body would wait 40 ms until the head is acknowledged

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: who reads comes every few seconds."""


def listen(host: str, port: int, registry: CollectorRegistry) -> ThreadingWSGIServer:
    """Bind a server of the registry's metrics to its port. It answers once it runs. OSError: port taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_class: type[ThreadingWSGIServer] = type(
        "Server", (ThreadingWSGIServer,), {"address_family": family}
    )
    return make_server(host, port, make_wsgi_app(registry), server_class, _Handler)


def main() -> int:
    """Serve the metrics until stopped; the exit code."""
    command_line.parser("worker.exporter", __doc__).parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    services = open_services(settings)
    stopping = Stopping()
    registry = CollectorRegistry()
    GaugeCollector(Readings(services), registry)
    listener = listen(settings.host, settings.exporter_port, registry)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    log.info("exporter_started", host=settings.host, port=settings.exporter_port)
    while thread.is_alive() and not stopping.wait(heartbeat.EVERY_SECONDS):
        continue
    listener.shutdown()
    listener.server_close()
    thread.join()
    services.close()
    log.info("exporter_stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
