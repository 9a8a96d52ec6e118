"""One child process: started in a session of its own, spoken to over two pipes, killed as a group."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.errors import PrivacyViolation
from worker.limits import child_environment, group_memory_bytes

MAX_LINE_BYTES = 64 * 2**20
READ_BYTES = 2**20  # what a pipe may hold at most
DEATH_SECONDS = 5.0


class Child:
    """``python -m worker.sandbox KIND FOLDER`` as a context: when it is left, nothing of the group runs.

    The child writes JSON lines to one pipe; each ``meter`` line waits for its answer on the other. What it
    prints goes to a file in its folder, which is deleted with it and read by nobody.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._buffer = bytearray()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        events_read, events_write = os.pipe()
        answers_read, answers_write = os.pipe()
        os.set_blocking(events_read, False)
        os.set_blocking(answers_write, False)  # a child must not be able to block its supervisor
        command = [
            *(sys.executable, "-m", "worker.sandbox", self._kind, str(self._folder)),
            *("--events", str(events_write), "--answers", str(answers_read), "--parent", str(os.getpid())),
        ]
        try:
            with (self._folder / "output").open("wb") as output:
                self.process = subprocess.Popen(
                    command,
                    env=child_environment(self._folder),
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(events_write, answers_read),
                    start_new_session=True,
                )
        except BaseException:
            os.close(events_read)
            os.close(answers_write)
            raise
        finally:
            os.close(events_write)
            os.close(answers_read)
        self._events, self._answers = events_read, answers_write
        self._selector.register(events_read, selectors.EVENT_READ)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._selector.close()
        os.close(self._events)
        os.close(self._answers)

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while the child runs, negative when a signal ended it."""
        return self.process.poll()

    def memory_bytes(self) -> int:
        """Measure what the whole group holds in memory."""
        return group_memory_bytes(self.process.pid)

    def messages(self, timeout_seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the messages that are there, after waiting for the first at most so long.

        Raises PrivacyViolation for what is no message: nothing that speaks otherwise may read on.
        """
        for _ in self._selector.select(timeout_seconds):
            # One pipe's worth at a time: a child that writes without end must not keep its supervisor from
            # checking the deadline. A child that has ended leaves no more than that in the pipe.
            self._buffer += self._read()
            yield from self._lines()

    def answer(self, message: dict[str, Any]) -> None:
        """Write the line to the child, unless it is gone. PrivacyViolation if it never reads its answers."""
        try:
            os.write(self._answers, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            return  # it has ended; its exit code tells why
        except BlockingIOError as error:
            raise PrivacyViolation("the child asks on without waiting for its answers") from error

    def kill(self) -> None:
        """Kill every process of the group."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        finally:
            self.process.wait()
        deadline = time.monotonic() + DEATH_SECONDS
        while self.memory_bytes() and time.monotonic() < deadline:  # the others of the group die on their own
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
