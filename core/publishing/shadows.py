"""Shadow releases: what an attacker who knows the method can learn from publishing the release once more."""

from __future__ import annotations

from pydantic import ValidationError

from core.errors import GraphveilError
from core.evaluation.metric import Suite
from core.generators import registry
from core.generators.base import PublicFacts, no_progress
from core.graphs.graph import Graph
from core.privacy.entropy import public_generator
from core.privacy.meter import MemoryRecorder, Meter
from core.privacy.private_graph import PrivateGraph
from core.publishing.spec import EvaluationSpec
from core.publishing.tick import fitted

SHADOWS = {Suite.QUICK: 0, Suite.STANDARD: 1, Suite.FULL: 3}


def shadow_releases(published: Graph, spec: EvaluationSpec) -> list[tuple[Graph, Graph]]:
    """Pairs (original, published) that an attacker can make: each publishes the release again by its method.

    The original is not read: the release stands for it, and its meter is charged to nobody. Empty where the
    method does not take its own output, for instance because a declared fact of the original is not one of
    the release. Time: a fit each.
    """
    facts = PublicFacts(
        published.schema,
        spec.unit,
        spec.window,
        spec.nano_epsilon,
        spec.delta_atto,
        spec.edge_types,
        tick=None if spec.tick is None else spec.tick.step,
    )
    shadows = []
    try:
        generator = registry.get(spec.method)
        params = generator.Params.model_validate(spec.params)
        plan = generator.plan(params, facts)
        for seed in range(SHADOWS[spec.suite]):
            session = PrivateGraph(published, Meter(plan, MemoryRecorder()))
            model, _ = fitted(generator, session, plan, params, spec.tick, None, no_progress)
            shadows.append((published, model.sample(public_generator(seed), no_progress)))
    except (GraphveilError, ValidationError):
        return []
    return shadows
