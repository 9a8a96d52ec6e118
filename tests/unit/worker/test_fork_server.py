"""What a fork server holds before a child, what dies with what, and whose time and memory is whose."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from core.privacy.mechanisms.threads import allow, job_threads
from tests.support import children
from tests.support.children import served_by
from tests.support.faults import alive, until
from worker import sandbox, warm
from worker.child import SERVER_LOST, Child

# Every mark is sought by a pattern that does not match itself: who seeks it must not find what it looks for.
SEEK = r"""
import os, re
mark = re.compile(b"mark-[0-9a-f]{32}")
found = []
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        span, rights = line.split()[:2]
        first, last = (int(end, 16) for end in span.split("-"))
        if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vvar_vclock]", "[vsyscall]")):
            continue
        memory.seek(first)
        found += mark.findall(memory.read(last - first))
found += mark.findall(open("/proc/self/environ", "rb").read())
found += mark.findall(repr(os.environ).encode())
print(len(found))
"""
THREADS = {
    "python": "the one that forks, and the only one that a child has",
    "polars-ooc-clea": "waits for files that Polars spilled, to delete them: asleep until the first, none "
    "is spilled before a fork; what a child spills goes with its folder",
}
"""Every thread of a fork server, and why it is harmless."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "own"
    own.mkdir()
    return own


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fork server with everything loaded, whose children run the ``program`` of their folder."""
    program = "exec((folder / 'program').read_text(), {'folder': folder})"
    with served_by(program, preload=True):
        yield tmp_path_factory.mktemp("preloaded")


def printed(folder: Path, program: str) -> str:
    """What a child of the fixture's server prints that runs the program."""
    (folder / "program").write_text(textwrap.dedent(program))
    done = children.ended(folder)
    assert done.code == 0, done.output
    return done.output


def threads(pid: int) -> list[tuple[str, str]]:
    """Name and state of each thread of the process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        found.append(((task / "comm").read_text().strip(), state))
    return sorted(found)


def test_no_secret_of_the_worker_is_in_a_child(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = f"mark-{secrets.token_hex(16)}"
    monkeypatch.setenv("GRAPHVEIL_MASTER_KEY", secret)
    monkeypatch.setenv("PGPASSWORD", secret)
    assert children.planted(folder, SEEK, before="") == "0"


def test_a_secret_that_a_server_held_would_be_found(folder: Path) -> None:
    held = f"HELD = 'ma' + 'rk-{secrets.token_hex(16)}'"
    assert int(children.planted(folder, SEEK, before=held)) > 0


def test_a_child_finds_nothing_of_the_one_before_it(tmp_path: Path) -> None:
    first, second = tmp_path / f"mark-{secrets.token_hex(16)}", tmp_path / "second"
    program = f"print(folder.name)\nif folder.name == 'second':\n{textwrap.indent(SEEK, '    ')}"
    with served_by(program):
        for each in (first, second):
            each.mkdir()
            done = children.ended(each)
            assert done.code == 0, done.output
    assert done.output.split() == ["second", "0"]


def test_a_child_holds_its_pipes_and_its_output_and_no_other_descriptor(folder: Path) -> None:
    program = """
    import os
    places = {}
    for each in os.listdir("/proc/self/fd"):
        try:
            places[int(each)] = os.readlink(f"/proc/self/fd/{each}")
        except FileNotFoundError:
            pass
    for number in sorted(places):
        print(number, places[number].partition(":")[0])
    """
    with socket.socket() as mine, (folder / "secret").open("wb") as secret:
        for each in (mine, secret):
            os.set_inheritable(each.fileno(), True)
        lines = children.planted(folder, program, before="").splitlines()
    standard = ["0 /dev/null", *(f"{number} {folder / 'output'}" for number in (1, 2))]
    assert lines[:3] == standard
    assert [line.split()[1] for line in lines[3:]] == ["pipe", "pipe"]


def test_a_server_with_everything_loaded_holds_a_socket_and_no_other_descriptor(preloaded: Path) -> None:
    printed(preloaded, "")
    places = [os.readlink(each) for each in Path(f"/proc/{warm.server().pid}/fd").iterdir()]
    assert sorted(each.partition(":")[0] for each in places) == ["/dev/null"] * 3 + ["socket"]


def test_every_thread_at_the_fork_is_known_and_asleep(preloaded: Path) -> None:
    printed(preloaded, "")
    pid = warm.server().pid
    # The server itself runs for a moment still after it has forked; a thread that computes would never rest.
    until(lambda: {state for _, state in threads(pid)} == {"S"}, what="asleep")
    found = threads(pid)
    assert {name for name, _ in found} == set(THREADS)
    assert len(found) == len(THREADS)


ENGINES = """
    import numba, numpy, polars, pyarrow, pyarrow.compute, warnings
    warnings.simplefilter("ignore")  # Numba would share a lock with processes that it is forked into
    @numba.njit(parallel=True)
    def total(values):
        found = 0.0
        for i in numba.prange(values.size):
            found += values[i]
        return found
    square = numpy.ones((600, 600))
    table = polars.DataFrame({"key": numpy.arange(100_000) % 7, "value": numpy.ones(100_000)})
    counted = table.group_by("key").agg(polars.col("value").sum())["value"].sum()
    column = pyarrow.chunked_array([pyarrow.array([1.0, 2.0]), pyarrow.array([3.0])])
    found = total(numpy.ones(100_000)), (square @ square)[0, 0], counted, pyarrow.compute.sum(column)
