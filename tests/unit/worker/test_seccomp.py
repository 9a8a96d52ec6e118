"""A child's way to the network: none, whatever it, its threads or its own children try; the filter."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.settings import Settings
from tests.support import children
from tests.support.children import planted
from tests.support.logged import events
from tests.support.patience import PATIENCE_SECONDS
from worker import calls, seccomp
from worker.preflight import may_work

X32 = 0x40000000
ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def refused(code: int) -> int:
    """What the kernel is told to answer with an error."""
    return 0x00050000 | code


TRY = """
import socket
def answer(family, kind=socket.SOCK_STREAM, ask=socket.socket):
    try:
        ask(family, kind)
    except OSError as error:
        return error.errno
    return 0
"""


def test_a_child_opens_no_socket_of_any_network(tmp_path: Path) -> None:
    program = f"""
    {textwrap.indent(TRY, "    ").strip()}
    families = list(socket.AddressFamily)
    kinds = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
    print(len(families) > 20, {{answer(family, kind) for family in families for kind in kinds}})
    """
    assert planted(tmp_path, program) == f"True { ({errno.EACCES}) }"


def test_a_child_cannot_reach_a_server_that_its_supervisor_can(tmp_path: Path) -> None:
    program = """
    import socket, sys
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=5)
    except PermissionError:
        print("refused")
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        assert planted(tmp_path, program.format(port=port)) == "refused"


def test_processes_of_one_child_may_still_talk_to_each_other(tmp_path: Path) -> None:
    program = f"""
    {textwrap.indent(TRY, "    ").strip()}
    one, other = socket.socketpair()
    one.sendall(b"heard")
    print(other.recv(5).decode(), answer(socket.AF_TIPC, ask=socket.socketpair))
    """
    assert planted(tmp_path, program) == f"heard {errno.EACCES}"


def test_threads_and_grandchildren_are_confined_too(tmp_path: Path) -> None:
    program = f"""
    import subprocess, sys, threading
    {textwrap.indent(TRY, "    ").strip()}
    found = []
    later = threading.Thread(target=lambda: found.append(answer(socket.AF_INET)))
    later.start()
    later.join()
    ask = "import socket\\ntry: socket.socket()\\nexcept OSError as error: print(error.errno)"
    found.append(int(subprocess.run([sys.executable, "-c", ask], capture_output=True).stdout or 0))
    print(found)
    """
    assert planted(tmp_path, program) == str([errno.EACCES, errno.EACCES])


def test_a_thread_that_ran_before_is_confined_with_the_others() -> None:
    script = """
    import socket, threading
    from worker import seccomp
    ready, found = threading.Event(), []
    def early():
        ready.wait()
        try:
            socket.socket()
        except OSError as error:
            found.append(error.errno)
    thread = threading.Thread(target=early)
    thread.start()
    seccomp.confine(gpu=False)
    ready.set()
    thread.join()
    print(found)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.stdout.strip() == str([errno.EACCES]), done.stderr


@pytest.mark.faults
def test_the_libraries_of_a_release_compute_with_all_their_threads(tmp_path: Path) -> None:
    program = """
    import asyncio, multiprocessing, warnings
    warnings.simplefilter("ignore")  # Numba would share a lock with processes that it is forked into
    import numba, numpy, pyarrow, pyarrow.compute, torch
    @numba.njit(parallel=True)
    def total(values):
        found = 0.0
        for i in numba.prange(values.size):
            found += values[i]
        return found
    torch.set_num_threads(2)
    ones = torch.ones(600, 600, requires_grad=True)
    (ones @ ones).sum().backward()
    async def soon():
        await asyncio.sleep(0)
        return 4
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    context.Process(target=there.send, args=(5,)).start()
    five = here.recv()
    table = pyarrow.chunked_array([pyarrow.array([1.0, 2.0]), pyarrow.array([3.0])])
    summed = total(numpy.ones(100_000)), ones.grad[0, 0].item(), pyarrow.compute.sum(table)
    print(*summed, asyncio.run(soon()), five)
    """
    assert planted(tmp_path, program) == "100000.0 1200.0 6.0 4 5"


def test_asking_whether_a_child_can_be_confined_confines_nobody() -> None:
    assert seccomp.possible()
    with socket.socket() as still:
        assert still.family == socket.AF_INET


EVERY_MACHINE = pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
STREAM, DATAGRAMS, PACKETS = 1, 2, 5
ON_OPENING = 0x80800
"""Bits of a socket's type that say how it is opened."""


