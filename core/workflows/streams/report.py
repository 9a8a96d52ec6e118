"""A stream's report, step by step. It has what each cost, what its windows carry, and how good its release
is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.datasets import vault
from core.errors import NotFound, StorageError
from core.identity.service import Principal, require
from core.jobs import repository as jobs
from core.jobs.models import Artifact, EvaluationState, JobState
from core.ledger import holdings
from core.ledger import service as ledger
from core.ledger.filters import steps_of
from core.ledger.holdings import STEPS_SHOWN
from core.privacy.accounting.events import NANO
from core.privacy.accounting.guarantee import inequality
from core.reports.evidence import CuratorPart
from core.reports.model import PublicPart
from core.reports.stored import curator_of, public_of
from core.storage.sealed import unseal
from core.streams import repository, service
from core.streams.models import Snapshot, Stream
from core.workflows.common import unpaid
from core.workflows.common.context import Services
from core.workflows.datasets.dataset_policies import reads_comparisons
from core.workflows.releases.bundles import REPORT
from core.workflows.releases.evaluate import CURATOR_REPORT
from core.workflows.releases.publish import seal_context
from core.workflows.streams.queries import READERS, by_step, step_page, steps_after, views
from graphveil.amounts import format_epsilon
from graphveil.models.ledger import Budget
from graphveil.models.streams import FullestWindow, StreamReport, StreamRow
from graphveil.models.streams import Snapshot as View

STATISTICS = ("components", "transitivity")
SCALAR_ERRORS = {
    "density_error": "density",
    "assortativity_error": "assortativity",
    "transitivity_error": "transitivity",
}
DISTANCES = ("degree_total_variation", "top_eigenvector_overlap", "edge_overlap")

METRICS = {
    "edges": "Edges of the release.",
    "mean_degree": "Mean degree of the release, over all nodes.",
    "components": "Connected components of the release; a node without an edge is one.",
    "transitivity": "Three times the triangles of the release over its paths of length two.",
    "density_error": "|original - release| / original, of the density.",
    "degree_total_variation": "Half the sum of |differences| of both degree distributions.",
    "top_eigenvector_overlap": "Share of the top 1 % nodes by eigenvector centrality that both graphs have.",
    "edge_overlap": "Share of the release's edges that the original has too. It says nothing about epsilon.",
    "assortativity_error": "|original - release| / |original|, of the degree assortativity.",
    "transitivity_error": "|original - release| / original, of the transitivity.",
    "value_distance": "How far what edges carry is from the original's, over all edges: the mean over the "
    "attributes, from 0 to 1.",
}
"""What the names in the rows mean. With several relations, figures are means over them; edges are summed."""


@dataclass(frozen=True)
class _Files:
    """The two parts of a release's report, as far as the caller may read them, and what opens the second."""

    public: Artifact | None = None
    curator: Artifact | None = None


def stream_report(
    services: Services,
    principal: Principal,
    stream_id: str,
    after: int | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> StreamReport:
    """Make the report with one page of steps after ``after``. ``counts``: snapshots by outcome, or waiting.

    ``metrics``: what the names in the rows mean. Raises Forbidden, NotFound, InvalidInput, StorageError.
    """
    require(principal, *READERS)
    page = step_page(services, principal, "stream report", stream_id, after, cursor, limit)
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=stream_id)
        name = datasets.existing(session, stream.dataset_id).name
        found = repository.snapshots(session, stream_id, after=steps_after(page, after), limit=page.size + 1)
        rows, more = page.cut(found, by_step)
        shown = views(session, principal, stream, rows)
        counts = repository.count_by_outcome(session, stream_id)
        statement = ledger.statement(session, stream.account_id)
        windows = _windows(session, stream, rows)
        curator = reads_comparisons(session, principal, stream.dataset_id)
        files = {view.job_id: _files(session, view, curator) for view in shown}
        key = _key(services, session, stream) if curator else None
    # The store is read when no transaction is open: a slow one must not use up the database's connections.
    return StreamReport(
        stream_id=stream.id,
        dataset_id=stream.dataset_id,
        dataset_name=name,
        method=stream.method,
        state=stream.state,
        window=stream.window,
        epsilon=format_epsilon(stream.nano_epsilon),
        step_epsilon=format_epsilon(stream.tick_nano_epsilon),
        statement=_statement(stream),
        not_covered=_not_covered(stream),
        first_step=stream.first_step,
        next_step=stream.next_step,
        counts=unpaid.outcomes(principal, counts),
        worst_window=_worst(statement),
        capacity=statement.capacity.epsilon,
        metrics=METRICS,
        rows=[
            _row(services, view, files[view.job_id], windows[row.step], key)
            for row, view in zip(rows, shown, strict=True)
        ],
        next_cursor=more,
    )


