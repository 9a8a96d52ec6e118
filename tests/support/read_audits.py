"""Audits of single reads: a session that asks one read again and again, and says what each told.

A read is audited by itself: its own outputs, judged against what its own line of the transcript costs. The
neighbours are those that it tells apart best, the event lies along the likelihood ratio of its noise.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

import core.privacy
from core.graphs.graph import Graph
from core.privacy import queries
from core.privacy.accounting.audit import CONFIDENCE, audit_epsilon
from core.privacy.accounting.events import NANO, Event, Pure
from core.privacy.accounting.measurements import Measurements
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import ATTO, Allotment, PrivacyPlan
from core.privacy.mechanisms import (
    clustering,
    communities,
    ladder,
    largest_slots,
    lazy_response,
    randomised_response,
    samplers,
)
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.between_steps import SetAside
from core.privacy.reads.bounded_values import BoundedValues
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import Kept

Ask = Callable[[PrivateGraph], Any]
Answers = Callable[[Graph, int], np.ndarray]


@dataclass(frozen=True)
class ReadAudit:
    """One read of ``read``, a name of :func:`registered_reads`, asked by ``ask`` under ``plan``.

    ``graphs`` are neighbours. ``evidence(answers)`` turns (runs, d) answers into features; without it the
    answers are the truth and noise: of Laplace noise each is cut to the two truths, of Gaussian noise they
    are summed along the line between these. ``truths``: both, where chance beside the noise decides them.
    ``many`` runs the read as often as it is told, for one that is not asked of a session so often.
    """

    name: str
    read: str
    plan: PrivacyPlan
    graphs: tuple[Graph, Graph]
    ask: Ask
    runs: int = 2_000
    evidence: Callable[[np.ndarray], np.ndarray] | None = None
    truths: tuple[Any, Any] | None = None
    many: Answers | None = None
    slow: bool = False


def plan_of(
    event: Event,
    *cells: tuple[str, int | None],
    unit: Unit = Unit.EDGE,
    steps: int = 1,
    window: int | None = None,
    delta_atto: int = 0,
) -> PrivacyPlan:
    """Plan one event in each of the cells; the relation ``edge``, where none is named."""
    granted = tuple(Allotment(*cell, event, "audit") for cell in cells or (("edge", None),))
    return PrivacyPlan("audit", unit, window, steps, granted, delta_atto)


def pure(epsilon: float) -> Pure:
    return Pure(round(epsilon * NANO), "audit")


def session(audit: ReadAudit, graph: Graph, reads: int) -> PrivateGraph:
    """A session that may ask the read so often."""
    plan = replace(audit.plan, allotments=audit.plan.allotments * reads)
    return PrivateGraph(graph, Meter(plan, MemoryRecorder()))


def answers(audit: ReadAudit, graph: Graph, count: int) -> np.ndarray:
    """What the read answers, so often, independently; (count, d)."""
    if audit.many is not None:
        return audit.many(graph, count)
    asked = session(audit, graph, count)
    return np.stack([_flat(audit.ask(asked)) for _ in range(count)])


def paid(audit: ReadAudit) -> tuple[Allotment, ...]:
    """What the transcript of one read says."""
    asked = session(audit, audit.graphs[0], 1)
    audit.ask(asked)
    lines = asked._meter.transcript
    return tuple(Allotment(e.edge_type, e.step, e.event, e.purpose) for e in lines if e.group is None)


def promised(audit: ReadAudit) -> float:
    """The epsilon of the transcript of one read, as it is printed for a release that makes no other."""
    return replace(audit.plan, allotments=paid(audit)).cost().nano_epsilon / NANO


def measured(audit: ReadAudit) -> Callable[[int, float], float]:
    """From so many runs on each neighbour, at a confidence: a lower bound on the epsilon of the read."""
    features = audit.evidence or _along_the_truths(audit)
    kept = Kept(lambda graph, count: features(answers(audit, graph, count)))
    delta = audit.plan.delta_atto / ATTO

    def bound(runs: int, confidence: float = CONFIDENCE) -> float:
        return audit_epsilon(kept, *audit.graphs, runs=runs, delta=delta, confidence=confidence).lower_bound

    return bound


def _flat(answer: Any) -> np.ndarray:
    return np.asarray(getattr(answer, "values", answer), dtype=np.float64).ravel()


def _along_the_truths(audit: ReadAudit) -> Callable[[np.ndarray], np.ndarray]:
    with _without_noise():
        truths = audit.truths or [answers(audit, graph, 1)[0] for graph in audit.graphs]
    one, other = (_flat(truth) for truth in truths)
    if audit.plan.delta_atto:
        return lambda told: (told @ (one - other))[:, None]
    low, high, sign = np.minimum(one, other), np.maximum(one, other), np.sign(one - other)
    return lambda told: (np.clip(told, low, high) @ sign)[:, None]


def _patched(*replaced: tuple[Any, str, Any]) -> ExitStack:
    stack = ExitStack()
    for owner, name, other in replaced:
        stack.enter_context(patch.object(owner, name, other))
    return stack


def _without_noise() -> ExitStack:
    return _patched(
        (mechanisms, "discrete_laplace", lambda values, *_, **__: values),
        (mechanisms, "discrete_gaussian", lambda values, *_, **__: values),
        (samplers, "add_discrete_gaussian_wide", lambda rng, values, scale: values),
    )


@contextmanager
def half_noise() -> Iterator[None]:
    """Every mechanism adds half the noise that was paid for; plan and transcript say what they always do."""
    laplace, gaussian, wide = (
        mechanisms.discrete_laplace,
        mechanisms.discrete_gaussian,
        samplers.add_discrete_gaussian_wide,
    )
    climbed, labels, largest = ladder.climbed, communities.exponential_pass, largest_slots.largest
    flip, respond = randomised_response.flip, lazy_response.respond

    def bolder(flips: randomised_response.Flips) -> randomised_response.Flips:
        return randomised_response.Flips.symmetric(2 * flips.nano_epsilon)

    def bold_climb(value: int, first: int, step: int, growth: int | None, nano: int, **given: Any) -> int:
        return climbed(value, first, step, growth, 2 * nano, **given)

    with _patched(
        (mechanisms, "discrete_laplace", lambda x, l1, nano, **given: laplace(x, l1, 2 * nano, **given)),
        (mechanisms, "discrete_gaussian", lambda x, l2, sigma, **given: gaussian(x, l2, sigma / 2, **given)),
        (samplers, "add_discrete_gaussian_wide", lambda rng, x, scale: wide(rng, x, max(1, scale // 2))),
        (ladder, "climbed", bold_climb),
        (clustering, "climbed", bold_climb),
        (communities, "exponential_pass", lambda a, x, order, nano: labels(a, x, order, 2 * nano)),
        (largest_slots, "largest", lambda s, t, shape, keep, nano: largest(s, t, shape, keep, 2 * nano)),
        (randomised_response, "flip", lambda s, t, shape, flips: flip(s, t, shape, bolder(flips))),
        (
            lazy_response,
            "respond",
            lambda s, t, shape, step, flips, room: respond(s, t, shape, step, bolder(flips), room),
        ),
    ):
        yield


NOT_READS = (Meter, Measurements, SetAside)
"""What takes a purpose, and charges or keeps for a read that another class offers."""


def registered_reads() -> set[str]:
    """Every read of the privacy package by name: what is public and says what it is asked for.

    A named query is one for each kind of noise, and so are the reads of values and of numbers of records.
    """
    reads: set[str] = set()
    for module in pkgutil.walk_packages(core.privacy.__path__, "core.privacy."):
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind) and kind.__module__ == module.name and kind not in NOT_READS:
                reads |= {name for each in _metered(kind) for name in _apart(kind, each)}
    return reads


def _metered(kind: type) -> Iterator[str]:
    for name, held in vars(kind).items():
        open_to_all = not name.startswith("_") and inspect.isfunction(held)
        if open_to_all and "purpose" in inspect.signature(held).parameters:
            yield name


def _apart(kind: type, name: str) -> Iterator[str]:
    if name in ("laplace", "gaussian"):
        yield from (f"{name} {query}" for query in queries.QUERIES)
    elif kind in (EdgeValueReads, BoundedValues):
        yield from (f"{kind.__name__}.{name} of {what}" for what in ("values", "numbers"))
    else:
        yield f"{kind.__name__}.{name}"
