"""``python -m worker.reaper``: finishes, queues again or ends what crashed processes left undone.

Several may run; an advisory lock lets one at a time work. What waits for others' folders and engines is done
in a thread beside the sweeps. It may be done twice at once: whoever next holds the lock may find it begun.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from threading import Thread

from core import command_line
from core.logging import get_logger
from core.workflows.common.context import Services
from core.workflows.operations import recover
from worker.advisory_lock import alone
from worker.daemon import serve
from worker.stopping import Stopping

LOCK = 0x67726170  # "grap": one reaper a database

log = get_logger(__name__)


def reap_once(
    services: Services, duties: Mapping[str, Callable[[Services], int]] = recover.DUTIES
) -> dict[str, int]:
    """Do every duty once; how much each had to do. One duty's failure does not stop the others."""
    done: dict[str, int] = {}
    for name, duty in duties.items():
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
    beside = Thread()

    def sweep() -> None:
        nonlocal beside
        if not beside.is_alive():
            beside = Thread(target=reap_once, args=(services, recover.ELSEWHERE), daemon=True)
            beside.start()
        reap_once(services)

    alone(services.db, LOCK, sweep, services.settings.reaper_poll_seconds, stopping)


def main() -> int:
    """Reap until stopped; the exit code."""
    command_line.parser("worker.reaper", __doc__).parse_args()
    return serve("reaper", run)


if __name__ == "__main__":
    sys.exit(main())