@EVERY_MACHINE
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize(
    "family", [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 0, 2**31]
)
@pytest.mark.parametrize("kind", [STREAM, DATAGRAMS, 3, PACKETS, 10, 0, PACKETS | ON_OPENING])
def test_on_every_machine_sockets_are_known_by_what_is_asked_of_them(
    machine: seccomp.Machine, gpu: bool, family: int, kind: int
) -> None:
    """A pair that is connected for good, and with a GPU what CUDA's driver listens on; no other one."""
    rules, plain = seccomp.rules(machine, gpu=gpu), kind & ~ON_OPENING
    pair = family == socket.AF_UNIX and plain in (STREAM, PACKETS)
    listening = gpu and family == socket.AF_UNIX and plain == PACKETS
    for name, allowed in (("socketpair", pair), ("socket", listening)):
        call = calls.number(name, machine.column)
        assert judged(rules, machine.audit, call, family, kind) == (
            ALLOWED if allowed else refused(errno.EACCES)
        )


@EVERY_MACHINE
@pytest.mark.parametrize("gpu", [False, True])
def test_on_every_machine_the_list_is_allowed_and_nothing_else(machine: seccomp.Machine, gpu: bool) -> None:
    rules, allowed = seccomp.rules(machine, gpu=gpu), calls.allowed(machine.column, gpu)
    by_argument = {calls.number(name, machine.column) for name in calls.BY_ARGUMENT}
    for call in {*range(1_000), 2**31, 2**32 - 1} - by_argument:
        expected = ALLOWED if call in allowed else refused(errno.ENOSYS)
        assert judged(rules, machine.audit, call, 0) == expected, call


@EVERY_MACHINE
def test_on_every_machine_threads_and_processes_start_without_a_namespace(machine: seccomp.Machine) -> None:
    rules = seccomp.rules(machine, gpu=False)
    clone, limits = (calls.number(name, machine.column) for name in ("clone", "prlimit64"))
    thread, fork = 0x3D0F00, 0x1200011
    for flags in (thread, fork, 0x4111, 0x7F00 | 17):
        assert judged(rules, machine.audit, clone, flags) == ALLOWED
        for space in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
            assert judged(rules, machine.audit, clone, flags | space) == refused(errno.ENOSYS)
    assert judged(rules, machine.audit, limits, 0) == ALLOWED
    for process in (1, 4_000, 2**32 - 1):
        assert judged(rules, machine.audit, limits, process) == refused(errno.ENOSYS)


@EVERY_MACHINE
def test_calls_in_the_tongue_of_another_machine_get_nowhere(machine: seccomp.Machine) -> None:
    """On x86_64 those of 32 bits: by another number the same kernel opens sockets, too."""
    rules = seccomp.rules(machine, gpu=True)
    i386, arm = 0x40000003, 0x40000028
    others = {i386, arm, *(each.audit for each in seccomp.MACHINES.values())} - {machine.audit}
    for audit in others:
        for call in (0, 41, 198, 102, 359, 281):
            assert judged(rules, audit, call, socket.AF_UNIX, PACKETS) == KILLED
    for call in (X32, X32 | 1, X32 | 41, X32 | machine.seccomp, 0xFFFFFFFF):
        assert judged(rules, machine.audit, call, socket.AF_UNIX, PACKETS) == refused(errno.ENOSYS)


def test_a_machine_that_the_filter_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert not seccomp.possible()
    with pytest.raises(OSError, match="riscv64"):
        seccomp.confine(gpu=False)


def test_a_kernel_that_cannot_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that no kernel knows stands for a kernel without the call."""
    without = {
        name: seccomp.Machine(each.column, each.audit, seccomp=5_000)
        for name, each in seccomp.MACHINES.items()
    }
    monkeypatch.setattr(seccomp, "MACHINES", without)
    assert not seccomp.possible()
    with capture_logs() as lines:
        assert not may_work(Settings())
    assert events(lines, "worker.preflight") == ["not_started"]
    assert "kernel" in lines[0]["message"]


def test_a_child_that_cannot_be_confined_does_no_work(tmp_path: Path) -> None:
    with children.served_by("print('worked')", before="seccomp.MACHINES.clear()"):
        done = children.ended(tmp_path)
    assert done.code not in (0, None)
    assert "no filter is known" in done.output
    assert "worked" not in done.output.splitlines()


def judged(rules: list[seccomp.Rule], audit: int, call: int, first: int, second: int = 0) -> int:
    """What the kernel would do: its own reading of a filter, of those instructions that are used."""
    held = {0: call, 4: audit, 16: first, 24: second}
    at, value = 0, 0
    while True:
        code, met, missed, constant = rules[at]
        at += 1
        match code:
            case 0x20:
                value = held[constant]
            case 0x54:
                value &= constant
            case 0x15:
                at += met if value == constant else missed
            case 0x35:
                at += met if value >= constant else missed
            case 0x45:
                at += met if value & constant else missed
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"no instruction of this filter: {code:#x}")
