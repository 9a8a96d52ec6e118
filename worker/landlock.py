"""A child's view of the files. It has its own folder, and what programs and libraries are read from.

The kernel's Landlock, which needs no privileges: a process gives up what it does not name, for itself and all
that it starts, for good. What is open already stays open. The secrets of the service, the folders of other
jobs and the environment of other processes are out of reach then, whoever owns them, and so are signals to
processes that were there before. See landlock(7).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# The numbers of these calls are the same on every machine.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION, PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG, REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (7, 8, 13, 14, 15))
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
"""Files and folders, nothing else. No symbolic link: whoever reads what a child left must not be led where it
could not go. No device, which is as good as the one in ``/dev`` to who may make it; no pipe, no socket."""
ABSTRACT_SOCKETS, SIGNALS = 1 << 0, 1 << 1

KNOWN_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version of Landlock knows; later ones know as many as the last."""
FIRST_WITH_NETWORK, FIRST_WITH_SCOPES = 4, 6

READABLE = (
    *("/usr", "/lib", "/lib64", "/bin", "/etc", "/sys", "/proc/self", "/proc/sys", "/proc/driver"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/version", "/proc/loadavg"),
    *("/proc/devices", "/proc/modules", "/proc/mounts"),
)
"""What libraries look at to know their machine; no process's but the child's own."""


HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that hold nothing. Where Landlock knows ioctl, from its version 5, not even these take any."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Get the version of the kernel's Landlock. It counts from 1; 0 where there is none, or it is off."""
    return max(0, _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION)))


@dataclass(frozen=True)
class Surroundings:
    """What a child needs besides the machine's own files.

    ``folder`` is its own. ``root`` holds the packages ``core`` and ``worker``. ``kernels`` are compiled
    kernels beside those shipped with the code: read alone, as code is. ``libraries``: folders of shared ones.
    ``devices``: a GPU's files, which are also spoken to (ioctl); no other device is but the harmless ones.
    Shared memory (``/dev/shm``) goes with them: without a GPU there is none.
    """

    folder: Path
    root: Path
    kernels: Path
    libraries: Sequence[Path] = ()
    devices: Sequence[Path] = ()


def confine_to(given: Surroundings) -> bool:
    """Let this process write below its folder only. It reads that, programs and libraries.

    False where the kernel has no Landlock: nothing is refused then. Raises
    OSError where it has one that does not do it, and where a second thread runs, which would stay as it was.
    """
    known = version()
    if not known:
        return False
    if len(os.listdir("/proc/self/task")) != 1:
        raise OSError("a thread is running that Landlock would not confine")
    everything = (1 << KNOWN_RIGHTS[min(known, max(KNOWN_RIGHTS))]) - 1
    asked = _Ruleset(everything, 0, ABSTRACT_SOCKETS | SIGNALS)
    size = 24 if known >= FIRST_WITH_SCOPES else 16 if known >= FIRST_WITH_NETWORK else 8
    rules = _checked(_call(CREATE_RULESET, ctypes.byref(asked), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for path, rights in allowed(given):
            _allow(rules, path, rights & everything)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        _checked(_call(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)))
    finally:
        os.close(rules)
    return True


def allowed(given: Surroundings) -> Iterator[tuple[Path, int]]:
    """List each path that a child may use, and how. Modules are located by listing ``root``; code is read."""
    root = given.root
    yield given.folder, WRITE
    yield root, READ_DIR
    libraries = {Path(each) for each in (sys.prefix, sys.base_prefix, *sys.path) if each}
    ours = (root / "core", root / "papers", root / "worker", given.kernels)
    code = (*ours, *sorted(libraries - {root}), *given.libraries)
    version = (root / "pyproject.toml", *root.glob("*.egg-info"))  # what core.version looks at
    for path in (*map(Path, READABLE), *code, *version):
        yield path, READ
    for path in map(Path, HARMLESS):
        yield path, READ_FILE | WRITE_FILE
    for path in given.devices:
        yield path, READ_FILE | WRITE_FILE | IOCTL_DEV
    if given.devices:
        yield Path("/dev"), READ_DIR
        yield Path("/dev/shm"), WRITE & ~EXECUTE  # where CUDA's driver keeps files


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        held = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # not on this machine
    try:
        if not path.is_dir():
            rights &= ON_FILES
        rule = _Beneath(rights, held)
        call = (ctypes.c_int(rules), ctypes.c_int(PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
        _checked(_call(ADD_RULE, *call))
    finally:
        os.close(held)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _checked(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return answer