"""
LEARNING = """
    import torch
    torch.set_num_threads(2)
    ones = torch.ones(600, 600, requires_grad=True)
    (ones @ ones).sum().backward()
    found = (*found, ones.grad[0, 0].item())
"""


COUNTED = ["100000.0", "600.0", "100000.0", "6.0"]


@pytest.mark.parametrize(
    ("program", "found"),
    [
        pytest.param(ENGINES, COUNTED, id="engine"),
        pytest.param(ENGINES + LEARNING, [*COUNTED, "1200.0"], id="and-torch", marks=pytest.mark.papers),
    ],
)
def test_pools_start_after_the_fork_and_work(program: str, found: list[str], preloaded: Path) -> None:
    tasks = 'len(os.listdir("/proc/self/task"))'
    whole = f"""
    import os
    before = {tasks}
    {program}
    print(before, *found, {tasks} > before)
    """
    assert printed(preloaded, whole).split() == ["1", *found, "True"]


def test_nothing_is_loaded_that_starts_a_gpu_or_keeps_a_generator(preloaded: Path) -> None:
    """numpy's and Python's own are begun anew; no other is kept in any module, ours or a library's."""
    program = """
    import random, sys
    import numpy, randomgen
    kinds = numpy.random.Generator, numpy.random.BitGenerator, numpy.random.RandomState, random.Random
    known = {id(numpy.random.mtrand._rand), id(random._inst)}
    kept = sorted(
        f"{name}.{held}"
        for name, module in list(sys.modules.items()) if module is not None
        for held, value in list(vars(module).items())
        if isinstance(value, kinds) and not isinstance(value, random.SystemRandom) and id(value) not in known
    )
    shared = [line for line in open("/proc/self/maps") if "rw-s" in line]
    cuda = [line for line in open("/proc/self/maps") if "libcuda" in line]
    print(kept, shared, cuda, [name for name in ("torch", "sklearn", "matplotlib") if name in sys.modules])
    print("core.publishing.release" in sys.modules, "core.methods.dcsbm.fit" in sys.modules)
    """
    assert printed(preloaded, program) == "[] [] [] []\nTrue True"


BUSY = """
import time
held = bytearray(b"x" * 150_000_000)
while time.process_time() < 0.6:
    pass
"""


def test_a_child_is_charged_for_its_own_time_and_memory(preloaded: Path) -> None:
    (preloaded / "program").write_text(BUSY)
    busy = children.ended(preloaded).used
    (preloaded / "program").write_text("")
    idle = children.ended(preloaded).used
    assert busy["cpu_seconds"] >= 0.55
    assert idle["cpu_seconds"] < 0.4
    assert busy["peak_bytes"] - idle["peak_bytes"] > 100_000_000


