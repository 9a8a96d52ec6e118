"""The meter between a generator and the data. It checks, records durably, and only then lets an operation
draw.

A cell (edge type, step) may spend what the plan allots to it and nothing else. An overrun is a bug in a
generator: the meter raises, and stays closed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.errors import InvalidInput, MeterClosed, PlanExceeded, UnmeteredFit
from core.orders import ORDERS
from core.privacy.accounting import accountant
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import (
    MAX_BRANCHES,
    Event,
    Parallel,
    Pure,
    Unprotected,
    check_event,
    check_text,
    from_json,
    parts,
    pure_nano_epsilon,
    to_json,
)
from core.privacy.accounting.measurements import Measurements
from core.privacy.accounting.plan import MAX_STEPS, CellKey, PrivacyPlan

MAX_SEQUENCE = 2**31 - 1


@dataclass(frozen=True)
class TranscriptEntry:
    """One recorded operation. A member of a parallel group (``group``: the group's sequence, ``branch``:
    which of its branches) was paid by the group's own entry and costs nothing more."""

    sequence: int
    edge_type: str
    step: int | None
    event: Event
    purpose: str
    group: int | None = None
    branch: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "event": to_json(self.event)}

    @classmethod
    def from_json(cls, value: Any) -> TranscriptEntry:
        """Read the entry that :meth:`to_json` wrote. InvalidInput for other types, ranges and texts."""
        names = {"sequence", "edge_type", "step", "event", "purpose", "group", "branch"}
        if not isinstance(value, dict) or set(value) != names:
            raise InvalidInput("not a transcript entry", field="transcript")
        sequence, step, group, branch = (value[k] for k in ("sequence", "step", "group", "branch"))
        check_text(value["edge_type"], "transcript")
        check_text(value["purpose"], "transcript")
        _check_index(sequence, MAX_SEQUENCE + 1)
        if step is not None:
            _check_index(step, MAX_STEPS)
        if group is not None or branch is not None:
            _check_index(group, sequence)
            _check_index(branch, MAX_BRANCHES)
        return cls(**{**value, "event": from_json(value["event"])})


def _check_index(value: Any, end: int) -> None:
    if type(value) is not int or not 0 <= value < end:
        raise InvalidInput("an index of a transcript entry is no integer in its range", field="transcript")


class Recorder(Protocol):
    """Where the transcript is kept. What is recorded here is durable before the call returns."""

    def opening(self) -> None:
        """Note that the graph is about to be opened. From now on job failures can depend on the data."""

    def record(self, entry: TranscriptEntry) -> None:
        """Note, durably, that the operation is about to draw."""


class MemoryRecorder:
    """Keeps entries in memory only. It is for benchmarks, public data and replays, where nothing has to
    survive."""

    def __init__(self) -> None:
        self.entries: list[TranscriptEntry] = []

    def opening(self) -> None:
        """Keep nothing: nobody asks later whether the graph was opened."""

    def record(self, entry: TranscriptEntry) -> None:
        """Append the entry."""
        self.entries.append(entry)


class _Purse:
    """What one cell may still spend. Pure events are counted by integers, others at every Rényi order.

    Where privacy losses are counted, events are compared one by one: losses cannot be compared by curves.
    """

    def __init__(self, events: Sequence[Event], chosen: Accountant) -> None:
        self.left: Counter[Event] | None = None
        if chosen is Accountant.PRIVACY_LOSS:
            self.pure_left, self.left = accountant.together(events)
            return
        pures = [pure_nano_epsilon(e) for e in events]
        self.pure_left = sum(p for p in pures if p is not None)
        others = [e for e, p in zip(events, pures, strict=True) if p is None]
        self.unprotected = any(isinstance(e, Unprotected) for e in others)
        finite = [e for e in others if not isinstance(e, Unprotected)]
        self.curve = accountant.cell_curve(finite, ORDERS) if finite else None
        self.spent: Counter[Event] = Counter()

    def take(self, event: Event) -> bool:
        """Take the event out if it fits, and tell whether it did; the state is unchanged otherwise."""
        if self.left is not None:
            return self._take_counted(self.left, event)
        if isinstance(event, Unprotected):
            return self.unprotected
        pure = pure_nano_epsilon(event)
        if pure is not None:
            if pure > self.pure_left:
                return False
            self.pure_left -= pure
            return True
        if self.curve is None:
            return False
        spent = accountant.counted_curve(self.spent + Counter([event]), ORDERS)
        # A float sum of what was planned may end a little above it: the plan's cost has this slack in it.
        if not (spent <= self.curve * (1 + accountant.SLACK / 10)).all():
            return False
        self.spent[event] += 1
        return True

    def _take_counted(self, left: Counter[Event], event: Event) -> bool:
        pure, counts = parts(event)
        if pure > self.pure_left or not counts <= left:
            return False
        self.pure_left -= pure
        left.subtract(counts)
        return True


