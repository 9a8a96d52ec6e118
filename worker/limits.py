"""What a child process may use, and how much it uses."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.kernels.folders import own as own_kernels
from worker import landlock, seccomp

PROCESS_NAME = "child-"
"""How the name of a child's process begins, as ``ps -o comm`` shows it; its kind of work follows."""
MAX_PROCESS_NAME = 15
OPEN_FILES = 1024
PR_SET_PDEATHSIG = 1
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROCESSES = Path("/proc")
STATE, GROUP, RESIDENT_PAGES = 0, 2, 21
"""Fields of ``/proc/<pid>/stat``, counted from the one after the name."""
ENDED = ("Z", "X")
"""States of a process that runs no more: it waits to be reaped, or is being reaped."""

# The environment variables that a child inherits: how to find programs and libraries, nothing of the service.
PASSED_ON = frozenset(
    {
        "PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
        "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    }
)  # fmt: skip

QUIET = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # of Arrow's allocator
    "_RJEM_MALLOC_CONF": "background_thread:false",  # of Polars'
}
"""Keeps allocators of libraries from threads of their own, which they would start before any fork."""

ROOT = Path(__file__).resolve().parents[1]


def child_environment() -> dict[str, str]:
    """Build the environment of a fork server. Its children have it too.

    An allow-list, so that no address or secret of the service is in it.
    """
    return (
        _passed()
        | QUIET
        | {
            "HOME": "/nonexistent",
            "NUMBA_CACHE_DIR": str(own_kernels()),  # of the worker's user, not below this home
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",  # nothing in the working folder can pass for a module
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
        }
    )


def folder_environment(folder: Path, gpu: str = "") -> dict[str, str]:
    """Build the environment of a child's folder. It says where its own files are, and which GPU it sees, or
    none.

    Products of matrices keep their order of sums only with a workspace of fixed size, which CUDA's library
    reads here.
    """
    seen = {"CUDA_VISIBLE_DEVICES": gpu, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    return {"HOME": str(folder), "TMPDIR": str(folder), **seen}


def process_name(kind: str) -> str:
    """Name the process of a child. It does this kind of work."""
    return f"{PROCESS_NAME}{kind}"[:MAX_PROCESS_NAME]


def _passed() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in PASSED_ON}


def confine(parent: int, folder: Path, devices: Sequence[str] = ()) -> None:
    """Confine this process. It is killed with its parent, has no core dumps, no sockets, at most OPEN_FILES
    open files.

    It makes the calls of :mod:`worker.calls` alone. Where the kernel has Landlock, its files lie in
    ``folder``, are programs, or are ``devices``. First for the OOM killer. Memory is watched from
    outside: an address-space limit would hit what numeric libraries, and CUDA, reserve, not what they use.
    Raises RuntimeError if the parent is gone already, OSError where the kernel does not confine the child,
    which must not go on then.
    """
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    Path("/proc/self/oom_score_adj").write_text("1000")
    die_with(parent)
    libraries = [Path(each) for each in _passed().get("LD_LIBRARY_PATH", "").split(":") if each]
    given = landlock.Surroundings(folder.resolve(), ROOT, own_kernels(), libraries, [*map(Path, devices)])
    landlock.confine_to(given)
    seccomp.confine(gpu=bool(devices))


def die_with(parent: int) -> None:
    """Have this process killed when that parent ends. RuntimeError if it has ended already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        raise RuntimeError("the supervisor is gone")


def group_memory_bytes(group: int) -> int:
    """Add up the resident memory of a process group. It is in bytes; 0 when nothing of it is left.
    O(processes)."""
    return sum(int(fields[RESIDENT_PAGES]) * PAGE_BYTES for fields in _of_group(group))


def group_runs(group: int, processes: Path = PROCESSES) -> bool:
    """Tell whether a process of the group has not ended. One that holds no memory any more may yet run."""
    return any(fields[STATE] not in ENDED for fields in _of_group(group, processes))


def _of_group(group: int, processes: Path = PROCESSES) -> Iterator[list[str]]:
    """Yield the fields of ``/proc/<pid>/stat`` after the name, for each process of the group."""
    for entry in processes.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name in field 2 may hold spaces and brackets: count fields after its last bracket.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
        if int(fields[GROUP]) == group:
            yield fields
