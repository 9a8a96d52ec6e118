"""Children whose work a test writes: forked from a server such as a worker's, confined as every child."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.faults import children_of, until
from tests.support.patience import PATIENCE_SECONDS
from worker import warm
from worker.child import Child

FAILS = '''
def fails(action, *given):
    """The number of the error that the action raises; 0 for none."""
    try:
        action(*given)
    except OSError as error:
        return error.errno
    return 0
'''
"""For programs that try what a child may not."""


def server(program: str, before: str = "") -> tuple[str, ...]:
    """The command of a fork server whose releases are the program; ``before`` is run ahead of its start."""
    script = f"import sys; from worker import fork_server, sandbox, seccomp\n{textwrap.dedent(before)}\n"
    script += (
        f"def work(folder, channel):\n{textwrap.indent(textwrap.dedent(program), '    ') or '    pass'}\n"
    )
    script += "sandbox.KINDS['release'] = work; sys.exit(fork_server.main())"
    return (sys.executable, "-c", script)


KEPT = server("exec((folder / 'program').read_text(), {**globals(), 'folder': folder, 'channel': channel})")
"""A server whose children do what their folder says: it serves one after the other, as a worker's does."""


@contextmanager
def at_work(folder: Path, program: str) -> Iterator[None]:
    """This thread's children in the folder do the program's work; their server stays for the next ones."""
    (folder / "program").write_text(textwrap.dedent(program))
    with mock.patch.object(warm, "COMMAND", KEPT):
        yield


@contextmanager
def served_by(program: str, before: str = "", preload: bool = False) -> Iterator[None]:
    """This thread's children do the program's work, forks of a server that is started for it."""
    command = server(program, before) + (("--preload",) if preload else ())
    with mock.patch.object(warm, "COMMAND", command):
        try:
            yield
        finally:
            warm.stop()


@dataclass
class Ended:
    """How a child ended; ``output`` is what it printed, ``used`` what it used."""

    code: int
    output: str
    used: dict[str, Any] = field(default_factory=dict)


def ended(folder: Path) -> Ended:
    """A child did its work in the folder."""
    with Child("release", folder) as child:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (code := child.exit_code) is None:
            assert time.monotonic() < deadline, "the child did not end"
            for _ in child.messages(0.1):
                pass
    return Ended(code, (folder / "output").read_text().strip(), child.used)


def planted(folder: Path, program: str, before: str | None = None) -> str:
    """What the program prints as the work of a child; ``before`` is run ahead of a server of its own."""
    with at_work(folder, program) if before is None else served_by(program, before):
        done = ended(folder)
    assert done.code == 0, done.output
    return done.output


def server_of(worker: int) -> int:
    """The process id of a worker's fork server."""
    return until(lambda: [each for each in children_of(worker) if _serves(each)], what="a fork server")[0]


def child_of(worker: int) -> int:
    """The process id of the child that works for the worker."""
    return until(lambda: children_of(server_of(worker)), what="the start of the child")[0]


def _serves(pid: int) -> bool:
    try:
        return b"worker.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
