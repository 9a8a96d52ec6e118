"""What a campaign stands on: the compose file as it is read, the counts, the gate, the restarts."""

from __future__ import annotations

import random
import signal
import sys
from collections import Counter
from pathlib import Path

import httpx

from benchmarks.campaign_faults import CLOCK_FAULTS, FAULTS
from benchmarks.compose_file import services
from benchmarks.drain import Samples
from benchmarks.fault_campaign import Outcome, order, table
from benchmarks.store_gate import Gate, store_gate
from benchmarks.supervised import Supervised, Supervisor
from deploy.local.processes import COMMANDS
from deploy.local.servers import free_port
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.s3_server import server


def test_the_compose_file_is_read_as_it_stands():
    read = services()
    assert "keys" not in read
    assert "worker-gpu" not in read
    for name, (_, *command) in COMMANDS.items():
        assert read[name].command == ("python", *command)
        assert read[name].restart == "unless-stopped"
    assert read["worker"].environment["GRAPHVEIL_WORK_FOLDER"] == "/work"
    assert read["api"].environment["GRAPHVEIL_API_PROCESSES"] == "2"
    assert read["migrations"].secrets == {"graphveil_database_url": "graphveil_migrator_url"}
    assert read["worker"].stop_seconds == 120.0


def test_a_campaign_has_two_hundred_injections_and_hits_every_process():
    assert sum(fault.times for fault in FAULTS) >= 200
    assert Counter(order(FAULTS, random.Random(1))) == Counter({f: f.times for f in FAULTS})
    for kind in ("kill -9", "SIGTERM"):
        assert set(COMMANDS) <= {fault.name for fault in FAULTS if fault.kind == kind}
    assert sum(fault.times for fault in CLOCK_FAULTS) >= 12


def test_the_table_counts_what_happened_and_what_was_violated():
    good = Outcome("Redis", "restart", True, {"published": 2}, 1, 3.2, [])
    bad = Outcome("Redis", "restart", False, {"published": 1, "failed": 1}, 0, 9.0, ["a flaw"])
    end = Outcome("the end", "comparisons, ledger", True, {}, 0, 1.0, ["comparisons wait"])
    rows = list(table([good, end, bad]))
    assert "| Redis | restart | 2 | 1 | 3 | 1 | 1 | 9 | 1 |" in rows
    assert rows[-2].startswith("| the end |")
    assert "| Redis |  | 2 | 1 | 3 | 1 | 1 | 9 | 1 |" in list(table([good, bad], short=True))
    assert rows[-1] == "| all |  | 2 | 1 | 3 | 1 | 1 | 9 | 1 |"


def test_the_gate_refuses_all_or_only_what_would_be_stored():
    with server() as (endpoint, bucket), store_gate(free_port(), httpx.URL(endpoint).port or 0) as gate:
        at = f"http://127.0.0.1:{gate.port}/bucket/key"
        assert httpx.put(at, content=b"kept").status_code == 200
        gate.state = Gate.FULL
        assert httpx.put(at, content=b"more").status_code == 507
        assert httpx.get(at).content == b"kept"
        gate.state = Gate.REFUSING
        assert httpx.get(at).status_code == 503
        gate.state = Gate.OPEN
        assert httpx.get(at).content == b"kept"
        assert bucket.objects == {"key": b"kept"}
        assert gate.answered == Counter({Gate.FULL: 1, Gate.REFUSING: 1})


def test_what_ends_is_started_again_and_what_is_stopped_stays_so(tmp_path: Path):
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with Supervisor() as supervisor:
        process = supervisor.add(Supervised("p", sleeping, {}, tmp_path, tmp_path / "log", 5.0))
        first = process.pid
        process.send(signal.SIGKILL)
        assert process.ended(first, PATIENCE_SECONDS)
        second = until(lambda: process.pid)
        assert second != first
        assert process.starts == 2
        process.stop()
        process.watch()
        assert process.starts == 2


def test_memory_is_flat_unless_its_last_quarter_is_above_its_first():
    mebibyte = 2**20
    steady = [(float(at), 100 * mebibyte + at) for at in range(40)]
    leaking = [(float(at), (100 + at) * mebibyte) for at in range(40)]
    samples = Samples(memory={"steady": steady, "leaking": leaking})
    assert samples.flat("steady")
    assert not samples.flat("leaking")
