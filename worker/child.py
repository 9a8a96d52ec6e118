"""One child process. It is a fork in a session of its own, spoken to over two pipes, killed as a group."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.errors import PrivacyViolation
from worker import warm
from worker.limits import group_memory_bytes, group_runs
from worker.own_gpu import Gpu

MAX_LINE_BYTES = 64 * 2**20
READ_BYTES = 2**20  # what a pipe may hold at most
DEATH_SECONDS = 5.0
MOST_STARTS = 2
"""How often a child is asked for whose fork server dies before it is there."""
SERVER_LOST = 1_000
"""Stands for an exit code where the fork server died under the child, which the kernel kills then."""


class Child:
    """A fork that does work of a kind in a folder. It is a context: when it is left, nothing of the group
    runs.

    The child writes JSON lines to one pipe; each ``meter`` line waits for its answer on the other, whose
    first line says what to do. What it prints goes to a file in its folder, which is deleted with it and read
    by nobody. ``gpu``: the one that it sees, if any. ``threads``: on how many it computes. ``pid`` is its
    process id, once it is known; ``used`` its own CPU time and memory, once it has been killed.
    """

    def __init__(self, kind: str, folder: Path, gpu: Gpu | None = None, threads: int = 1) -> None:
        self._kind, self._folder, self._gpu, self._threads = kind, folder, gpu, threads
        self._buffer = bytearray()
        self._selector = selectors.DefaultSelector()
        self._starts = 0
        self._server: warm.ForkServer | None = None
        self._code: int | None = None
        self.pid: int | None = None
        self.used: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._start()
        return self

    def _start(self) -> None:
        """Ask this thread's fork server for the child, which is there once it has told its process id.

        The server may still be loading libraries: meanwhile the supervisor looks at the lease and the time.
        """
        while True:
            self._starts += 1
            server = warm.server()
            events_read, events_write = os.pipe()
            answers_read, answers_write = os.pipe()
            os.set_blocking(events_read, False)
            os.set_blocking(answers_write, False)  # a child must not be able to block its supervisor
            try:
                os.write(answers_write, _line(self._order()))
                with (self._folder / "output").open("wb") as output:
                    server.fork((events_write, answers_read, output.fileno()))
            except BaseException as error:
                os.close(events_read)
                os.close(answers_write)
                if not isinstance(error, warm.ServerLost) or self._starts >= MOST_STARTS:
                    raise
                server.stop()  # its socket is gone, but the kernel may not have it dead yet
            else:
                break
            finally:
                os.close(events_write)
                os.close(answers_read)
        self._close()
        self._server, self._events, self._answers = server, events_read, answers_write
        for each in (events_read, server):
            self._selector.register(each, selectors.EVENT_READ)

    def _order(self) -> dict[str, Any]:
        """What the child is to do, on how many threads, and on which GPU, if any."""
        order: dict[str, Any] = {"kind": self._kind, "folder": str(self._folder), "threads": self._threads}
        return order if self._gpu is None else order | {"gpu": asdict(self._gpu)}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._close()
        self._selector.close()

    def _close(self) -> None:
        for each in list(self._selector.get_map()):
            self._selector.unregister(each)
        if self._server is not None:
            os.close(self._events)
            os.close(self._answers)
        self._server = None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code. None while the child runs, negative when a signal ended it, or
        SERVER_LOST."""
        try:
            self._listen()
        except warm.ServerLost:
            if self.pid is None and self._starts < MOST_STARTS:
                assert self._server is not None
                self._server.stop()
                self._start()  # nothing was begun
            else:
                return SERVER_LOST if self._code is None else self._code
        return self._code

    def _listen(self) -> None:
        """Take in what the fork server tells. ServerLost."""
        assert self._server is not None
        for message in self._server.heard():
            match message:
                case {"pid": int(pid)}:
                    self.pid = pid
                case {"ended": int(code)}:
                    self._code = code

    def memory_bytes(self) -> int:
        """Measure what the whole group holds in memory. What it shares with the server is part of it."""
        return 0 if self.pid is None else group_memory_bytes(self.pid)

    def messages(self, timeout_seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the messages that are there. It waits for the first at most so long.

        Raises PrivacyViolation for what is no message: nothing that speaks otherwise may read on.
        """
        for ready, _ in self._selector.select(timeout_seconds):
            if ready.fd != self._events:
                continue  # how the child ended, which is asked for next
            # One pipe's worth at a time: a child that writes without end must not keep its supervisor from
            # checking the deadline. A child that has ended leaves no more than that in the pipe.
            self._buffer += self._read()
            yield from self._lines()

    def answer(self, message: dict[str, Any]) -> None:
        """Write the line to the child, unless it is gone. PrivacyViolation if it never reads its answers."""
        try:
            os.write(self._answers, _line(message))
        except BrokenPipeError:
            return  # it has ended; its exit code tells why
        except BlockingIOError as error:
            raise PrivacyViolation("the child asks on without waiting for its answers") from error

    def kill(self) -> None:
        """Kill every process of the group."""
        assert self._server is not None
        with suppress(warm.ServerLost):
            self._listen()  # its process id may just have come
        if self.pid is None:
            self._server.stop()  # and with it a child that has not told itself
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        try:
            self.used = self._server.reap()
        except warm.ServerLost:
            self._server.stop()
        deadline = time.monotonic() + DEATH_SECONDS
        while (
            group_runs(self.pid) and time.monotonic() < deadline
        ):  # the others of the group die on their own
            time.sleep(0.01)

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._events, READ_BYTES)
        except BlockingIOError:
            return b""
        if not chunk:
            self._selector.unregister(self._events)
        return chunk

    def _lines(self) -> Iterator[dict[str, Any]]:
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            try:
                message = json.loads(line)
            except ValueError as error:
                raise PrivacyViolation("the child sent no JSON") from error
            if not isinstance(message, dict):
                raise PrivacyViolation("the child sent no message")
            yield message
        if len(self._buffer) > MAX_LINE_BYTES:
            raise PrivacyViolation("the child's message has no end")


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
