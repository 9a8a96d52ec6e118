"""One reading as Prometheus metrics. What each means stands with it; docs/monitoring.md lists them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.utils import floatToGoString

from core.jobs.models import JobState
from core.jobs.states import TERMINAL
from core.ledger.kinds import EntryKind
from core.methods.registry import generators
from core.objectives import OBJECTIVES
from core.version import package_version
from core.workflows.operations.gauges import Gauges
from core.workflows.operations.gauges_budgets import Amounts, BudgetGauge, BudgetGauges
from core.workflows.operations.gauges_totals import BOUNDS, Counts, cumulative
from core.workflows.operations.gauges_work import WorkGauges
from graphveil.amounts import DELTA_DIGITS, EPSILON_DIGITS

PREFIX = "graphveil"
ACCOUNT = ("account", "unit")
GPU = ("worker", "gpu")
AMOUNTS = {
    "capacity": "What the account may spend in all.",
    "charged": "What it has spent.",
    "reserved": "What it has set aside for jobs under way.",
    "remaining": "What a new job may cost.",
}
ALONE = "Sums over accounts mean nothing."

Row = tuple[Sequence[str], float]


def families(gauges: Gauges) -> Iterator[Metric]:
    """Turn one reading into metrics."""
    yield from _budgets(gauges.budgets)
    yield from _heads(gauges.budgets.fullest)
    yield from _work(gauges.work, gauges.totals)
    yield from _totals(gauges.totals)
    yield from _checks(gauges)
    yield _one("job_wall_seconds", "How long a job may run before it is ended.", gauges.job_wall_seconds)


def constants() -> Iterator[Metric]:
    """Tell what is running, and what it is meant to reach."""
    build = InfoMetricFamily(f"{PREFIX}_build", "What is running.")
    build.add_metric([], {"version": package_version()})
    yield build
    yield _gauge(
        "slo_target_ratio",
        "The share of good events that the service is meant to reach.",
        ("slo",),
        (((each.name,), each.target) for each in OBJECTIVES),
    )
    yield _gauge(
        "slo_threshold_seconds",
        "Up to which time an event is good.",
        ("slo",),
        (((each.name,), each.seconds) for each in OBJECTIVES if each.seconds is not None),
    )


def _budgets(budgets: BudgetGauges) -> Iterator[Metric]:
    def amounts(name: str, of: Callable[[BudgetGauge], Amounts | None], digits: int) -> Iterator[Row]:
        for budget in budgets.fullest:
            amounts_of = of(budget)
            if amounts_of is not None:
                yield (budget.account_id, budget.unit), getattr(amounts_of, name) / 10**digits

    def states(of: Callable[[BudgetGauge], bool]) -> Iterator[Row]:
        return (((budget.account_id, budget.unit), float(of(budget))) for budget in budgets.fullest)

    for name, meaning in AMOUNTS.items():
        yield _gauge(
            f"budget_{name}_epsilon", f"{meaning} Epsilon. {ALONE}", ACCOUNT,
            amounts(name, lambda budget: budget.epsilon, EPSILON_DIGITS),
        )  # fmt: skip
        yield _gauge(
            f"budget_{name}_delta", f"{meaning} Delta, of accounts that have any. {ALONE}", ACCOUNT,
            amounts(name, lambda budget: budget.delta, DELTA_DIGITS),
        )  # fmt: skip
    yield _gauge(
        "budget_daily_epsilon",
        "What it spends a day: mean of its last seven days, or since it was opened; none of w-event.",
        ACCOUNT,
        (
            ((b.account_id, b.unit), b.daily_epsilon / 10**EPSILON_DIGITS)
            for b in budgets.fullest
            if b.daily_epsilon is not None
        ),
    )
    yield _gauge(
        "budget_oldest_reservation_timestamp_seconds",
        "When the oldest reservation whose job has begun did so; none where none is at work.",
        ACCOUNT,
        (((b.account_id, b.unit), b.reserved_since) for b in budgets.fullest if b.reserved_since is not None),
    )
    yield _gauge(
        "budget_exposed", "1: no epsilon can be claimed any more.", ACCOUNT, states(lambda b: b.exposed)
    )
    yield _gauge(
        "budget_blocked", "1: reservations wait for a curator.", ACCOUNT, states(lambda b: b.blocked)
    )
    yield _gauge(
        "account_info",
        "1: the name that people gave the account's protection domain.",
        ("account", "name"),
        (((b.account_id, b.name), 1.0) for b in budgets.fullest),
    )
    yield _one("budget_accounts", "Budget accounts; the fullest have gauges.", budgets.accounts)
    yield _one("budget_exposed_accounts", "Those of them that are exposed.", budgets.exposed)
    yield _one("budget_blocked_accounts", "Those of them that are blocked.", budgets.blocked)


def _heads(budgets: Sequence[BudgetGauge]) -> Iterator[Metric]:
    yield _gauge(
        "ledger_head_sequence",
        "Number of the account's last entry. It never falls.",
        ("account",),
        (((budget.account_id,), budget.sequence) for budget in budgets),
    )
    yield _gauge(
        "ledger_head_fingerprint",
        "The first 48 bits of the last entry's hash, as a number. It changes with the sequence only.",
        ("account",),
        (((budget.account_id,), budget.fingerprint) for budget in budgets),
    )


def _work(work: WorkGauges, totals: Counts) -> Iterator[Metric]:
    ended = {state.value: totals.ended(state) for state in JobState if state in TERMINAL}
    jobs = (((state,), count) for state, count in {**work.unfinished, **ended}.items())
    yield _gauge("jobs", "Jobs by state.", ("state",), jobs)
    running = dict.fromkeys(sorted(generators()), 0) | work.running
    yield _gauge(
        "jobs_running",
        "Running jobs by method.",
        ("method",),
        (((m,), count) for m, count in running.items()),
    )
    yield _gauge(
        "uploads",
        "Uploads that are not validated yet, by state.",
        ("state",),
        (((state,), count) for state, count in work.uploads.items()),
    )
    yield _gauge(
        "shards",
        "Shards of releases that are not drawn yet, by state.",
        ("state",),
        (((state,), count) for state, count in work.shards.items()),
    )
    yield _since("jobs_oldest_waiting", "Since when the first job in the queue waits.", work.waiting_since)
    yield _since(
        "publishing_oldest",
        "When the oldest release that cannot be read yet was charged.",
        work.committed_since,
    )
    yield _one("outbox_unsent", "Due messages that the broker has not been told.", work.unsent)
    yield _since("outbox_oldest", "Since when the oldest due message waits.", work.unsent_since)
    yield _gauge(
        "worker_heartbeat_timestamp_seconds",
        "Last sign of life of a host's workers, while they hold work.",
        ("worker",),
        (((host,), at) for host, at in work.heard_at.items()),
    )
    yield _one("gpus_held", "GPUs that workers hold, idle or not.", work.gpus_held)
    yield _one("jobs_waiting_for_gpu", "Queued jobs that only a worker with a GPU may claim.", work.for_gpus)
    yield _gauge(
        "worker_gpu_memory_capacity_bytes",
        "Memory of a GPU.",
        GPU,
        (((host, str(gpu.gpu)), gpu.capacity_bytes) for host, gpu in work.gpus),
    )
    yield _gauge(
        "worker_gpu_memory_used_bytes",
        "Memory of a GPU that is in use, in sixteenths of all, rounded up.",
        GPU,
        (((host, str(gpu.gpu)), gpu.used_bytes) for host, gpu in work.gpus),
    )


def _totals(totals: Counts) -> Iterator[Metric]:
    """Count rows. Known kinds and methods begin at zero, so that their first event is a rise."""
    methods = sorted({*generators(), *(method for method, _ in (*totals.waits, *totals.durations))})
    entries = dict.fromkeys((kind.value for kind in EntryKind), 0) | totals.entries
    finished = {(method, JobState.PUBLISHED.value, ""): 0 for method in methods} | totals.finished
    yield _counter("ledger_entries", "Ledger entries by kind.", ("kind",),
                   (((kind,), count) for kind, count in entries.items()))  # fmt: skip
    yield _counter(
        "jobs_finished",
        "Jobs that ended, by method and by how.",
        ("method", "outcome", "reason"),
        finished.items(),
    )
    yield _counter(
        "job_lost_attempts",
        "Attempts that ended because their worker was gone, or was told to stop.",
        (),
        [((), totals.lost_attempts)],
    )
    yield _histogram("job_queue_wait_seconds", "How long jobs waited for a worker.", methods, totals.waits)
    yield _histogram(
        "job_duration_seconds", "How long jobs ran, attempts included.", methods, totals.durations
    )


def _checks(gauges: Gauges) -> Iterator[Metric]:
    yield _gauge(
        "invariant_violations",
        "Places in which the promise was broken when last checked.",
        ("invariant",),
        (((check.invariant,), check.violations) for check in gauges.checks if check.checked_at is not None),
    )
    yield _gauge(
        "invariant_checked_timestamp_seconds",
        "When the promise was last checked; 0 where it never was.",
        ("invariant",),
        (((check.invariant,), check.checked_at or 0.0) for check in gauges.checks),
    )


def _gauge(name: str, meaning: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", meaning, labels=labels)
    for values, amount in rows:
        family.add_metric(values, amount)
    return family


def _counter(name: str, meaning: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}_{name}", meaning, labels=labels)
    for values, amount in rows:
        family.add_metric(values, amount)
    return family


def _histogram(name: str, meaning: str, methods: Iterable[str], counts: Counter[tuple[str, int]]) -> Metric:
    """Write buckets only: a sum would tell single durations, where one job ends between two scrapes."""
    family = HistogramMetricFamily(f"{PREFIX}_{name}", meaning, labels=("method",))
    bounds = [floatToGoString(bound) for bound in (*BOUNDS, float("inf"))]
    for method in methods:
        buckets = zip(bounds, map(float, cumulative(counts, method)), strict=True)
        family.add_metric([method], list(buckets), None)
    return family


def _one(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", meaning, value=value)


def _since(name: str, meaning: str, at: float | None) -> Metric:
    """Write no series where nothing waits."""
    return GaugeMetricFamily(f"{PREFIX}_{name}_timestamp_seconds", meaning, value=at)