def _windows(session: Session, stream: Stream, rows: Sequence[Snapshot]) -> dict[int, int]:
    """For each row what the account's window that ends at its step holds: charged, reserved and untimed."""
    if not rows:
        return {}
    spend: dict[int, int] = {}
    untimed, last = 0, rows[-1].step
    # A snapshot of the account shows so many steps at most.
    for position in range(max(0, rows[0].step - stream.window + 1), last + 1, STEPS_SHOWN):
        stretch = (position, min(position + STEPS_SHOWN - 1, last))
        _, balances = holdings.snapshot(session, stream.account_id, steps=stretch)
        untimed = balances["untimed"].committed
        spend |= {step: balances[f"step/{step}"].committed for step in steps_of(balances)}
    sums, steps = {}, sorted(spend)
    total = low = high = 0
    for row in rows:
        # Each step with spend enters the sliding window once, and leaves it once.
        while high < len(steps) and steps[high] <= row.step:
            total, high = total + spend[steps[high]], high + 1
        while low < high and steps[low] <= row.step - stream.window:
            total, low = total - spend[steps[low]], low + 1
        sums[row.step] = untimed + total
    return sums


def _worst(statement: Budget) -> FullestWindow:
    first, last = statement.tightest_window or (None, None)
    return FullestWindow(
        first_step=first,
        last_step=last,
        charged=statement.charged.epsilon,
        reserved=statement.reserved.epsilon,
    )


def _statement(stream: Stream) -> str:
    epsilon = format_epsilon(stream.nano_epsilon)
    steps = "step" if stream.window == 1 else "consecutive steps"
    return (
        f"w-event privacy with w = {stream.window} and epsilon = {epsilon}: take any {stream.window} {steps} "
        "and in each of them add or remove one edge, before that P and after it P' are the probabilities of "
        "what the stream publishes, all steps together: "
        f"{inequality(Decimal(stream.nano_epsilon) / NANO)} for every set S of it."
    )


def _not_covered(stream: Stream) -> tuple[str, ...]:
    return (
        f"A relation that lasts longer than {stream.window} steps: over k steps it is protected by the sum "
        f"of their epsilons only, which grows with k beyond the {format_epsilon(stream.nano_epsilon)} of one "
        "window.",
        "Several edges of one node in one step: each counts for itself.",
        "Who the nodes are, and that they exist: the list of nodes is public. So are the relations and the "
        "time grid.",
        "When a snapshot was sent, and that it came to no release: this is not part of any release.",
    )


def _files(session: Session, view: View, curator: bool) -> _Files:
    if view.state != JobState.PUBLISHED:
        return _Files()
    done = curator and view.evaluation == EvaluationState.DONE
    return _Files(
        jobs.artifact(session, view.job_id, REPORT),
        jobs.artifact(session, view.job_id, CURATOR_REPORT) if done else None,
    )


def _key(services: Services, session: Session, stream: Stream) -> bytes | None:
    """What opens the curators' parts; None once the dataset is erased."""
    try:
        return vault.content_key(session, stream.dataset_id, services.settings.master_key)
    except NotFound:
        return None


def _row(
    services: Services, view: View, files: _Files, window_nano_epsilon: int, key: bytes | None
) -> StreamRow:
    statistics = comparison = None
    if files.public is not None:
        content = b"".join(services.store.get(files.public.object_key))
        if hashlib.sha256(content).hexdigest() != files.public.sha256:
            raise StorageError("a published report has another digest", job_id=view.job_id)
        statistics = _statistics(public_of(content))
    if files.curator is not None and key is not None:
        sealed = services.store.get(files.curator.object_key)
        opened = unseal(sealed, key, context=seal_context(view.job_id, CURATOR_REPORT))
        comparison = _comparison(curator_of(b"".join(opened)))
    return StreamRow(
        step=view.step,
        starts_at=view.starts_at,
        ends_at=view.ends_at,
        job_id=view.job_id,
        state=view.state,
        reason=view.reason,
        epsilon=view.epsilon,
        window_epsilon=format_epsilon(window_nano_epsilon),
        statistics=statistics,
        comparison=comparison,
        evaluation=view.evaluation,
    )


def _statistics(part: PublicPart) -> dict[str, float | None]:
    relations = part.statistics.edge_types
    return {
        "edges": float(sum(each.edges for each in relations)),
        "mean_degree": _mean([each.degrees[0].mean for each in relations if each.degrees]),
        **{name: _mean([each.means.get(name) for each in relations]) for name in STATISTICS},
    }


def _comparison(part: CuratorPart) -> dict[str, float | None]:
    """Compute the headline figures; None where one is undefined. What the suite omits is omitted here."""
    overall, whole = part.comparison.overall, part.comparison.whole
    scalars: Mapping[str, Any] = {} if overall is None else overall.scalars
    distances = dict({} if overall is None else overall.distances)
    distances |= {} if whole is None else whole.sequences
    errors = {
        name: None if (found := scalars.get(metric)) is None else found.relative_error
        for name, metric in SCALAR_ERRORS.items()
    }
    carried = [each.row for relation in part.comparison.edge_types for each in relation.values]
    of_values = (
        {"value_distance": _mean([row.distances.get("value_distance") for row in carried])} if carried else {}
    )
    return errors | {name: distances[name] for name in DISTANCES if name in distances} | of_values


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
