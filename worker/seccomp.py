"""What a child may request of the kernel. It is a filter, which a process and all that it starts keep for
good.

A list of what is allowed (:mod:`worker.calls`); all else is unknown to the child. A generator's child shares
the address of its worker, so that no rule of a network can part the two: it opens no socket of any kind, and
of pairs of sockets only those that are connected for good. See seccomp(2); the filter is a program of classic
BPF.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from worker import calls

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
KILL, ERROR, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
UNKNOWN, REFUSED = ERROR | errno.ENOSYS, ERROR | errno.EACCES

NAMESPACES = 0x7E020000
"""Flags of ``clone`` that put the new process into a namespace of its own; no other flag has these bits."""
SOCKET_KIND = 0xF
"""What of a socket's type says its kind; the other bits say how it is opened."""

# Where the kernel puts what a filter looks at. The machines below are all little-endian: an int comes first.
NUMBER, AUDIT, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06

Rule = tuple[int, int, int, int]
"""An instruction: code, how many to pass over where it is met and where not, constant."""


@dataclass(frozen=True)
class Machine:
    """How a kernel's calls are distinguished. ``column`` is that of their numbers."""

    column: int
    audit: int
    seccomp: int


MACHINES = {
    "x86_64": Machine(column=0, audit=0xC000003E, seccomp=317),
    "aarch64": Machine(column=1, audit=0xC00000B7, seccomp=277),
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


def confine(*, gpu: bool) -> None:
    """Allow this process only the calls of the list. Its threads and all that it starts are allowed no
    others, too.

    A call that is not on it is unknown (ENOSYS); sockets are refused (EACCES). ``gpu``: CUDA's driver, too,
    has to start. Cannot be undone. Raises OSError where the machine is not known or its kernel cannot filter;
    nothing is refused then.
    """
    _install(SECCOMP_FILTER_FLAG_TSYNC, gpu)


def possible() -> bool:
    """Tell whether :func:`confine` would succeed here. Tried in a thread that ends with it."""
    confined = []

    def attempt() -> None:
        try:
            _install(0, gpu=False)
        except OSError:
            return
        confined.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(confined)


def rules(machine: Machine, *, gpu: bool) -> list[Rule]:
    """Write the filter for one machine. A call by another's numbers ends the process: none here does."""
    return [
        (LOAD, 0, 0, AUDIT),
        (EQUAL, 1, 0, machine.audit),
        (ANSWER, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        *_by_argument("clone", machine, [(ANY_BIT, 0, 1, NAMESPACES), (ANSWER, 0, 0, UNKNOWN)]),
        # Limits are the process's own: 0 names it.
        *_by_argument("prlimit64", machine, [(EQUAL, 1, 0, 0), (ANSWER, 0, 0, UNKNOWN)]),
        *_by_argument("socketpair", machine, _of_kind(socket.SOCK_STREAM, socket.SOCK_SEQPACKET)),
        *_by_argument(
            "socket", machine, _of_kind(socket.SOCK_SEQPACKET) if gpu else [(ANSWER, 0, 0, REFUSED)]
        ),
        *_listed(calls.allowed(machine.column, gpu)),
    ]


def _by_argument(name: str, machine: Machine, judge: list[Rule]) -> list[Rule]:
    """Judge a call by its first argument; it is allowed where the rules come to their end."""
    judged = [(LOAD, 0, 0, FIRST_ARGUMENT), *judge, (ANSWER, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(judged), calls.number(name, machine.column)), *judged]


def _of_kind(*kinds: int) -> list[Rule]:
    """Refuse sockets other than those of this machine, and of a kind that speaks to one other alone."""
    return [
        (EQUAL, 1, 0, socket.AF_UNIX),
        (ANSWER, 0, 0, REFUSED),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (AND, 0, 0, SOCKET_KIND),
        *((EQUAL, len(kinds) - at, 0, kind) for at, kind in enumerate(kinds)),
        (ANSWER, 0, 0, REFUSED),
    ]


def _listed(numbers: set[int]) -> Iterator[Rule]:
    """Allow these calls, and no other. They come in runs, so that a jump need not pass over them all."""
    for first, last in _runs(numbers):
        yield (AT_LEAST, 3, 0, last + 1)
        yield (AT_LEAST, 1, 0, first)
        yield (ANSWER, 0, 0, UNKNOWN)
        yield (ANSWER, 0, 0, ALLOW)
    yield (ANSWER, 0, 0, UNKNOWN)


def _runs(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of numbers without a gap, in order."""
    first = last = min(numbers)
    for number in sorted(numbers - {first}):
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _install(flags: int, gpu: bool) -> None:
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no filter is known for {platform.machine()}")
    made = rules(machine, gpu=gpu)
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
