"""Work that the service's engine does, beside a lease of this worker's. It is stopped when that is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import IngestRejected, InvalidInput
from core.graphs.counted import places
from core.logging import get_logger
from core.settings import Settings
from worker.kinds.base import Held
from worker.supervisor import Ending

if TYPE_CHECKING:
    from core.graphs.counted.spark import Spark

TICK_SECONDS = 0.2
Found = TypeVar("Found")
log = get_logger(__name__)


@contextmanager
def engine(settings: Settings, name: str, attempt: int) -> Iterator[Spark]:
    """Open the service's engine for one attempt; nothing that was kept for it remains."""
    from core.graphs.counted.spark import Spark, connect

    if not settings.engine_folder:
        raise InvalidInput("the engine has no folder; ask the operator to set GRAPHVEIL_ENGINE_FOLDER")
    kept = [places.below(settings.engine_folder, f"{name}-{number + 1}") for number in range(attempt)]
    for place in kept[:-1]:  # of attempts that were killed
        places.remove(place)
    opened = Spark(connect(settings.engine_url.get_secret_value()), kept[-1])
    try:
        yield opened
    finally:
        opened.stop()
        places.remove(kept[-1])


def forget(settings: Settings, name: str) -> None:
    """Delete what workers that were killed left below that name."""
    places.remove(places.below(settings.engine_folder, name))


def watched(
    held: Held[Any], work: Callable[[], Found], stop: Callable[[], None]
) -> tuple[Found | None, Ending]:
    """Do the work while its lease holds and its time lasts, else stop it; how it ended."""
    deadline = time.monotonic() + held.services.settings.job_wall_seconds
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine") as thread:
        future = thread.submit(work)
        while not wait([future], timeout=TICK_SECONDS).done:
            ending = _overstepped(held, deadline)
            if ending is not None:
                stop()
                return None, ending
    try:
        return future.result(), Ending.FINISHED
    except (IngestRejected, InvalidInput):
        raise
    except (ValueError, KeyError) as error:
        log.error("engine_refused", error=type(error).__name__)
        return None, Ending.FAILED  # its counts do not add up
    except Exception as error:
        log.warning("engine_failed", error=type(error).__name__)
        return None, Ending.LOST  # it is away, or lost the work: another attempt begins anew


def _overstepped(held: Held[Any], deadline: float) -> Ending | None:
    if held.heartbeat.lost:
        return Ending.LOST
    if held.draining():
        return Ending.DRAINED
    return Ending.TIME if time.monotonic() >= deadline else None
