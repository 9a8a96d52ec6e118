"""No way to the network: a filter in the kernel, which a process and all that it starts keep for good.

A generator's child shares the address of its worker, so that no rule of a network can part the two. Of
sockets it has those of the same machine (``AF_UNIX``): CUDA's driver listens on one, and what they reach is
what the worker's user may open anyway. See seccomp(2); the filter is a program of classic BPF.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import threading
from dataclasses import dataclass

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
KILL, ERROR, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000

# The numbers of these two calls are the same on every machine.
IO_URING_SETUP, PIDFD_GETFD = 425, 438
X32 = 0x40000000
"""From here on x86_64 numbers its calls a second time, for programs with short pointers."""

# Where the kernel puts what a filter looks at. The machines below are all little-endian: an int comes first.
NUMBER, AUDIT, FIRST_ARGUMENT = 0, 4, 16
LOAD, EQUAL, AT_LEAST, ANSWER = 0x20, 0x15, 0x35, 0x06

Rule = tuple[int, int, int, int]
"""An instruction: code, how many to pass over where it is met and where not, constant."""


@dataclass(frozen=True)
class Machine:
    """How a kernel's calls are told from those of others, and the numbers of some of them."""

    audit: int
    socket: int
    socketpair: int
    seccomp: int


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, socket=41, socketpair=53, seccomp=317),
    "aarch64": Machine(audit=0xC00000B7, socket=198, socketpair=199, seccomp=277),
}


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_void_p))


class _Rule(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("met", ctypes.c_ubyte),
        ("missed", ctypes.c_ubyte),
        ("constant", ctypes.c_uint),
    )


def refuse_network() -> None:
    """Refuse this process's threads, and all that it starts, sockets other than ``AF_UNIX``.

    It gets EACCES. Rings of io_uring, which open sockets without the call, are unknown (ENOSYS), and no other
    process's descriptors can be taken. Cannot be undone. Raises OSError where the machine is not known or its
    kernel cannot filter; nothing is refused then.
    """
    _install(SECCOMP_FILTER_FLAG_TSYNC)


def possible() -> bool:
    """Tell whether :func:`refuse_network` would succeed here. Tried in a thread that ends with it."""
    confined = []

    def attempt() -> None:
        try:
            _install(0)
        except OSError:
            return
        confined.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(confined)


def rules(machine: Machine) -> list[Rule]:
    """Write the filter for one machine. A call by another's numbers ends the process: none here does."""
    return [
        (LOAD, 0, 0, AUDIT),
        (EQUAL, 1, 0, machine.audit),
        (ANSWER, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 9, 0, X32),
        (EQUAL, 8, 0, IO_URING_SETUP),
        (EQUAL, 5, 0, PIDFD_GETFD),
        (EQUAL, 2, 0, machine.socket),
        (EQUAL, 1, 0, machine.socketpair),
        (ANSWER, 0, 0, ALLOW),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 1, 0, socket.AF_UNIX),
        (ANSWER, 0, 0, ERROR | errno.EACCES),
        (ANSWER, 0, 0, ALLOW),
        (ANSWER, 0, 0, ERROR | errno.ENOSYS),
    ]


def _install(flags: int) -> None:
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no filter is known for {platform.machine()}")
    made = rules(machine)
    held = (_Rule * len(made))(*(_Rule(*each) for each in made))
    program = _Filter(len(made), ctypes.cast(held, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # Without privileges the kernel takes a filter only from who can gain none any more.
    if libc.prctl(PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    call = map(ctypes.c_ulong, (machine.seccomp, SECCOMP_SET_MODE_FILTER, flags))
    done = libc.syscall(*call, ctypes.byref(program))
    if done != 0:  # above 0: the number of a thread that has a filter of its own, and keeps it
        raise OSError(ctypes.get_errno() if done < 0 else errno.EBUSY, "seccomp")
