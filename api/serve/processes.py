"""Several processes behind one address. Each has a listening socket of its own; their counts are added up.

Python runs one thread at a time, so that a process serves with one core. The parent holds the sockets and
serves nobody: when a process ends, its queue waits for the one that takes its place.

uvicorn's own workers cannot do this: they share their sockets, so that no probe reaches each of them, outlive
a parent that is killed, and are waited for without end when they stop.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from api.serve import internal
from api.serve.metrics import tell_build
from core.late import late
from core.settings import Settings

_serve = late("api.serve.serving:serve")  # the parent serves nobody, and need not hold all of it
AGAIN_SECONDS = 1.0  # before a process that ended takes up its work again
DRAIN_SECONDS = 30
COUNTS = "PROMETHEUS_MULTIPROC_DIR"  # read by the metrics library at its import, in the children

log = structlog.get_logger(component="api.processes")


def supervise(settings: Settings) -> None:
    """Run ``settings.api_processes`` serving processes. They serve until this one is stopped; then they
    drain.

    ``/metrics`` adds up what all of them counted, the ended ones included. Raises OSError when the address
    is taken.
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with ExitStack() as undo:
        counts = undo.enter_context(tempfile.TemporaryDirectory(prefix="graphveil-counts-"))
        os.putenv(COUNTS, counts)
        sockets = [undo.enter_context(one) for one in listening(settings)]
        doors = [internal.door(Path(counts), place) for place in range(settings.api_processes)]
        sockets_of = [(one, undo.enter_context(way)) for one, (way, _) in zip(sockets, doors, strict=True)]
        children = _Children(settings, sockets_of, counts)
        undo.callback(children.stop)
        children.start()
        registry, ways = merged(Path(counts), children.pids), [path for _, path in doors]
        undo.callback(internal.listen(settings.host, settings.metrics_port, registry, lambda: ways))
        log.info(
            "serving",
            host=settings.host,
            port=settings.port,
            metrics_port=settings.metrics_port,
            processes=len(sockets),
        )
        while not stopping.is_set():
            if children.replace_ended() and not stopping.wait(AGAIN_SECONDS):
                children.start()
            stopping.wait(0.2)


def listening(settings: Settings) -> list[socket.socket]:
    """Open a listening socket for each process. All are on the settings' address; connections spread over
    them.

    OSError when somebody else listens there, or is about to.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found: list[socket.socket] = []
    try:
        for _ in range(settings.api_processes):
            # Named as TCP: for no other does asyncio turn Nagle's algorithm off, which delays answers 40 ms.
            one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            found.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if len(found) > 1:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind((settings.host, settings.port))
            one.listen(2048)
            # The first shares its address only once it listens: two services that both shared it from the
            # start would take each other's connections.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError:
        for one in found:
            one.close()
        raise
    return found


def merged(folder: Path, pids: Callable[[], Iterable[int]]) -> CollectorRegistry:
    """Merge what all processes counted. It lies under the folder; the memory and CPU of each that runs come
    too."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))
    PlatformCollector(registry=registry)
    tell_build(registry)  # it has no counts, so that the processes' own is not among what they wrote
    registry.register(_Processes(pids))
    return registry


class _Processes(Collector):
    """The usual figures of a process, by its number on the machine."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids

    def collect(self) -> Iterable[Metric]:
        found: dict[str, Metric] = {}
        for pid in self._pids():
            for family in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                kept = found.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    kept.add_sample(sample.name, {**sample.labels, "pid": str(pid)}, sample.value)
        return found.values()


class _Children:
    """The processes. They end with their parent, however it ends.

    Each has two sockets: the public one, and the internal port's way in.
    """

    def __init__(
        self, settings: Settings, sockets: list[tuple[socket.socket, socket.socket]], counts: str
    ) -> None:
        self._settings, self._sockets, self._counts = settings, sockets, counts
        self._context = multiprocessing.get_context("spawn")
        self._running: list[BaseProcess | None] = [None] * len(sockets)
        self._alive, self._held = self._context.Pipe(duplex=False)

    def pids(self) -> list[int]:
        """Of those that run."""
        return [one.pid for one in self._running if one is not None and one.pid is not None]

    def start(self) -> None:
        """Every socket has a process."""
        for place, one in enumerate(self._running):
            if one is None:
                arguments = (self._settings, self._sockets[place], self._alive)
                self._running[place] = self._context.Process(target=_child, args=arguments)
                self._running[place].start()  # type: ignore[union-attr]

    def replace_ended(self) -> bool:
        """Replace processes that ended by themselves; tell whether any had."""
        ended = [(place, one) for place, one in enumerate(self._running) if one and not one.is_alive()]
        for place, one in ended:
            log.error("process_ended", pid=one.pid, exit_code=one.exitcode)
            mark_process_dead(one.pid, self._counts)
            self._running[place] = None
        return bool(ended)

    def stop(self) -> None:
        """None runs: they were asked to stop, and had ``DRAIN_SECONDS`` and a little to finish."""
        for listener, _ in self._sockets:
            listener.close()  # a connection that comes now is refused, not left waiting
        running = [one for one in self._running if one is not None]
        for one in running:
            one.terminate()
        ends = time.monotonic() + DRAIN_SECONDS + 5
        for one in running:
            one.join(max(0.0, ends - time.monotonic()))
            if one.is_alive():
                one.kill()
                one.join()
        self._held.close()


def _child(settings: Settings, listeners: tuple[socket.socket, socket.socket], alive: Connection) -> None:
    """Serves until it is told to stop, or its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the whole group: the parent decides
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    _serve(settings, list(listeners), DRAIN_SECONDS)


def _end_with_parent(alive: Connection) -> None:
    wait([alive])  # nothing is ever sent: it is heard when the parent's end closes
    os.kill(os.getpid(), signal.SIGTERM)
