"""A graph from declared facts only, at epsilon 0. It is for developers, before anything is approved.

Read are the public schema, sizes and what the caller says; no folder that holds a graph is named here. The
result is no release of the dataset: its edges follow from a law that somebody chose. The caller's machine
makes it by the same code as a job of the service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core import ids
from core.errors import PlanExceeded, PrivacyViolation
from core.evaluation.suite import public_statistics
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Attribute, Derived, EdgeType, GraphSchema
from core.graphs.schema.node_bins import node_bins, synthesised, vectors
from core.graphs.views.pseudonyms import pseudonymise
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import edge_table
from core.methods._shared.node_values.model import with_values
from core.methods.base import Progress
from core.privacy.accounting.guarantee import MARK, guarantee_of
from core.privacy.accounting.plan import DECLARED, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import public_generator
from core.privacy.units import Unit
from core.publishing import bundle
from core.publishing.declarations import (
    FILE,
    TITLE,
    Declarations,
    DeclaredParams,
    Mixing,
    Relation,
    counts_of,
    declarations,
    edges_of,
    plan_of,
)
from core.publishing.spec import Declared, ReleaseTask
from core.publishing.write import export
from core.reports.build import Origin, public_part

ROUNDS = 64


def make_declared(
    schema: GraphSchema,
    parameters: Mapping[str, Any],
    out: Path,
    progress: Progress,
    *,
    formats: Sequence[str] = (),
    seed: int | None = None,
) -> None:
    """Make a graph from declared facts. Its tables, formats and report go to the folder ``out``.

    Raises InvalidInput, NotAccepted and UnknownFormat, with the field to mend. O(n + m log m).
    """
    said = declarations(schema, {}, parameters, formats=formats)
    unit = Unit.EVENT if said.released.temporal else Unit.EDGE
    origin = Origin(ids.new_id(ids.JOB), DECLARED, DECLARED, DECLARED, TITLE, seed)
    _make(said, schema, plan_of(unit, None, schema.steps), origin, out, progress)


def run_declared(*, schema: GraphSchema, task: ReleaseTask, out: Path, progress: Progress) -> None:
    """Write a job's bundle to ``out``: ``release/`` and ``manifest.json``. Nothing of it is private.

    ``schema`` is the dataset's public one; no file of the dataset is needed, or given. Raises PlanExceeded
    for a plan that reads, and as :func:`make_declared`.
    """
    spec = task.release
    if not isinstance(spec, Declared):
        raise PrivacyViolation("only declarations are made without a graph")
    said = declarations(schema, spec.nodes, spec.params, edge_types=spec.edge_types, formats=spec.formats)
    plan = plan_of(spec.unit, spec.window, schema.steps)
    # By digest, as every release does: a plan with any read in it must not pass as one of none.
    if PrivacyPlan.from_json(task.plan).digest() != plan.digest():
        raise PlanExceeded("the reserved plan is not one that reads nothing")
    origin = Origin(spec.job_id, spec.dataset_id, spec.dataset_version, DECLARED, TITLE, spec.seed)
    media_types = _make(said, schema, plan, origin, out / "release", progress, spec.derived)
    named = {f"release/{name}": kind for name, kind in media_types.items()}
    bundle.write_json(out / "manifest.json", bundle.manifest(out, named))


def _make(
    said: Declarations,
    schema: GraphSchema,
    plan: PrivacyPlan,
    origin: Origin,
    out: Path,
    progress: Progress,
    derived: Sequence[Derived] = (),
) -> Mapping[str, str]:
    """Sample the graph and write it with its report. Returned are media types by the files' names."""
    rng = public_generator(origin.seed)
    graph, _ = pseudonymise(drawn(said.released, said.params, rng, progress), rng)
    progress("write", 0, 1)
    bundle.write_tables(graph, out)
    media_types = export(graph, out, said.formats)
    parameters = said.params.model_dump(mode="json")
    bundle.write_json(
        out / FILE, {"note": MARK, "graph_schema": said.released.model_dump(mode="json"), **parameters}
    )
    part = public_part(
        guarantee=guarantee_of(plan, (), 0),
        assurance="proven",
        plan=plan,
        transcript=(),
        schema=schema,
        parameters=parameters | {"edge_types": [each.name for each in said.released.edge_types]},
        statistics=public_statistics(graph),
        origin=origin,
        artifacts=bundle.manifest(out, media_types),
        derived=derived,
        node_values=True,
    )
    bundle.write_json(out / "public.json", part.model_dump(mode="json"))
    progress("write", 1, 1)
    return media_types


def _uniform(vector: Attribute, nodes: int) -> dict[str, np.ndarray]:
    """Return the law of a vector whose numbers are anywhere within their bounds, of nodes in one group."""
    bins = node_bins(vector)
    widths = np.diff(bins.starts, append=bins.end)
    each = widths / widths.sum() if bins.count > 1 else np.ones(1)
    return {"bins": np.zeros(nodes, np.int32), "shares": np.tile(each, vector.length or 0)}


