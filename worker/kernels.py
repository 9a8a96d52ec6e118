"""``python -m worker.kernels``: compiles every kernel into the folder where jobs look. A worker starts it.

At the lowest priority, beside jobs, in a child like theirs. Compiled code suits one processor: where a place
is shared, each kind of processor finds its own or compiles it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

from core import command_line, logging
from core.logging import get_logger
from core.settings import get_settings
from core.storage.store import make_private_folder
from worker.child import Child
from worker.limits import die_with, kernels_folder
from worker.process import own_folder

LOWEST_PRIORITY = 19
TICK_SECONDS = 1.0

log = get_logger(__name__)


def compile_all(work_folder: Path) -> bool:
    """Compile every kernel, unless it was earlier; False where another process is at it, or it failed."""
    kernels = kernels_folder()
    if kernels is None:
        log.warning("no_place", message="NUMBA_CACHE_DIR names no folder: nothing compiled would be kept")
        return False
    kernels.mkdir(parents=True, exist_ok=True)
    done = kernels / f"compiled-{processor()}"
    if done.exists():
        return True
    with (kernels / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # a worker beside this one compiles them
        began = time.monotonic()
        code = _run(work_folder)
        if code != 0:
            log.warning("kernels_not_compiled", code=code)  # jobs compile what they use, as they need it
            return False
        done.touch()
        log.info("kernels_compiled", seconds=round(time.monotonic() - began, 1))
    return True


def processor() -> str:
    """Name this kind of processor, as compiled code tells kinds apart."""
    from llvmlite import binding  # not above: the relay imports its neighbours without a worker's libraries

    features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_host_cpu_name()}-{hashlib.sha256(features.encode()).hexdigest()[:16]}"


def _run(work_folder: Path) -> int:
    make_private_folder(work_folder)
    folder = own_folder(work_folder, f"kernels-{os.getpid()}-{os.urandom(4).hex()}")
    with Child("kernels", folder) as child:
        while (code := child.exit_code) is None:
            for _ in child.messages(TICK_SECONDS):
                pass  # progress, which nobody waits for
    shutil.rmtree(folder, ignore_errors=True)
    return code


def main() -> int:
    """Compile; the exit code is 0 once every kernel is compiled."""
    command_line.parser("worker.kernels", __doc__).parse_args()
    die_with(os.getppid())
    os.nice(LOWEST_PRIORITY)
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    return 0 if compile_all(settings.work_folder) else 1


if __name__ == "__main__":
    sys.exit(main())
