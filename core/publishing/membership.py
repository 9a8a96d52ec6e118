"""A release's twin, to tell who took part. Its method is run once more, without some persons."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from core.errors import GraphveilError
from core.evaluation.attacks import membership
from core.evaluation.attacks.projection import protected_relations
from core.evaluation.metric import Suite
from core.graphs.graph import Graph
from core.methods import registry
from core.methods.base import Progress, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator, public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.spec import EvaluationSpec
from core.publishing.tick import fitted
from core.reports.model import GuaranteePart

SEED = 20_231_216
_FEW = f"Fewer than {membership.FEWEST_TARGETS} persons have edges: a figure would say little."
_LARGE = "The method would have to be run once more, which the settings or the suite do not allow here."
_REFUSED = "The method does not take a graph that lacks some persons."


def membership_attacks(
    original: Graph, spec: EvaluationSpec, guarantee: GuaranteePart, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Attack a twin of the release for membership. Returned are the report's Attack entries, none but under
    unit node.

    The twin is fitted on the original without half of the targets, at the plan's epsilon, and charged to
    nobody: it is thrown away, and what is found is for the curators. ``guarantee``: as printed.
    Not made in the suite ``quick``, where ``spec.shadows`` is 0, and beyond ``spec.shadow_links`` edges.
    Time: one fit and one sample.
    """
    release = spec.release
    if release.unit is not Unit.NODE:
        return []
    relations = protected_relations(original, original)
    links = sum(original.edges[relation.name].count for relation in relations)
    if spec.suite is Suite.QUICK or not spec.shadows or links > spec.shadow_links:
        return membership.not_run(_LARGE)
    person = original.schema.protected_type
    name = person.name if person is not None else relations[0].source
    game = membership.deal(original, name, relations, public_generator(SEED))
    if game is None:
        return membership.not_run(_FEW)
    progress("membership", 0, 1)
    try:
        generator = registry.get(release.method)
        params = generator.Params.model_validate(release.params)
        plan = generator.plan(params, release.facts(original.schema))
        # A meter of its own, and no account behind it: the twin is thrown away.
        session = PrivateGraph(game.held, Meter(plan, MemoryRecorder()))
        model, _ = fitted(release, generator, session, plan, params, None, no_progress)
        twin = model.sample(noise_generator(), no_progress)
    # By the method's own rules: what it says of a twin is no fault of the release.
    except (GraphveilError, ValidationError):
        return membership.not_run(_REFUSED)
    most = 1.0
    if guarantee.epsilon is not None:
        most = membership.bound(float(guarantee.epsilon), float(guarantee.delta or 0))
    rows = membership.entries(original, game, twin, name, relations, most)
    progress("membership", 1, 1)
    return rows
