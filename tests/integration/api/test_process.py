"""``python -m api`` as a process: two listeners, and an orderly end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from core.settings import Settings

ROOT = Path(__file__).resolve().parents[3]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_process_serves_keeps_metrics_apart_and_ends_when_told(api_settings: Settings):
    port, metrics_port = free_port(), free_port()
    environment = {
        **os.environ,
        "GRAPHVEIL_DATABASE_URL": api_settings.database_url,
        "GRAPHVEIL_REDIS_URL": api_settings.redis_url,
        "GRAPHVEIL_STORAGE_URL": api_settings.storage_url,
        "GRAPHVEIL_MASTER_KEY": api_settings.master_key.get_secret_value(),
        "GRAPHVEIL_FINGERPRINT_KEY": api_settings.fingerprint_key.get_secret_value(),
        "GRAPHVEIL_PORT": str(port),
        "GRAPHVEIL_METRICS_PORT": str(metrics_port),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "api"], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    public, internal = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics_port}"
    try:
        assert answers(f"{public}/readyz")["ready"] is True
        assert httpx.get(f"{public}/metrics").status_code == 404
        metrics = httpx.get(f"{internal}/metrics").text
        assert 'graphveil_http_requests_total{code="200",method="GET",route="/readyz"}' in metrics
        assert "process_resident_memory_bytes" in metrics
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=20)
    assert process.returncode in (0, -signal.SIGTERM)
    lines = log.splitlines()
    assert any('"event": "serving"' in line for line in lines)
    assert any('"route": "/readyz"' in line for line in lines)


def answers(url: str) -> dict[str, object]:
    """The first answer of a service that is starting."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return httpx.get(url, timeout=10).json()
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
