"""``python -m api`` as processes: one address, metrics apart and added up, and an orderly end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from core.settings import Settings
from deploy.local.servers import free_port
from tests.support.faults import alive
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[3]
SECONDS = PATIENCE_SECONDS
SAME = 5  # so many readings in a row, a tenth of a second apart


@dataclass
class Api:
    """A running service, and where it answers."""

    process: subprocess.Popen[bytes]
    url: str
    metrics_url: str
    log: Path

    def ended(self) -> list[str]:
        """It has ended; the lines of its log."""
        self.process.wait(timeout=PATIENCE_SECONDS)
        return self.log.read_text().splitlines()

    def metrics(self) -> str:
        return httpx.get(self.metrics_url, timeout=PATIENCE_SECONDS, verify=False).text

    def probed(self, path: str) -> int:
        """The status of a probe on the internal port."""
        return httpx.get(
            self.metrics_url.replace("/metrics", path), timeout=PATIENCE_SECONDS, verify=False
        ).status_code

    def pids(self) -> set[int]:
        """The processes that serve."""
        return {
            int(pid) for pid in re.findall(r'process_resident_memory_bytes\{pid="(\d+)"\}', self.metrics())
        }

    def counted(self, route: str = "/healthz") -> float:
        """How many good answers of the route all processes have counted together."""
        labels = f'graphveil_http_requests_total{{code="200",method="GET",route="{route}"}} '
        found = [line for line in self.metrics().splitlines() if line.startswith(labels)]
        return sum(float(line.removeprefix(labels)) for line in found)

    def settled(self, route: str = "/healthz") -> float:
        """How many good answers of the route were counted, once none is counted any more.

        An answer is counted after it was sent, so that its caller may be ahead of the count.
        """
        readings: list[float] = []

        def same() -> bool:
            readings.append(self.counted(route))
            return len(readings) >= SAME and len(set(readings[-SAME:])) == 1

        until(same)
        return readings[-1]

    def answers(self) -> bool:
        """Whether a fresh connection is served, without the certificates that each would read first."""
        try:
            return httpx.get(f"{self.url}/healthz", timeout=PATIENCE_SECONDS, verify=False).status_code == 200
        except httpx.TransportError:
            return False


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@contextmanager
def api(settings: Settings, processes: int, port: int | None = None, **further: str) -> Iterator[Api]:
    """The service on a port of its own; killed at the end, if it still runs."""
    port, metrics_port = port or free_port(), free_port()
    environment = {
        **os.environ,
        "GRAPHVEIL_DATABASE_URL": settings.database_url,
        "GRAPHVEIL_REDIS_URL": settings.redis_url,
        "GRAPHVEIL_STORAGE_URL": settings.storage_url,
        "GRAPHVEIL_MASTER_KEY": settings.master_key.get_secret_value(),
        "GRAPHVEIL_FINGERPRINT_KEY": settings.fingerprint_key.get_secret_value(),
        "GRAPHVEIL_PORT": str(port),
        "GRAPHVEIL_METRICS_PORT": str(metrics_port),
        "GRAPHVEIL_API_PROCESSES": str(processes),
        **further,
    }
    with tempfile.NamedTemporaryFile() as log:  # no pipe: nobody reads while it serves
        process = subprocess.Popen([sys.executable, "-m", "api"], cwd=ROOT, env=environment, stderr=log)
        try:
            url, metrics_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics_port}/metrics"
            yield Api(process, url, metrics_url, Path(log.name))
        finally:
            process.kill()
            process.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def single(api_settings: Settings) -> Iterator[Api]:
    """A service of one process, which the last of its tests ends."""
    with api(api_settings, 1, GRAPHVEIL_MAX_CONNECTIONS="20") as service:
        until(service.answers)
        yield service


@pytest.fixture(scope="module")
def pair(api_settings: Settings) -> Iterator[Api]:
    """A service of two processes, whose parent the last of its tests kills."""
    with api(api_settings, 2) as service:
        until(service.answers)
        yield service


def test_probes_are_answered_when_the_public_port_is_full(single: Api):
    with ExitStack() as undo:
        address = ("127.0.0.1", int(single.url.rsplit(":", 1)[1]))
        for _ in range(30):
            undo.enter_context(socket.create_connection(address, timeout=PATIENCE_SECONDS))
        assert not single.answers()
        for path in ("/healthz", "/readyz"):  # each gives its own checks a few seconds
            until(lambda path=path: single.probed(path) == 200)
        assert single.probed("/me") == 200  # the metrics: nothing else is served here
        assert "graphveil_build_info" in httpx.get(single.metrics_url.replace("/metrics", "/me")).text


def test_the_process_serves_keeps_metrics_apart_and_ends_when_told(single: Api):
    until(single.answers)
    before = single.settled("/readyz")
    until(lambda: httpx.get(f"{single.url}/readyz").json()["ready"] is True)
    assert httpx.get(f"{single.url}/metrics").status_code == 404
    assert single.settled("/readyz") == before + 1
    assert 'graphveil_http_requests_total{code="503",method="POST",route="/jobs"} 0.0' in single.metrics()
    assert "graphveil_build_info{version=" in single.metrics()
    assert len(single.pids()) == 1
    single.process.send_signal(signal.SIGTERM)
    lines = single.ended()
    assert single.process.returncode == 0
    assert any('"event": "serving"' in line for line in lines)
    assert any('"route": "/readyz"' in line for line in lines)


def test_a_process_that_hangs_is_noticed_by_the_probes(pair: Api):
    until(lambda: pair.probed("/healthz") == 200)
    hung = min(pair.pids())
    os.kill(hung, signal.SIGSTOP)
    try:
        assert pair.probed("/healthz") == 503
    finally:
        os.kill(hung, signal.SIGCONT)
    until(lambda: pair.probed("/healthz") == 200)


def test_processes_share_the_address_and_their_counts_are_added_up(pair: Api):
    first = pair.pids()
    assert len(first) == 2
    until(lambda: all(pair.answers() for _ in range(20)))  # connections fall to one or the other
    before = pair.settled()
    answered = sum(pair.answers() for _ in range(40))
    assert answered >= 1
    assert pair.settled() == before + answered

    # One dies: what it counted stays, its connections wait, and another takes its place.
    dead = min(first)
    os.kill(dead, signal.SIGKILL)
    until(lambda: dead not in pair.pids() and len(pair.pids()) == 2)
    assert pair.counted() >= before + answered
    until(lambda: all(pair.answers() for _ in range(20)))

    # The parent is killed: nobody is left who could serve under its address.
    left = pair.pids()
    pair.process.kill()
    pair.process.wait(timeout=PATIENCE_SECONDS)
    until(lambda: not any(alive(pid) for pid in left))  # zombies serve nobody: not every init reaps them


def test_an_address_that_is_taken_ends_the_process_with_an_error(api_settings: Settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with api(api_settings, 2, port=taken.getsockname()[1]) as service:
            lines = service.ended()
        assert service.process.returncode != 0
        assert any("Address already in use" in line for line in lines)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_every_process_has_a_socket_of_its_own(api_settings: Settings, host: str):
    from api.serve.processes import listening

    settings = api_settings.model_copy(update={"host": host, "port": free_port(), "api_processes": 3})
    sockets = listening(settings)
    try:
        assert [one.getsockname()[:2] for one in sockets] == [(host, settings.port)] * 3
        with pytest.raises(OSError, match="in use"):
            listening(settings)
    finally:
        for one in sockets:
            one.close()


def test_of_services_that_start_at_once_on_one_address_one_listens(api_settings: Settings):
    from api.serve.processes import listening

    for _ in range(20):
        settings = api_settings.model_copy(update={"port": free_port(), "api_processes": 3})
        start = threading.Barrier(4)

        def begin(settings: Settings = settings, start: threading.Barrier = start) -> list[socket.socket]:
            start.wait()
            try:
                return listening(settings)
            except OSError:
                return []

        with ThreadPoolExecutor(4) as pool:
            found = [each.result() for each in [pool.submit(begin) for _ in range(4)]]
        for one in [one for sockets in found for one in sockets]:
            one.close()
        assert sorted(map(len, found)) == [0, 0, 0, 3]


def test_connections_spread_over_the_sockets_of_an_address(api_settings: Settings):
    from api.serve.processes import listening

    settings = api_settings.model_copy(update={"port": free_port(), "api_processes": 3})
    sockets = listening(settings)
    calls = [socket.create_connection((settings.host, settings.port)) for _ in range(64)]
    for one in sockets:
        one.setblocking(False)
    taken = [0, 0, 0]
    for place, one in enumerate(sockets):
        with suppress(BlockingIOError):
            while True:
                one.accept()[0].close()
                taken[place] += 1
    for one in [*calls, *sockets]:
        one.close()
    assert sum(taken) == 64
    assert min(taken) > 4


def test_a_free_port_is_given_to_one_process_alone():
    port = free_port()
    others = f"from deploy.local.servers import free_port; print(free_port({port}))"
    told = subprocess.run([sys.executable, "-c", others], capture_output=True, text=True, check=True)
    assert int(told.stdout) != port == free_port(port)
