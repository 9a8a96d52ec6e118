"""Methods over epsilons on one public dataset.

What to run, what it costs, and running it. Every run is a job of its own under a key that follows from what
is requested. The same comparison, requested again, uses the jobs that exist and submits the rest: nothing is
paid for twice.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from graphveil.errors import ClientError, WaitTimeout
from graphveil.models.jobs import TERMINAL, Job
from graphveil.models.plans import Plan
from graphveil.sdk.client import Graphveil

POLL_SECONDS = 2.0
MAX_RUNS = 10_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_MOST_RETRIES = 10
_COMPARED = frozenset({"done", "failed"})


@dataclass(frozen=True)
class Variant:
    """A method with its parameters, and their label. It is what both are called in tables."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """``dcsbm``, or ``dcsbm:preset=small``."""
        given = ",".join(f"{name}={_plain(value)}" for name, value in self.parameters.items())
        return f"{self.method}:{given}" if given else self.method

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Parse ``method`` or ``method:name=value,name=value``. ClientError for anything else."""
        method, _, given = text.partition(":")
        parameters: dict[str, Any] = {}
        for pair in given.split(",") if given else []:
            name, equals, value = pair.partition("=")
            if not equals or not name:
                raise ClientError(f"{text!r} is not method:name=value,name=value")
            try:
                parameters[name] = json.loads(value)
            except ValueError:
                parameters[name] = value
        if not method:
            raise ClientError(f"{text!r} names no method")
        return cls(method, parameters)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class Comparison:
    """What is compared. ``name`` keeps comparisons apart: the same one again goes on, another runs anew.

    ``epsilons`` are decimal strings, in increasing order. ``version`` is the upload that all runs read.
    """

    dataset_id: str
    version: int
    variants: tuple[Variant, ...]
    epsilons: tuple[str, ...]
    runs: int
    name: str = "comparison"
    delta: str = "0"
    suite: str = "standard"
    edge_types: tuple[str, ...] = ()

    def request(self, variant: Variant, epsilon: str) -> dict[str, Any]:
        """Build the job request of one run, without its label."""
        asked = {"edge_types": list(self.edge_types)} if self.edge_types else {}
        return {
            "epsilon": epsilon,
            "delta": self.delta,
            "method": variant.method,
            "parameters": dict(variant.parameters),
            "suite": self.suite,
            "comparison": True,
            **asked,
        }

    def each(self) -> Iterator[Run]:
        """Yield every run, the first ones first.

        The first of every method and epsilon comes before the second of any.
        """
        for number in range(1, self.runs + 1):
            for variant in self.variants:
                for epsilon in self.epsilons:
                    yield Run(self, variant, epsilon, number)


@dataclass(frozen=True)
class Run:
    """One release of a comparison."""

    comparison: Comparison
    variant: Variant
    epsilon: str
    number: int

    @property
    def digest(self) -> str:
        """Return the run's identity in 20 hex digits.

        It tells this run from all others: equal requests have equal digests.
        """
        of = self.comparison
        asked = [of.name, of.dataset_id, of.version, of.request(self.variant, self.epsilon), self.number]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:20]

    def key(self, attempt: int) -> str:
        """Return the idempotency key of one attempt at the run."""
        return f"compare-{self.digest}-{attempt}"

    @property
    def label(self) -> str:
        """Return the job's name, by which listings show it."""
        words = f"compare {self.comparison.name}: {self.variant.label}, run {self.number}"
        return f"{words[:100]} [{self.digest}]"


@dataclass(frozen=True)
class Finished:
    """A run that has ended. Its job, and its report where it was published and compared."""

    run: Run
    job: Job
    report: dict[str, Any] | None


@dataclass(frozen=True)
class Cost:
    """What a comparison would be charged. ``each`` holds the plan of every method and epsilon.

    ``found``: how many of its jobs exist already, and are not charged again.
    """

    each: Mapping[tuple[str, str], Plan]
    total: Decimal
    found: int


def normal(epsilons: Iterable[str]) -> tuple[str, ...]:
    """Normalise the epsilons to sorted plain decimals.

    Each is there once, in increasing order; ClientError for what is no number.
    """
    try:
        numbers = {Decimal(text) for text in epsilons}
    except InvalidOperation as error:
        raise ClientError("an epsilon is a decimal number, such as 0.5") from error
    if not all(number.is_finite() and number > 0 for number in numbers):
        raise ClientError("an epsilon is finite and above zero")
    return tuple(decimal(number) for number in sorted(numbers))


