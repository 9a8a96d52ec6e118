"""``python -m worker.preflight``: exit code 0 where a worker may start, 1 where it may not, and the log why.

A program of its own: a worker forks, and what the check opens must not be open then.
"""

from __future__ import annotations

import sys

from core import command_line, logging
from core.logging import get_logger
from core.settings import Settings, get_settings
from core.workflows.operations.startup import may_start
from worker import landlock, seccomp

log = get_logger(__name__)


def may_work(settings: Settings) -> bool:
    """Tell whether children can be kept from the network here, and the ledger is whole; the log says why not.

    Every child confines itself, and ends where it cannot: here that costs no job.
    """
    if not seccomp.possible():
        message = "this machine's kernel cannot keep a job's process from the network (seccomp filters)"
        log.error("not_started", message=message)
        return False
    if not landlock.version():
        message = "this machine's kernel has no Landlock: jobs may read whatever the worker's user may"
        log.warning("files_not_confined", message=message)
    return may_start(settings)


def main() -> int:
    """Check; the exit code."""
    command_line.parser("worker.preflight", __doc__).parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    return 0 if may_work(settings) else 1


if __name__ == "__main__":
    sys.exit(main())