def drawn(schema: GraphSchema, params: DeclaredParams, rng: Rng, progress: Progress) -> Graph:
    """Sample values of nodes, and every relation. Values are uniform over what is declared, relations follow
    what is said of them."""
    nodes = counts_of(schema)
    bins = {
        kind.name: {
            each.name: rng.integers(0, node_bins(each).count, nodes[kind.name]) for each in synthesised(kind)
        }
        for kind in schema.node_types
    }
    laws = {
        kind.name: {each.name: _uniform(each, nodes[kind.name]) for each in vectors(kind)}
        for kind in schema.node_types
    }
    edges: dict[str, EdgeTable] = {}
    for done, relation in enumerate(schema.edge_types):
        progress("sample", done, len(schema.edge_types))
        said, ends = params.of(relation.name), (nodes[relation.source], nodes[relation.target])
        weights = [_weights(said, count, rng) for count in ends]
        # Both ends are of one law here: a node has one expected degree.
        if relation.homogeneous and not relation.directed:
            weights[1] = weights[0]
        groups = None
        if said.mixing is not None:
            groups = _groups(said.mixing, bins[relation.source], ends[0], rng)
        wanted = edges_of(relation, nodes, said)
        parts: list[tuple[int | None, np.ndarray]] = [
            (step, _pairs(relation, wanted, weights, groups, said, rng))
            for step in schema.steps_of(relation.name)
        ]
        edges[relation.name] = edge_table(parts, ends[1])
    progress("sample", len(schema.edge_types), len(schema.edge_types))
    bare = drawn_graph(schema, nodes, edges, rng)
    return with_values(bare, bins, rng, laws)


def _weights(said: Relation, count: int, rng: Rng) -> np.ndarray:
    """Draw what the expected degrees are in proportion to."""
    laws: Mapping[str, Callable[[], np.ndarray]] = {
        "poisson": lambda: np.ones(count),
        "exponential": lambda: rng.exponential(size=count),
        # The inverse of the Pareto law's distribution function.
        "power_law": lambda: (1 - rng.random(count)) ** (-1 / (said.exponent - 1)),
    }
    return np.asarray(laws[said.degrees]())


def _groups(mixing: Mixing, bins: Mapping[str, np.ndarray], count: int, rng: Rng) -> np.ndarray:
    if isinstance(mixing.groups, str):
        return bins[mixing.groups].astype(np.int64)
    return np.asarray(rng.permutation(np.arange(count) % mixing.groups))


def _pairs(
    relation: EdgeType,
    wanted: int,
    weights: Sequence[np.ndarray],
    groups: np.ndarray | None,
    said: Relation,
    rng: Rng,
) -> np.ndarray:
    """Draw distinct edges, each end in proportion to its weight; sorted keys ``source * targets + target``.

    Fewer than wanted where the weights leave too few pairs to find them in so many rounds.
    """
    sources, targets = (_Urn(each) for each in weights)
    keys, own = np.empty(0, dtype=np.int64), len(weights[1])
    inside = {} if groups is None else {int(g): _Urn(weights[1] * (groups == g)) for g in np.unique(groups)}
    for _ in range(ROUNDS):
        missing = wanted - len(keys)
        if missing <= 0:
            break
        # Some will be loops or repeats: a quarter more than missing.
        take = missing + missing // 4 + 16
        source = sources.draw(take, rng)
        if relation.functional:  # everyone once, in a random order
            source = rng.permutation(np.setdiff1d(np.arange(len(weights[0])), keys // own))[:missing]
            take = len(source)
        target = targets.draw(take, rng)
        if groups is not None and said.mixing is not None:
            near = rng.random(take) < said.mixing.within
            for group, urn in inside.items():
                rows = np.flatnonzero(near & (groups[source] == group))
                target[rows] = urn.draw(len(rows), rng)
        if relation.homogeneous:
            kept = source != target
            source, target = source[kept], target[kept]
            if not relation.directed:
                source, target = np.minimum(source, target), np.maximum(source, target)
        fresh = source * own + target
        keys = np.unique(np.concatenate([keys, fresh]))
        # Cut at random: the first of sorted keys would favour nodes of low number.
        if len(keys) > wanted:
            keys = np.sort(rng.permutation(keys)[:wanted])
    return keys


class _Urn:
    """Draws indices in proportion to weights."""

    def __init__(self, weights: np.ndarray) -> None:
        self._ends = np.cumsum(weights)

    def draw(self, count: int, rng: Rng) -> np.ndarray:
        """Draw ``count`` of them, with replacement."""
        found = np.searchsorted(self._ends, rng.random(count) * self._ends[-1], side="right")
        return np.asarray(np.minimum(found, len(self._ends) - 1))
