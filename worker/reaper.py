"""``python -m worker.reaper``: finishes, queues again or ends what crashed processes left undone.

Several may run; an advisory lock lets one at a time work.
"""

from __future__ import annotations

import sys

from core import command_line
from core.logging import get_logger
from core.workflows.common.context import Services
from core.workflows.operations import recover
from worker.advisory_lock import alone
from worker.daemon import serve
from worker.stopping import Stopping

LOCK = 0x67726170  # "grap": one reaper a database

log = get_logger(__name__)


def reap_once(services: Services) -> dict[str, int]:
    """Do every duty once; how much each had to do. One duty's failure does not stop the others."""
    done: dict[str, int] = {}
    for name, duty in recover.DUTIES.items():
        try:
            done[name] = duty(services)
        except Exception as error:  # whatever it is: the other duties must not stop with this one
            log.warning("duty_failed", duty=name, error=type(error).__name__)
            done[name] = 0
    if any(done.values()):
        log.info("reaped", **{name: count for name, count in done.items() if count})
    return done


def run(services: Services, stopping: Stopping) -> None:
    """Do the duties while this process holds the lock. It does them again and again until it is requested to
    stop."""
    pause = services.settings.reaper_poll_seconds
    alone(services.db, LOCK, lambda: reap_once(services), pause, stopping)


def main() -> int:
    """Reap until stopped; the exit code."""
    command_line.parser("worker.reaper", __doc__).parse_args()
    return serve("reaper", run)


if __name__ == "__main__":
    sys.exit(main())