class Meter:
    """Lets operations pass while they fit the plan. Thread-safe; one meter serves one fit.

    ``recorder`` must be durable wherever the data is private: what was recorded is what a crashed fit has
    read.
    """

    def __init__(self, plan: PrivacyPlan, recorder: Recorder) -> None:
        self.plan = plan
        self.measurements = Measurements()
        self._recorder = recorder
        self._purses: dict[CellKey, _Purse] = {}
        self._branches: dict[tuple[int, int], int] = {}
        self._transcript: list[TranscriptEntry] = []
        self._closed = False
        self._lock = threading.RLock()

    @property
    def transcript(self) -> tuple[TranscriptEntry, ...]:
        """Entries recorded so far, in order."""
        return tuple(self._transcript)

    @property
    def closed(self) -> bool:
        """Whether the meter is closed: after an overrun or a failed record."""
        return self._closed

    def charge(self, edge_type: str, step: int | None, event: Event, purpose: str) -> None:
        """Record the event durably; after that, the operation may draw.

        Raises PlanExceeded when the cell's allotment does not cover it (the meter stays closed), MeterClosed
        afterwards. What the recorder raises passes through and closes the meter: nobody knows what was kept.
        """
        self._admit(edge_type, step, event, purpose, None, None)

    def open_group(
        self,
        edge_type: str,
        step: int | None,
        nano_epsilon: int,
        branches: Sequence[str],
        purpose: str,
        parent: tuple[int, int] | None = None,
    ) -> tuple[tuple[int, int], ...]:
        """Charge a parallel group ``nano_epsilon`` once, now. Return one key per branch, each with as much to
        spend.

        Unit: sound where every unit lies wholly in one branch; the caller answers for that. ``parent`` is the
        branch that pays for a nested group.
        """
        event = Parallel(tuple(Pure(nano_epsilon, name) for name in branches))
        group, branch = parent or (None, None)
        sequence = self._admit(edge_type, step, event, purpose, group, branch)
        return tuple((sequence, index) for index in range(len(branches)))

    def charge_branch(
        self, key: tuple[int, int], edge_type: str, step: int | None, event: Event, purpose: str
    ) -> None:
        """Charge one branch of an open group. It does so as :meth:`charge` does, out of the branch's cap."""
        self._admit(edge_type, step, event, purpose, *key)

    def close_group(self, keys: Iterable[tuple[int, int]]) -> None:
        """Void what is left in the branches. No later operation may draw on it."""
        with self._lock:
            for key in keys:
                self._branches[key] = 0

    def _admit(
        self,
        edge_type: str,
        step: int | None,
        event: Event,
        purpose: str,
        group: int | None,
        branch: int | None,
    ) -> int:
        with self._lock:
            if self._closed:
                raise MeterClosed("the meter is closed: the plan was exceeded, or a record failed")
            check_event(event)
            check_text(purpose, "purpose")
            entry = TranscriptEntry(len(self._transcript), edge_type, step, event, purpose, group, branch)
            if not self._take(entry):
                # It stays closed: a generator that overran its plan may be wrong about more than this read.
                self._closed = True
                raise PlanExceeded(
                    f"the plan does not cover {purpose!r} on {edge_type!r}, step {step}",
                    edge_type=edge_type,
                    step=step,
                    purpose=purpose,
                )
            # Recorded before it is listed, and before it draws:
            # what a crash leaves is never less than what was read.
            try:
                self._recorder.record(entry)
            except BaseException:
                self._closed = True
                raise
            self._transcript.append(entry)
            if isinstance(event, Parallel):
                caps = [pure_nano_epsilon(b) or 0 for b in event.branches]
                self._branches.update({(entry.sequence, i): cap for i, cap in enumerate(caps)})
            return entry.sequence

    def _take(self, entry: TranscriptEntry) -> bool:
        if entry.group is not None and entry.branch is not None:
            key = (entry.group, entry.branch)
            # Branches are paid for in pure epsilon alone: a maximum
            # over curves would need the branches known at once.
            pure = pure_nano_epsilon(entry.event)
            if pure is None or pure > self._branches.get(key, 0):
                return False
            # A branch pays for its group's own cell: its data
            # and no other are what the branches are disjoint in.
            paid_by = self._transcript[entry.group]
            if (paid_by.edge_type, paid_by.step) != (entry.edge_type, entry.step):
                return False
            self._branches[key] -= pure
            return True
        cell = (entry.edge_type, entry.step)
        if cell not in self._purses:
            events = self.plan.cells.get(cell)
            if events is None:
                return False
            self._purses[cell] = _Purse(events, self.plan.accountant)
        return self._purses[cell].take(entry.event)


def replay(plan: PrivacyPlan, transcript: Iterable[TranscriptEntry]) -> None:
    """Check that the transcript fits the plan. PlanExceeded otherwise, InvalidInput when out of sequence."""
    # By the meter itself, so that what passes a check and what passed a fit cannot differ.
    meter = Meter(plan, MemoryRecorder())
    for expected, entry in enumerate(transcript):
        if entry.sequence != expected or (entry.group is None) != (entry.branch is None):
            raise InvalidInput("the transcript is not in sequence", field="transcript")
        meter._admit(entry.edge_type, entry.step, entry.event, entry.purpose, entry.group, entry.branch)


def require_metered(transcript: Sequence[TranscriptEntry]) -> None:
    """Raise UnmeteredFit when a fit recorded nothing. Whatever it made did not come through the meter."""
    if not transcript:
        raise UnmeteredFit("the fit recorded no operation")
