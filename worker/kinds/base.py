"""What a kind of work says of itself. It says how it begins, what its child is given, and how it settles."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy.orm import Session

from core.errors import InvalidInput, NotFound
from core.jobs.events import Step, check
from core.jobs.models import Stop
from core.settings import Settings
from core.work.models import Kind
from core.workflows.common.context import Services
from worker.folders import private_folder, write_private
from worker.lease_heartbeat import LeaseHeartbeat
from worker.own_gpu import OwnGpu
from worker.supervisor import INFRASTRUCTURE, Draining, Ending, Orders, no_reads, supervise

Work = TypeVar("Work", bound=Any)
MAX_RESULT_BYTES = 64 * 2**20
STOPS = {
    Ending.DRAINED: Stop.DRAINED,
    Ending.LOST: Stop.WORKER_LOST,
    Ending.OUTAGE: Stop.OUTAGE,
}


@dataclass(frozen=True)
class Held(Generic[Work]):
    """Work in this process's hands. It has its private folder, the heartbeat of its lease, when to stop.

    ``own_gpu``: the worker's, if it has one. ``untold``: the last steps of a child that finished, which are
    recorded with what it left.
    """

    services: Services
    work: Work
    folder: Path
    heartbeat: LeaseHeartbeat
    draining: Draining
    own_gpu: OwnGpu | None = None
    untold: list[Step] = field(default_factory=list)

    def keep(self, steps: Sequence[Step]) -> None:
        """Keep the last steps. InvalidInput for one that is none."""
        for step in steps:
            check(*step)
        self.untold.extend(steps)


class WorkKind(ABC, Generic[Work]):
    """One kind of work, as a worker does it. One file of this folder each.

    ``leased``: its rows. ``name``: what its folders are called. ``child``: the kind of child process that
    does it (:data:`worker.sandbox.KINDS`). ``own_doing``: errors outside the child that come of the work
    itself, not of infrastructure. ``begins_at_once``: its beginning is one short transaction.
    ``keeps_last``: what finishes it records the last steps of its child.
    """

    leased: ClassVar[Kind[Any]]
    name: ClassVar[str]
    child: ClassVar[str]
    begins_at_once: ClassVar[bool] = True
    keeps_last: ClassVar[bool] = False
    own_doing: ClassVar[tuple[type[Exception], ...]] = (
        NotFound,
        InvalidInput,
        FileNotFoundError,
        ValueError,
    )

    @abstractmethod
    def begin(self, services: Services, subject_id: str, worker: str) -> Work | None:
        """Lease the work to ``worker``; None if it is not free."""

    def stopped(self, session: Session, work: Work) -> bool:
        """Tell whether the work is to stop before its end. It is checked with every heartbeat."""
        return False

    def extend(self, services: Services, work: Work) -> None:
        """Extend the leases that are held beside the work's. It comes with every heartbeat."""

    def spec(self, held: Held[Work]) -> Mapping[str, Any]:
        """Lay out what the child reads in the folder. Returned is what is written to its ``spec.json``."""
        raise NotImplementedError

    def progress(self, services: Services, work: Work, steps: Sequence[Step]) -> None:
        """Discard progress: it would reveal private data. Kinds whose callers may see it record it."""

    def limits(self, settings: Settings) -> Settings:
        """Return the settings under which the child runs."""
        return settings

    def on_gpu(self, work: Work) -> bool:
        """Tell whether the child computes on a GPU. It is its worker's, where there is one."""
        return False

    @abstractmethod
    def finish(self, held: Held[Work]) -> None:
        """Take what the child left, and end the work."""

    @abstractmethod
    def fail(self, services: Services, work: Work, ending: Ending) -> None:
        """End the work, which failed by its own doing. LeaseLost."""

    @abstractmethod
    def hand_back(self, services: Services, work: Work, stop: Stop) -> None:
        """Let the work wait for another worker; infrastructure stopped it. LeaseLost."""

    def span(self, work: Work) -> AbstractContextManager[None]:
        """Open the span of one attempt. There is none unless its request was traced."""
        return nullcontext()

    @contextmanager
    def folder(self, parent: Path, subject_id: str, work: Work) -> Iterator[Path]:
        """Make a private folder for one attempt, deleted afterwards."""
        with private_folder(parent / f"{self.name}-{subject_id}-{work.attempt}") as folder:
            yield folder

    def run(self, held: Held[Work]) -> None:
        """Lay the work out, and supervise its child. How that ended is settled."""
        self.settle(held, self.supervised(held, self.spec(held)))

    def supervised(self, held: Held[Work], spec: Mapping[str, Any]) -> Ending:
        """Supervise the child that is given ``spec``; how it ended."""
        write_private(held.folder / "spec.json", json.dumps(spec).encode())
        orders = Orders(
            record=no_reads,
            progress=partial(self.progress, held.services, held.work),
            draining=held.draining,
            last=held.keep if self.keeps_last else None,
        )
        limits = self.limits(held.services.settings)
        gpu = held.own_gpu if self.on_gpu(held.work) else None
        return supervise(self.child, held.folder, limits, held.heartbeat, orders, gpu)

    def settle(self, held: Held[Work], ending: Ending) -> None:
        """Settle the work by how its child ended. It is finished, handed back or failed."""
        if ending is Ending.FINISHED:
            self.finish(held)
        elif ending in INFRASTRUCTURE:
            self.hand_back(held.services, held.work, STOPS[ending])
        else:
            self.fail(held.services, held.work, ending)


def read_result(folder: Path) -> dict[str, Any]:
    """Read what a child that validates left. It is a report, or findings and a message. InvalidInput
    otherwise."""
    path = folder / "result.json"
    if path.is_symlink() or path.stat().st_size > MAX_RESULT_BYTES:
        raise InvalidInput("the child left no result that could be read")
    try:
        result = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the child left no result that could be read") from error
    if not isinstance(result, dict) or set(result) not in ({"report"}, {"findings", "message"}):
        raise InvalidInput("the child left no result of a known kind")
    return dict(result)
