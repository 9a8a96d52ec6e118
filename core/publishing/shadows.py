"""Shadow releases, from an attacker's knowledge. They show what an attacker who knows the method can learn
from publishing the release once more."""

from __future__ import annotations

import numpy as np
from pydantic import ValidationError

from core.errors import GraphveilError
from core.evaluation.attacks.named import DefenceShadow
from core.evaluation.metric import Suite
from core.graphs.graph import Graph
from core.graphs.views.sensitive import SensitiveLinks
from core.methods import registry
from core.methods.base import FittedModel, Method, Progress, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.publishing.release import with_weights
from core.publishing.spec import EvaluationSpec
from core.publishing.tick import fitted

SHADOWS = {Suite.QUICK: 0, Suite.STANDARD: 1, Suite.FULL: 3}
OF_DEFENCES = 1
"""A defence is learned from hundreds of links that it hides, all of them in one shadow."""
PARTS = 100


def shadow_releases(
    published: Graph, spec: EvaluationSpec, progress: Progress = no_progress
) -> list[DefenceShadow]:
    """Make graphs that an attacker can make. They are the release published again by its method; what was
    hidden there comes with them.

    The original is not read: the release stands for it, and its meter is charged to nobody. A method that
    hides links draws some of its own. Empty where the method does not take its own output, and for more
    links than ``spec.shadow_links``. Time: a fit each; progress counts hundredths of all under the stage
    ``shadow``.
    """
    release = spec.release
    facts = release.facts(published.schema)
    shadows: list[DefenceShadow] = []
    tell = _Hundredths(progress)
    try:
        generator = registry.get(release.method)
        count = wanted(generator, published, spec)
        params = generator.Params.model_validate(release.params)
        plan = generator.plan(params, facts)
        for number in range(count):
            session = PrivateGraph(published, Meter(plan, MemoryRecorder()))
            model, _ = fitted(release, generator, session, plan, params, None, tell.of(number, count))
            hidden = model.hidden_links() or SensitiveLinks({})
            shadows.append(DefenceShadow(published, _drawn(model, number), hidden))
    # Not every method takes its own output: then there is nothing to learn from, and no fault.
    except (GraphveilError, ValidationError):
        shadows = []
    tell.finish()
    return shadows


def _drawn(model: FittedModel, seed: int) -> Graph:
    """Draw one sample as it is measured: of weights the links that they make."""
    sampled = model.sample(public_generator(seed), no_progress)
    # The sample keeps its nodes' order: weights find their edges without a permutation.
    same = {name: np.arange(table.count) for name, table in sampled.nodes.items()}
    return with_weights(sampled, same, model.edge_weights()).present()


def wanted(generator: Method, published: Graph, spec: EvaluationSpec) -> int:
    """Count the shadow releases to make. The suite, the method, the settings and the release's size allow so
    many."""
    if sum(table.count for table in published.edges.values()) > spec.shadow_links:
        return 0
    most = OF_DEFENCES if generator.hides_links else SHADOWS[spec.suite]
    return min(most, SHADOWS[spec.suite], spec.shadows)


class _Hundredths:
    """Progress over several fits, each of which tells its own stages: never backwards."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0
        progress("shadow", 0, PARTS)

    def of(self, number: int, fits: int) -> Progress:
        """Return the progress of one of ``fits``."""

        def passed_on(stage: str, done: int, total: int) -> None:
            self._reached(PARTS * (number * max(total, 1) + done) // (fits * max(total, 1)))

        return passed_on

    def finish(self) -> None:
        """Report that every fit is done."""
        self._reached(PARTS)

    def _reached(self, done: int) -> None:
        if done > self._done:
            self._done = min(done, PARTS)
            self._progress("shadow", self._done, PARTS)
