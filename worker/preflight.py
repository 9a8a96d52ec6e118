"""``python -m worker.preflight``: exit code 0 where a worker may start, 1 where it may not, and the log why.

A program of its own: a worker forks, and what the check opens must not be open then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core import command_line, logging
from core.errors import InvalidInput
from core.logging import get_logger
from core.settings import Settings, get_settings
from core.storage.store import make_private_folder
from core.workflows.common.context import open_services
from core.workflows.operations.startup import may_start
from worker import landlock, own_gpu, seccomp
from worker.limits import child_environment, folder_environment

LOOK_SECONDS = 1.0
COMPUTE = "import torch; torch.ones(2, device='cuda').sum().item()"

log = get_logger(__name__)


def may_work(settings: Settings) -> bool:
    """Tell whether the worker may work. Children can be kept from the network here, and the ledger is whole;
    the log says why not.

    Every child confines itself, and ends where it cannot: here that costs no job.
    """
    if not seccomp.possible():
        message = "this machine's kernel cannot keep a job's process from the network (seccomp filters)"
        log.error("not_started", message=message)
        return False
    if not landlock.version():
        message = "this machine's kernel has no Landlock: jobs may read whatever the worker's user may"
        log.warning("files_not_confined", message=message)
    return may_start(settings) and (not settings.gpu or may_hold_gpu(settings))


def may_hold_gpu(settings: Settings) -> bool:
    """Tell whether the worker may hold the GPU. It is there, torch sees it, and no other worker holds it; the
    log says why not.

    Waits for the end of a lease, which a worker that was killed leaves behind.
    """
    try:
        gpu = own_gpu.find(settings)
    except InvalidInput as error:
        log.error("not_started", message=error.message)
        return False
    make_private_folder(settings.work_folder)
    if not _torch_sees(gpu, settings.work_folder):
        log.error("not_started", message=f"torch sees no GPU {gpu.uuid}: is it built for CUDA?")
        return False
    services = open_services(settings)
    held = own_gpu.OwnGpu(services, gpu, f"preflight-{os.getpid()}", settings.work_folder)
    until = time.monotonic() + settings.lease_seconds + LOOK_SECONDS
    held.look()
    while held.gpu is None and not held.lost and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        held.look()
    free = held.gpu is not None
    held.let_go()
    services.close()
    if not free:
        log.error("not_started", message=f"another worker holds GPU {gpu.uuid}, or it is gone")
    return free


def _torch_sees(gpu: own_gpu.Gpu, work_folder: Path) -> bool:
    """Compute in a process of its own, confined as a child is: what the driver lacks there shows now."""
    with tempfile.TemporaryDirectory(dir=work_folder) as folder:
        environment = child_environment() | folder_environment(Path(folder), gpu.uuid)
        confined = f"limits.confine({os.getpid()}, Path({folder!r}), {list(gpu.files)!r})"
        program = f"from pathlib import Path; from worker import limits; {confined}; {COMPUTE}"
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    return done.returncode == 0


def main() -> int:
    """Check; the exit code."""
    command_line.parser("worker.preflight", __doc__).parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    return 0 if may_work(settings) else 1


if __name__ == "__main__":
    sys.exit(main())