def decimal(number: Decimal) -> str:
    """Write the number without exponent or trailing zeros."""
    return format(number.normalize(), "f")


def prepare(client: Graphveil, dataset_id: str, variants: Sequence[Variant], **asked: Any) -> Comparison:
    """Check a comparison as far as no plan is needed. ``asked``: the rest of :class:`Comparison`.

    ClientError where the dataset is not ready, the key is no curator's, or something is named twice.
    """
    dataset = client.dataset(dataset_id)
    if dataset.current_version is None:
        raise ClientError(f"the dataset is {dataset.state}; comparing needs one that is ready")
    if dataset.version is None:
        raise ClientError("comparing needs a curator's key: utility is measured against the original")
    epsilons = normal(asked.pop("epsilons"))
    found = Comparison(dataset_id, dataset.current_version, tuple(variants), epsilons, **asked)
    if not _NAME.fullmatch(found.name):
        raise ClientError("a name has up to 40 letters, digits, '.', '_' and '-'")
    if not found.variants or not found.epsilons or found.runs < 1:
        raise ClientError("comparing needs a method, an epsilon and a run at least")
    if len({variant.label for variant in found.variants}) != len(found.variants):
        raise ClientError("a method is named twice with the same parameters")
    if len(found.variants) * len(found.epsilons) * found.runs > MAX_RUNS:
        raise ClientError(f"a comparison has at most {MAX_RUNS} runs")
    return found


def cost(client: Graphveil, comparison: Comparison) -> Cost:
    """Sum the planned cost of every method and epsilon.

    They are planned by dry runs: nothing is reserved. Raises ProblemError where the service refuses one, as
    it does for a dataset that is not public.
    """
    plans = {
        (variant.label, epsilon): client.plan(comparison.dataset_id, **comparison.request(variant, epsilon))
        for variant in comparison.variants
        for epsilon in comparison.epsilons
    }
    labels = {
        job.label for job in client.jobs(dataset_id=comparison.dataset_id) if job.label and "[" in job.label
    }
    missing = [run for run in comparison.each() if run.label not in labels]
    total = sum((Decimal(plans[r.variant.label, r.epsilon].cost.epsilon or 0) for r in missing), Decimal(0))
    every = len(comparison.variants) * len(comparison.epsilons) * comparison.runs
    return Cost(plans, total, every - len(missing))


def compare(
    client: Graphveil,
    comparison: Comparison,
    *,
    parallel: int = 4,
    retries: int = 0,
    timeout_seconds: float | None = None,
    on_change: Callable[[int, int], None] | None = None,
    poll_seconds: float = POLL_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Finished]:
    """Run the comparison, at most ``parallel`` jobs at once.

    The results are as :meth:`Comparison.each`. A run whose job failed is tried again ``retries`` times; each
    attempt is a job of its own, and charged. ``on_change(ended, under_way)`` is called at every poll. Raises
    ProblemError where the service refuses a job, and WaitTimeout: jobs that are under way go on, and the same
    comparison finds them.
    """
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    runs = list(comparison.each())
    waiting = deque((run, 0) for run in runs)
    under_way: dict[str, tuple[Run, int]] = {}
    ended: dict[str, Finished] = {}
    while waiting or under_way:
        while waiting and len(under_way) < parallel:
            run, attempt = waiting.popleft()
            request = comparison.request(run.variant, run.epsilon) | {"label": run.label}
            job = client.submit(comparison.dataset_id, idempotency_key=run.key(attempt), **request)
            under_way[job.id] = (run, attempt)
        changed = False
        for job_id, (run, attempt) in list(under_way.items()):
            finished = _finished(client, run, client.job(job_id))
            if finished is None:
                continue
            changed = True
            del under_way[job_id]
            if finished.job.state != "published" and attempt < min(retries, _MOST_RETRIES):
                waiting.appendleft((run, attempt + 1))
            else:
                ended[run.digest] = finished
        if on_change:
            on_change(len(ended), len(under_way))
        if not changed and under_way:
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"{len(ended)} of {len(runs)} runs have ended; the same comparison goes on")
            sleep(poll_seconds)
    return [ended[run.digest] for run in runs]


def _finished(client: Graphveil, run: Run, job: Job) -> Finished | None:
    """Make the run's result once its job has ended and its release is compared; None before."""
    if job.state not in TERMINAL:
        return None
    if job.state != "published":
        return Finished(run, job, None)
    if job.evaluation is None or job.evaluation.state not in _COMPARED:
        return None
    done = job.evaluation.state == "done"
    return Finished(run, job, client.report(job.id) if done else None)
