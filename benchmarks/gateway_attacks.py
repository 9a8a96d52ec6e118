"""What strangers and dawdlers cost everybody else: attacks on the gateway, over real sockets.

    python -m benchmarks.gateway_attacks [--seconds 8]

Starts what ``benchmarks.gateway_load`` starts, with one api process, and makes each attack while a caller
asks ``GET /me`` ten times a second. Prints a Markdown table: what the attackers saw, the caller's latency at
the median and at its worst, and the resident memory of the api before and at its most. Runs on services from
before the limits as well, for the figures beside them. Attackers come from 127.0.0.2.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from benchmarks.gateway_load import SCHEMA, Service, targets
from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role

ATTACKER = ("127.0.0.2", 0)
PAUSE_SECONDS = 0.1
LEGAL = b'{"parameters": [' + b"{}," * 349_000 + b"{}]}"
"""Just under 1 MiB: as much as any caller may send as JSON."""


class Caller:
    """Somebody with a key, who asks in a steady rhythm: ``seconds`` of each answer, and what ``failed``."""

    def __init__(self, service: Service, token: str) -> None:
        self.seconds: list[float] = []
        self.failed: Counter[str] = Counter()
        self._stop = threading.Event()
        self._http = httpx.Client(
            base_url=service.url, headers={"Authorization": f"Bearer {token}"}, timeout=120
        )
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            try:
                status = self._http.get("/me").status_code
            except httpx.TransportError as error:
                self.failed[type(error).__name__] += 1
                continue
            if status == 200:
                self.seconds.append(time.perf_counter() - began)
            else:
                self.failed[str(status)] += 1

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Asks while the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()


class Watch:
    """The most memory that the api's processes were seen to hold."""

    def __init__(self, pid: int) -> None:
        self.most_bytes, self._pid, self._stop = 0, pid, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def now_bytes(self) -> int:
        """Of the process that serves: the parent's child with the most."""
        family, found = [self._pid], [0]
        while family:
            pid = family.pop()
            with contextlib.suppress(OSError):
                found.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize())
                for task in Path(f"/proc/{pid}/task").iterdir():
                    family += map(int, (task / "children").read_text().split())
        return max(found)

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self.most_bytes = max(self.most_bytes, self.now_bytes())

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Looks while the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()


