"""Children that are given a GPU, which this machine need not have: what they reach, and how they end."""

from __future__ import annotations

import errno
import socket
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.settings import Settings
from tests.support.children import FAILS, served_by
from tests.support.drivers import UUIDS
from tests.support.patience import PATIENCE_SECONDS
from worker import landlock, sandbox
from worker.lease_heartbeat import LeaseHeartbeat
from worker.own_gpu import Gpu
from worker.supervisor import Ending, Orders, no_reads, supervise

pytestmark = pytest.mark.faults

SETTINGS = Settings(job_wall_seconds=PATIENCE_SECONDS, grace_seconds=0.1, sample_seconds=0.05)
PLAYED = "/dev/ptmx"
"""A device that answers ioctl on every machine; here in the place of a GPU's."""


@dataclass
class Held:
    """A worker's hold on a GPU: ``gone`` is what its driver says when it is asked."""

    gone: bool = False
    lost: bool = False
    asked: int = 0
    gpu: Gpu = field(default_factory=lambda: Gpu(UUIDS[0], (PLAYED, "/dev/nvidia-none"), 0.5))

    def seen_gone(self) -> bool:
        self.asked += 1
        return self.gone


def run(folder: Path, program: str, held: Held | None) -> tuple[Ending, str]:
    """How a child with that work ended, and what it printed."""
    orders = Orders(record=no_reads, progress=lambda *_: None, draining=lambda: False)
    with (
        served_by("import os, sys, time\nfrom pathlib import Path\n" + textwrap.dedent(program)),
        LeaseHeartbeat(lambda: False, every_seconds=0.05, lease_seconds=PATIENCE_SECONDS) as pulse,
    ):
        ending = supervise("release", folder, SETTINGS, pulse, orders, held)  # type: ignore[arg-type]
    return ending, (folder / "output").read_text().strip()


SEEN = """
import fcntl, struct, termios
def reached(path):
    try:
        device = os.open(path, os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(device, termios.TIOCGWINSZ, bytes(8))
    except OSError as error:
        return error.strerror
    return "reached"
print(repr(os.environ["CUDA_VISIBLE_DEVICES"]), os.environ["CUBLAS_WORKSPACE_CONFIG"])
for path in ("/dev/ptmx", "/dev/kmsg", "/dev/fuse", "/dev/null"):
    print(reached(path))
Path("/dev/null").write_bytes(b"gone")
print(len(Path("/dev/urandom").open("rb", buffering=0).read(8)))
"""


def test_a_child_sees_its_own_gpu_and_reaches_the_files_of_that_alone(tmp_path: Path) -> None:
    assert landlock.version() >= 5, "this test needs a kernel whose Landlock knows ioctl"
    ending, printed = run(tmp_path, SEEN, Held())
    assert ending is Ending.FINISHED
    seen, *reached, drawn = printed.splitlines()
    assert seen == f"'{UUIDS[0]}' :4096:8"
    assert reached == ["reached", "Permission denied", "Permission denied", "Permission denied"]
    assert drawn == "8"


def test_a_child_of_other_work_sees_no_gpu_whatever_its_workers_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("NVIDIA_VISIBLE_DEVICES", "all")
    ending, printed = run(tmp_path, SEEN + 'print("NVIDIA_VISIBLE_DEVICES" in os.environ)', None)
    assert ending is Ending.FINISHED
    seen, *reached, drawn, other = printed.splitlines()
    assert (seen, drawn, other) == ("'' :4096:8", "8", "False")
    assert reached == ["Permission denied"] * 4


DRIVER = """
import errno, socket
own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
print(fails(own.bind, f"\\0cuda-uvmfd-{os.getpid()}"), fails(own.listen, 16))
print([fails(own.accept), fails(own.connect, LISTENING)])
for family, kind in ((socket.AF_UNIX, 1), (socket.AF_UNIX, 2), (socket.AF_INET, 5), (socket.AF_NETLINK, 3)):
    print(fails(socket.socket, family, kind))
print(fails(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind, "by-path"))
kept = Path(f"/dev/shm/cuda.shm.{os.getpid()}")
kept.write_bytes(b"x")
kept.unlink()
"""


def test_a_gpus_driver_listens_where_nobody_is_answered_and_reaches_no_socket(tmp_path: Path) -> None:
    """The exception that CUDA's driver needs: an abstract socket, and files of shared memory."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(tmp_path / "server"))
        server.listen()
        ending, printed = run(tmp_path, f"LISTENING = {str(tmp_path / 'server')!r}\n{FAILS}{DRIVER}", Held())
    assert ending is Ending.FINISHED, printed
    listening, reached, *others = printed.splitlines()
    assert listening == "0 0"
    assert reached == str([errno.ENOSYS] * 2)
    assert others == [str(errno.EACCES)] * 5


def test_too_little_memory_of_a_gpu_ends_a_child_as_too_little_memory_does(tmp_path: Path) -> None:
    """What torch raises where the memory that its process may have, or its GPU has, is used up."""
    program = "import torch; raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 9 GiB')"
    held = Held(gone=True)
    assert run(tmp_path, program, held)[0] is Ending.MEMORY
    assert held.asked == 0


@pytest.mark.parametrize(
    ("raised", "of_memory"),
    [
        (lambda torch: torch.AcceleratorError("CUDA error: out of memory"), True),
        (
            lambda torch: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling it"),
            True,
        ),
        (lambda torch: torch.AcceleratorError("CUDA error: an illegal memory access was encountered"), False),
        (lambda torch: ValueError("CUDA error: out of memory"), False),
    ],
)
def test_other_words_for_too_little_memory_of_a_gpu_are_known(
    raised: Callable[[Any], Exception], of_memory: bool
) -> None:
    import torch

    assert sandbox._of_gpu_memory(raised(torch)) is of_memory


@pytest.mark.parametrize(
    ("program", "gone", "ending"),
    [
        ("os._exit(70)", True, Ending.LOST),
        ("os.kill(os.getpid(), 9)", True, Ending.LOST),
        ("os._exit(70)", False, Ending.FAILED),
        ("print('CUDA error: GPU is lost'); os._exit(70)", False, Ending.FAILED),
        ("os._exit(71)", True, Ending.MEMORY),
        ("os._exit(72)", True, Ending.VIOLATION),
        ("os._exit(0)", True, Ending.FINISHED),
    ],
)
def test_a_failure_is_the_gpus_only_if_the_driver_says_that_it_is_gone(
    tmp_path: Path, program: str, gone: bool, ending: Ending
) -> None:
    assert run(tmp_path, program, Held(gone=gone))[0] is ending


def test_a_child_whose_gpu_is_found_gone_meanwhile_is_killed(tmp_path: Path) -> None:
    assert run(tmp_path, "time.sleep(60)", Held(lost=True))[0] is Ending.LOST
