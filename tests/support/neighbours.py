"""Whole fits on two neighbours, by their true answers: what lies between them is what the noise has to hide.

Every draw of noise is replaced by an answer of its own, the same for both graphs, and what it was asked to
hide is kept. So later questions are the same for both, and the distance between the true values is what the
noise has to hide: exactly, where an audit sees a part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.methods.base import no_progress
from core.privacy.accounting.events import GaussianEvent, PoissonSampled, Repeated, pure_nano_epsilon
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.ladder import cap_of
from core.privacy.session.private_graph import PrivateGraph

TRAINING = "core.privacy.mechanisms.gradients"
"""Whoever compares fits that train imports it first: torch takes seconds, and few do."""


@dataclass
class Asked:
    """What noise was asked to hide. ``pure``: true values, and nano-epsilon for a distance of 1 in L1;
    ``gaussian``: true values, and the noise's standard deviation."""

    pure: list[tuple[np.ndarray, Fraction]] = field(default_factory=list)
    gaussian: list[tuple[np.ndarray, int]] = field(default_factory=list)

    def answered(self, patch: pytest.MonkeyPatch, *modules: str) -> None:
        """Draws are kept here and answered alike; ``modules`` import the noise generator by name."""

        def laplace(values, l1_sensitivity, nano_epsilon, **_):
            self.pure.append((np.asarray(values), Fraction(nano_epsilon, l1_sensitivity)))
            return np.random.default_rng(len(self.pure)).integers(0, 4, len(values))

        def flip(source, target, shape, flips, **_):
            slots = np.zeros((shape.source_count, shape.target_count), dtype=np.int64)
            slots[source, target] = 1
            self.pure.append((slots.ravel(), Fraction(flips.nano_epsilon)))
            found = np.array([(0, 1)] if len(slots) > 1 else [], dtype=np.int64).reshape(-1, 2)
            return found[:, 0], found[:, 1]

        def ladder(count, most_common, nodes, nano_epsilon, **_):
            # All of it, where an edge closes as many as one can: its own proof and audit say why no more.
            self.pure.append((np.array([count]), Fraction(nano_epsilon, cap_of(nodes))))
            return 1

        def wide(rng, values, scale):
            self.gaussian.append((np.asarray(values), scale))
            return np.random.default_rng(len(self.gaussian)).integers(-scale, scale, len(values))

        patch.setattr(mechanisms, "discrete_laplace", laplace)
        patch.setattr("core.privacy.mechanisms.randomised_response.flip", flip)
        patch.setattr("core.privacy.mechanisms.ladder.ladder", ladder)
        patch.setattr(samplers, "add_discrete_gaussian_wide", wide)
        if training := sys.modules.get(TRAINING):
            patch.setattr(training.DpSgdSession, "_drawn", lambda self, rng: self._edges)  # in every step
        else:
            patch.setitem(sys.modules, TRAINING, None)  # whoever would train unseen fails
        for module in ("core.privacy.entropy", *modules):
            patch.setattr(f"{module}.noise_generator", lambda: np.random.default_rng(5))


def compared(
    fitted: Callable[[Graph, Path], PrivacyPlan],
    one: Graph,
    other: Graph,
    cell: str,
    folder: Path,
    *modules: str,
) -> None:
    """AssertionError unless all that is read of ``one`` and ``other`` lies within what ``cell`` was granted,
    and the files of both models are the same byte for byte.

    ``fitted`` fits a graph, saves its model in the folder and gives the plan.
    """
    reads, files = [], []
    for name, graph in (("one", one), ("other", other)):
        asked = Asked()
        with pytest.MonkeyPatch.context() as patch:
            asked.answered(patch, *modules)
            plan = fitted(graph, folder / name)
        reads.append(asked)
        saved = [path for path in (folder / name).rglob("*") if path.is_file()]
        files.append({path.relative_to(folder / name): path.read_bytes() for path in saved})
    assert files[0] == files[1]
    events = plan.cells[cell, None]
    pure = [pure_nano_epsilon(event) for event in events]
    spent = Fraction(0)
    for (a, rate), (b, again) in zip(reads[0].pure, reads[1].pure, strict=True):
        assert rate == again
        spent += rate * int(np.abs(a - b).sum())
    assert spent <= sum(amount or 0 for amount in pure)
    noise = [sigma for event, own in zip(events, pure, strict=True) if own is None for sigma in _noise(event)]
    distances = []
    for (a, scale), (b, again) in zip(reads[0].gaussian, reads[1].gaussian, strict=True):
        assert scale == again
        distances.append(Fraction(int(np.square(a - b).sum()), scale**2))
    moved = [each for each in distances if each]
    assert len(moved) <= len(noise)
    assert all(each * sigma**2 <= 1 for each, sigma in zip(moved, noise, strict=False))


def _noise(event) -> list[Fraction]:
    """The noise multiplier of every Gaussian draw of an event."""
    match event:
        case GaussianEvent(sigma):
            return [Fraction(sigma)]
        case Repeated(PoissonSampled(_, GaussianEvent(sigma)), times):
            return [Fraction(sigma)] * times
    raise AssertionError(f"not known: {event}")


def fit_of(generator, params, facts) -> Callable[[Graph, Path], PrivacyPlan]:
    """A fit under these public facts, as :func:`compared` wants it."""

    def fitted(graph: Graph, folder: Path) -> PrivacyPlan:
        plan = generator.plan(params, facts)
        session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
        generator.fit(session, plan, params, no_progress).save(folder)
        return plan

    return fitted


def toggled(graph: Graph, relation: str) -> list[Graph]:
    """Every graph that has one edge more or less in ``relation``."""
    declared, table = graph.schema.edge_type(relation), graph.edges[relation]
    rows, columns = (graph.nodes[end].count for end in (declared.source, declared.target))
    present = {(int(u), int(v)) for u, v in zip(table.source, table.target, strict=True)}
    found = []
    for u in range(rows):
        for v in range(columns):
            if declared.homogeneous and (u == v or (u > v and not declared.directed)):
                continue
            ends = np.array(sorted(present ^ {(u, v)}), dtype=np.int64).reshape(-1, 2)
            edges = {**graph.edges, relation: EdgeTable(ends[:, 0], ends[:, 1])}
            found.append(Graph.build(graph.schema, graph.nodes, edges))
    return found
