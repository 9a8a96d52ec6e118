"""A child's way to the network: none, whatever it, its threads or its own children try."""

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
from worker import seccomp
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
    families = [family for family in socket.AddressFamily if family != socket.AF_UNIX]
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
    print(other.recv(5).decode(), answer(socket.AF_UNIX), answer(socket.AF_TIPC, ask=socket.socketpair))
    """
    assert planted(tmp_path, program) == f"heard 0 {errno.EACCES}"


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
    from worker.seccomp import refuse_network
    ready, found = threading.Event(), []
    def early():
        ready.wait()
        try:
            socket.socket()
        except OSError as error:
            found.append(error.errno)
    thread = threading.Thread(target=early)
    thread.start()
    refuse_network()
    ready.set()
    thread.join()
    print(found)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == str([errno.EACCES]), done.stderr


def test_what_opens_or_takes_sockets_without_the_call_is_refused(tmp_path: Path) -> None:
    """A ring of io_uring opens sockets itself; of another process one can be taken by its number."""
    program = """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 8, parameters), ctypes.get_errno()
    own = os.pidfd_open(os.getpid())
    taken = libc.syscall(438, own, 1, 0), ctypes.get_errno()
    print(ring, taken)
    """
    assert planted(tmp_path, program) == f"{(-1, errno.ENOSYS)} {(-1, errno.EACCES)}"


def test_the_libraries_of_a_release_compute_with_all_their_threads(tmp_path: Path) -> None:
    program = """
    import asyncio, multiprocessing, threading
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
    with multiprocessing.get_context("fork").Pool(1) as pool:
        five = pool.apply(int, ("5",))
    table = pyarrow.chunked_array([pyarrow.array([1.0, 2.0]), pyarrow.array([3.0])])
    summed = total(numpy.ones(100_000)), ones.grad[0, 0].item(), pyarrow.compute.sum(table)
    print(*summed, asyncio.run(soon()), five)
    """
    assert planted(tmp_path, program) == "100000.0 1200.0 6.0 4 5"


def test_asking_whether_a_child_can_be_confined_confines_nobody() -> None:
    assert seccomp.possible()
    with socket.socket() as still:
        assert still.family == socket.AF_INET


@pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 0, 2**31])
def test_on_every_machine_the_filter_knows_its_own_calls(machine: seccomp.Machine, family: int) -> None:
    rules = seccomp.rules(machine)
    for call in (machine.socket, machine.socketpair):
        assert judged(rules, machine.audit, call, family) == refused(errno.EACCES)
        assert judged(rules, machine.audit, call, socket.AF_UNIX) == ALLOWED
    assert judged(rules, machine.audit, seccomp.PIDFD_GETFD, family) == refused(errno.EACCES)
    assert judged(rules, machine.audit, seccomp.IO_URING_SETUP, family) == refused(errno.ENOSYS)
    for other in {0, 1, 2, 40, 42, 54, 197, 200, 424, 426, 439} - {machine.socket, machine.socketpair}:
        assert judged(rules, machine.audit, other, family) == ALLOWED


@pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
def test_calls_in_the_tongue_of_another_machine_get_nowhere(machine: seccomp.Machine) -> None:
    """On x86_64 those of 32 bits: by another number the same kernel opens sockets, too."""
    rules = seccomp.rules(machine)
    i386, arm = 0x40000003, 0x40000028
    others = {i386, arm, *(each.audit for each in seccomp.MACHINES.values())} - {machine.audit}
    for audit in others:
        for call in (0, machine.socket, 102, 359, 281):
            assert judged(rules, audit, call, socket.AF_INET) == KILLED
    for call in (X32, X32 | machine.socket, X32 | machine.seccomp, 0xFFFFFFFF):
        assert judged(rules, machine.audit, call, socket.AF_INET) == refused(errno.ENOSYS)


def test_a_machine_that_the_filter_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert not seccomp.possible()
    with pytest.raises(OSError, match="riscv64"):
        seccomp.refuse_network()


def test_a_kernel_that_cannot_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that no kernel knows stands for a kernel without the call."""
    without = {
        name: seccomp.Machine(each.audit, each.socket, each.socketpair, 5_000)
        for name, each in seccomp.MACHINES.items()
    }
    monkeypatch.setattr(seccomp, "MACHINES", without)
    assert not seccomp.possible()
    with capture_logs() as lines:
        assert not may_work(Settings())
    assert [line["event"] for line in lines] == ["not_started"]
    assert "kernel" in lines[0]["message"]


def test_a_child_that_cannot_be_confined_does_no_work(tmp_path: Path) -> None:
    with children.served_by("print('worked')", before="seccomp.MACHINES.clear()"):
        done = children.ended(tmp_path)
    assert done.code not in (0, None)
    assert "no filter is known" in done.output
    assert "worked" not in done.output.splitlines()


def judged(rules: list[seccomp.Rule], audit: int, call: int, argument: int) -> int:
    """What the kernel would do: its own reading of a filter, of those instructions that are used."""
    held = {0: call, 4: audit, 16: argument}
    at, value = 0, 0
    while True:
        code, met, missed, constant = rules[at]
        at += 1
        match code:
            case 0x20:
                value = held[constant]
            case 0x15:
                at += met if value == constant else missed
            case 0x35:
                at += met if value >= constant else missed
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"no instruction of this filter: {code:#x}")
