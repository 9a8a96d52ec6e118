"""``python -m worker.webhooks``: sends tenants the events that they subscribed to, at least once.

Several may run: each takes deliveries that the others have not locked. Every sending has a thread of its own,
and no endpoint has more than one at a time, so that a slow receiver holds up nobody else.
"""

from __future__ import annotations

import os
import socket
import ssl
import sys
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from sqlalchemy.exc import SQLAlchemyError

from core import command_line, failpoints
from core.errors import GraphveilError
from core.logging import get_logger
from core.settings import get_settings
from core.webhooks.sending import Limits, Outcome, Resolver, resolve, send
from core.workflows.common.context import Services
from core.workflows.webhooks import catalogues, deliveries
from core.workflows.webhooks.deliveries import Sending
from core.workflows.webhooks.endpoints import rules
from worker.daemon import serve
from worker.stopping import Stopping

PURGE_SECONDS = 3_600.0

log = get_logger(__name__)


class Deliverer:
    """Takes due deliveries and sends them. ``resolver`` and ``context`` are the system's by default."""

    def __init__(
        self, services: Services, *, resolver: Resolver = resolve, context: ssl.SSLContext | None = None
    ) -> None:
        self._services, self._resolver = services, resolver
        self._context = context or ssl.create_default_context()
        self._worker = f"webhooks@{socket.gethostname()}:{os.getpid()}"
        self._purge_at = time.monotonic()

    def take(self, limit: int) -> list[Sending]:
        """Lease up to ``limit`` deliveries to this process."""
        return deliveries.take_due(self._services, self._worker, limit)

    def deliver(self, sending: Sending) -> None:
        """Send the delivery, and record what came of it. It may be left to be sent once its lease is over."""
        try:
            if sending.push is None:
                outcome = self._send("POST", sending.url, sending.body, sending.headers)
            else:
                outcome = catalogues.push(self._services, sending, sending.push, self._send)
            deliveries.sent(self._services, sending, outcome)
        except Exception as error:  # whatever it is: the other deliveries must not stop with this one
            log.error("delivery_left", delivery_id=sending.delivery_id, error=type(error).__name__)

    def _send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        settings = self._services.settings
        return send(
            url,
            body,
            {"Content-Type": "application/json", "User-Agent": "Graphveil-Webhooks", **headers},
            method=method,
            rules=rules(settings),
            limits=Limits(settings.webhook_seconds, settings.webhook_answer_bytes),
            resolver=self._resolver,
            context=self._context,
        )

    def purge(self) -> None:
        """Delete old deliveries, once an hour."""
        if time.monotonic() >= self._purge_at:
            self._purge_at = time.monotonic() + PURGE_SECONDS
            deliveries.purge_deliveries(self._services)


def run(services: Services, stopping: Stopping) -> None:
    """Send deliveries until requested to stop. This process finishes those under way."""
    settings = services.settings
    deliverer = Deliverer(services)
    running: set[Future[None]] = set()
    with ThreadPoolExecutor(settings.webhook_batch, thread_name_prefix="webhook") as pool:
        while not stopping():
            running = {future for future in running if not future.done()}
            try:
                free = settings.webhook_batch - len(running)
                taken = deliverer.take(free) if free else []
                deliverer.purge()
            except (SQLAlchemyError, GraphveilError) as error:
                log.warning("webhooks_paused", error=type(error).__name__)
                taken = []
            running |= {pool.submit(deliverer.deliver, sending) for sending in taken}
            if running:
                wait(running, timeout=settings.webhook_poll_seconds, return_when=FIRST_COMPLETED)
            else:
                stopping.wait(settings.webhook_poll_seconds)


def main() -> int:
    """Deliver until stopped; the exit code."""
    command_line.parser("worker.webhooks", __doc__).parse_args()
    failpoints.arm(get_settings().failpoints)
    return serve("webhooks", run)


if __name__ == "__main__":
    sys.exit(main())