def head(method: str, path: str, token: str | None, length: int) -> bytes:
    """The head of a request with a body of that many bytes."""
    key = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\n{key}Content-Type: application/json\r\n"
        f"Idempotency-Key: {secrets.token_hex(8)}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def sign_in(size: int) -> bytes:
    """A form of the console's sign-in of so many bytes, made of many small fields."""
    body = (b"token=x&" * (size // 8))[:size]
    asked = head("POST", "/console/sign-in", None, len(body))
    return asked.replace(b"application/json", b"application/x-www-form-urlencoded") + body


def connect(service: Service, timeout: float = 60) -> socket.socket:
    """A connection of the attacker's."""
    return socket.create_connection(("127.0.0.1", service.port), timeout=timeout, source_address=ATTACKER)


def status_of(connection: socket.socket) -> str:
    """The status of the answer; what happened, where there was none."""
    try:
        said = connection.recv(65_536)
    except OSError as error:
        return type(error).__name__
    return said[9:12].decode() or "closed"


def large_body(service: Service, path: str, size: int, seen: Counter[str]) -> None:
    """One body of that size without a key; the answer is listened to while it is sent."""
    with connect(service, timeout=120) as connection:
        connection.sendall(head("PUT", path, None, size))
        piece, sent = b" " * 2**20, 0
        try:
            while sent < size:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            seen[f"cut off after {sent >> 20} MiB"] += 1
        seen[status_of(connection)] += 1


def keyless_bodies(
    service: Service,
    clients: int,
    per_second: float,
    seconds: float,
    seen: Counter[str],
    request: bytes | None = None,
) -> None:
    """Legal bodies without a key, at that rate of all clients together; jobs, unless a request is given."""
    ends = time.monotonic() + seconds
    sent = head("POST", "/v1/jobs", None, len(LEGAL)) + LEGAL if request is None else request

    def send() -> None:
        while time.monotonic() < ends:
            began = time.monotonic()
            with contextlib.suppress(OSError), connect(service) as connection:
                connection.sendall(sent)
                seen[status_of(connection)] += 1
            time.sleep(max(0.0, clients / per_second - (time.monotonic() - began)))

    at_once([send] * clients)


def dripping(
    service: Service,
    token: str,
    datasets: list[str],
    other: tuple[str, str],
    seconds: float,
    seen: Counter[str],
) -> None:
    """Eight uploads that drip; another tenant's upload beside them, which is what is told."""
    with ExitStack() as undo:
        for dataset in datasets[:8]:
            connection = undo.enter_context(connect(service))
            connection.sendall(head("PUT", f"/v1/datasets/{dataset}/content", token, 10**6) + b"s")
        time.sleep(1)
        began = time.monotonic()
        try:
            answer = httpx.put(
                f"{service.url}/datasets/{other[1]}/content",
                headers={"Authorization": f"Bearer {other[0]}"},
                content=b"source,target\n1,2\n", timeout=seconds,
            )  # fmt: skip
            seen[f"another's upload: {answer.status_code} after {time.monotonic() - began:.1f} s"] += 1
        except httpx.TimeoutException:
            seen[f"another's upload: nothing in {seconds:g} s"] += 1


def silent(service: Service, count: int, seconds: float, seen: Counter[str]) -> None:
    """So many connections that say nothing, from one address."""
    with ExitStack() as undo:
        for _ in range(count):
            with contextlib.suppress(OSError):
                undo.enter_context(connect(service))
        time.sleep(seconds)
        for path in ("/healthz", "/readyz"):
            seen[f"{path}: {httpx.get(service.url + path, timeout=30).status_code}"] += 1


def nested(service: Service, token: str, dataset: str, seen: Counter[str]) -> None:
    """``parameters`` nested 300 deep, in requests that are whole otherwise."""
    for path, asked in (
        ("/v1/jobs", {"dataset_id": dataset, "epsilon": "0.5", "method": "psgraph"}),
        ("/v1/streams", {"dataset_id": dataset, "epsilon": "0.5", "method": "psgraph"}),
        ("/v1/audits", {"method": "laplace", "epsilon": "1", "runs": 100}),
    ):
        deep = json.dumps({**asked, "parameters": {"a": 0}}).replace("0}}", "[" * 300 + "]" * 300 + "}}")
        with connect(service) as connection:
            connection.sendall(head("POST", path, token, len(deep)) + deep.encode())
            seen[f"{path} {status_of(connection)}"] += 1


def at_once(tasks: list[Callable[[], None]]) -> None:
    """All of them, each in a thread."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measured(service: Service, token: str, name: str, attack: Callable[[Counter[str]], None]) -> str:
    """One row: the attack, while another caller asks."""
    seen: Counter[str] = Counter()
    caller, watch = Caller(service, token), Watch(service._api.pid)
    before = watch.now_bytes()
    with caller.asking(), watch.looking():
        time.sleep(1)
        attack(seen)
    time.sleep(1)
    saw = ", ".join(f"{what}{f' x{times}' if times > 1 else ''}" for what, times in seen.items()) or "-"
    ordered = sorted(caller.seconds) or [float("nan")]
    failed = ", ".join(f"{what} x{times}" for what, times in caller.failed.items()) or "-"
    middle, worst = ordered[len(ordered) // 2] * 1e3, ordered[-1] * 1e3
    return (
        f"| {name} | {saw} | {middle:.0f} | {worst:.0f} | {failed} "
        f"| {before / 2**20:.0f} | {watch.most_bytes / 2**20:.0f} |"
    )


def main() -> int:
    """One service, one row for each attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", default="", help="attacks whose name has this in it")
    given = parser.parse_args()
    seconds = given.seconds
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    folder = Path(tempfile.mkdtemp(prefix="gv-attacks-"))
    folder.chmod(0o755)
    with ExitStack() as undo:
        service = Service(folder, 1, undo)
        database = Database(service.database_url, pool_size=1)
        undo.callback(database.dispose)
        chosen = targets(service, 9)
        with database.transaction() as session:
            roles = (Role.CURATOR, Role.REQUESTER)
            _, stranger = identity.create_key(session, tenant="other", name="k", roles=roles)
        body = {"name": "d", "unit": "edge", "epsilon": "1", "graph_schema": SCHEMA}
        answer = httpx.post(
            f"{service.url}/datasets", json=body, headers={"Authorization": f"Bearer {stranger}"}
        ).raise_for_status()
        other = (stranger, answer.json()["id"])
        token, datasets = chosen[0].token, [each.dataset_id for each in chosen[1:]]
        attacks: list[tuple[str, Callable[[Counter[str]], None]]] = [
            ("nobody", lambda seen: time.sleep(seconds)),
            ("parameters nested 300 deep", lambda seen: nested(service, token, datasets[0], seen)),
            ("eight uploads that drip", lambda seen: dripping(service, token, datasets, other, 20, seen)),
            (
                "4 keyless clients, 1 MiB bodies, 2.2/s",
                lambda seen: keyless_bodies(service, 4, 2.2, seconds, seen),
            ),
            (
                "4 keyless clients, 1 MiB bodies, 20/s",
                lambda seen: keyless_bodies(service, 4, 20, seconds, seen),
            ),
            (
                "4 keyless clients, sign-ins of 1 MiB, as fast as they can",
                lambda seen: keyless_bodies(service, 4, 1e6, seconds, seen, sign_in(2**20 - 64)),
            ),
            ("1,100 silent connections", lambda seen: silent(service, 1_100, 4, seen)),
            (
                "800 MB without a key",
                lambda seen: large_body(
                    service, "/v1/datasets/x/budget/quotas/team/content", 800_000_000, seen
                ),
            ),
        ]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print("| attack | it saw | GET /me: median ms | worst ms | failed | RSS before MiB | most |")
        print("|---|---|---|---|---|---|---|")
        for name, attack in attacks:
            if given.only in name:
                print(measured(service, token, name, attack), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
