"""The exporter's port answers at once, on IPv4 and on IPv6."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tests.support.patience import PATIENCE_SECONDS
from tests.support.serving import said_by
from worker import exporter


class Watching(Collector):
    """Looks at the accepted connection while its request is answered."""

    def __init__(self) -> None:
        self.accepted: list[socket.socket] = []

    def collect(self) -> Iterator[Metric]:
        option = self.accepted[-1].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        yield GaugeMetricFamily("no_delay", "Whether the body goes out at once.", value=float(option != 0))

    def describe(self) -> list[Metric]:
        return []


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_head(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, registry = Watching(), CollectorRegistry()
    registry.register(watching)
    server = exporter.listen(host, 0, registry)
    accept = server.get_request

    def watched() -> tuple[socket.socket, tuple[str, int]]:
        connection, address = accept()
        watching.accepted.append(connection)
        return connection, address

    monkeypatch.setattr(server, "get_request", watched)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with socket.create_connection(server.server_address[:2], timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert b"\nno_delay 1.0\n" in said_by(connection)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