def test_the_memory_of_a_child_is_not_that_of_its_server(folder: Path) -> None:
    held = "HELD = bytearray(b'x' * 200_000_000)"
    program = "print('begun', flush=True)\nimport time; time.sleep(3600)"
    with served_by(program, before=held), Child("release", folder) as child:
        until(lambda: child.exit_code is None and child.pid, what="the child")
        until(lambda: (folder / "output").read_text(), what="its work")  # it grows no more
        counted = until(child.memory_bytes, what="the child's group")
        own, server = (_resident(pid) for pid in (child.pid, warm.server().pid))
    assert own <= counted + 20_000_000
    assert counted < server + own - 100_000_000


def _resident(pid: int | None) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_server_that_died_in_between_is_replaced(folder: Path) -> None:
    with served_by("print('done')"):
        assert children.ended(folder).output == "done"
        first = warm.server().pid
        os.kill(first, signal.SIGKILL)
        assert children.ended(folder).output == "done"
        assert warm.server().pid != first


def test_a_server_whose_socket_is_gone_is_replaced_though_it_still_runs(folder: Path) -> None:
    with served_by("print('done')"):
        first = warm.server()
        first._control.shutdown(socket.SHUT_RDWR)
        with mock.patch.object(warm.ForkServer, "runs", lambda server: server.fileno() >= 0):
            assert children.ended(folder).output == "done"
        assert warm.server().pid != first.pid


def test_a_server_that_dies_before_it_forked_costs_nothing(folder: Path) -> None:
    with served_by("print('done')"):
        server = warm.server()
        os.kill(server.pid, signal.SIGSTOP)
        with Child("release", folder) as child:
            assert child.exit_code is None
            os.kill(server.pid, signal.SIGKILL)
            code = until(lambda: None if child.exit_code is None else [child.exit_code], what="the end")
    assert code == [0]
    assert (folder / "output").read_text() == "done\n"


def test_a_server_that_dies_takes_its_child_along_and_says_so(folder: Path) -> None:
    program = "print('begun', flush=True)\nimport time; time.sleep(60)"
    with served_by(program), Child("release", folder) as child:
        until(lambda: child.exit_code is None and child.pid, what="the child")
        until(lambda: (folder / "output").read_text(), what="its work")
        os.kill(warm.server().pid, signal.SIGKILL)
        assert until(lambda: child.exit_code, what="the loss") == SERVER_LOST
        until(lambda: not alive(child.pid or 0), what="the end of the child")


def _lost(folder: Path) -> bool:
    try:
        return children.ended(folder).code == SERVER_LOST
    except warm.ServerLost:
        return True


def test_a_server_that_never_starts_is_told_from_a_child_that_failed(folder: Path) -> None:
    with mock.patch.object(warm, "COMMAND", (sys.executable, "-c", "")):
        assert _lost(folder)
        warm.stop()


def test_a_child_that_is_killed_before_it_is_there_leaves_nothing(folder: Path) -> None:
    with served_by("print('worked')"):
        server = warm.server()
        os.kill(server.pid, signal.SIGSTOP)
        with mock.patch.object(warm.ForkServer, "reap") as reaped, Child("release", folder):
            pass
        assert not reaped.called, "a server that stands still was waited for"
        assert not alive(server.pid)
    assert (folder / "output").read_text() == ""


def test_a_child_is_named_after_its_work(folder: Path) -> None:
    assert children.planted(folder, "print(open('/proc/self/comm').read())") == "child-release"


def test_a_child_computes_on_as_many_threads_as_its_order_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setitem(sandbox.KINDS, "release", lambda *_: seen.append(job_threads()))
    try:
        for count in (3, 1):
            events, answers = os.pipe(), os.pipe()
            line = Child("release", folder, threads=count)._order()
            os.write(answers[1], json.dumps(line).encode() + b"\n")
            channel = sandbox.Channel(events[1], answers[0])
            assert sandbox.work(channel.order(), channel) == 0
    finally:
        allow(1)
    assert seen == [3, 1]
