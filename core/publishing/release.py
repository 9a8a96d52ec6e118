"""From a stored private graph to a release bundle, through the meter.

Everything that can be refused is refused before the data is opened: a refusal then says nothing about it and
costs nothing. That it is about to be opened is told first, durably: from there on a failure can depend on the
data, and costs. After it the only errors are a generator's own and privacy violations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from core.errors import InvalidInput, PlanExceeded, PrivacyViolation
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema, NodeIds, Protection
from core.graphs.stored.whole import read_schema
from core.graphs.views.pseudonyms import Permuter, pseudonymise, sorted_by_id
from core.graphs.views.sensitive import FILE as SENSITIVE
from core.graphs.views.sensitive import read_sensitive
from core.methods import registry
from core.methods.base import FittedModel, Method, Progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import Meter, Recorder, require_metered
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import noise_generator, public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.publishing import checks
from core.publishing.original import read_original
from core.publishing.resized import at_size
from core.publishing.spec import ReleaseTask
from core.publishing.tick import before_of, fitted, kept_order, save_state
from core.publishing.write import Agreed, Paid, write_bundle


def run_release(
    *,
    graph_folder: Path,
    task: ReleaseTask,
    out: Path,
    recorder: Recorder,
    progress: Progress,
    previous: Path | None = None,
) -> None:
    """Write a complete release bundle to ``out``. It has ``release/``, ``private/`` and ``manifest.json``.

    ``recorder`` was told, durably, before the graph was opened and before each metered operation drew. Errors
    before the opening: InvalidInput and its kinds (unknown method or format, parameters or plan that do not
    fit). Errors after it: PrivacyViolation (overrun, unmetered fit, a sample outside its universe)
    and the generator's own; none of this module's texts depends on the data. ``previous``, for a snapshot of
    a live stream, holds what the last published one left (:mod:`core.publishing.tick`). Time is the
    generator's plus O(m log m).
    """
    publish(registry.get(task.release.method), graph_folder, task, out, recorder, progress, previous)


def publish(
    generator: Method,
    graph_folder: Path,
    task: ReleaseTask,
    out: Path,
    recorder: Recorder,
    progress: Progress,
    previous: Path | None = None,
) -> None:
    """As :func:`run_release`, with the generator given."""
    # All that can be refused is refused by the public schema, before anything is told or opened.
    spec, agreed = task.release, agree(generator, read_schema(graph_folder), task)
    if spec.named_links and not (graph_folder / SENSITIVE).exists():
        raise InvalidInput("the list of sensitive links is missing", field="named_links")
    # Durably, before the first byte of the graph: what fails from here on is charged.
    recorder.opening()
    progress("load", 0, 1)
    # What edges of protected relations carry is not even read where the method does not synthesise it.
    carried = generator.carries(agreed.params)
    graph = read_original(graph_folder, snapshot=spec.step is not None, protected_values=carried)
    progress("load", 1, 1)
    meter = Meter(agreed.plan, recorder)
    before = before_of(previous, agreed.plan)
    private = PrivateGraph(graph, meter, partial(read_sensitive, graph_folder, graph), before)
    model, state = fitted(spec, generator, private, agreed.plan, agreed.params, previous, progress)
    # A fit that drew no paid noise has read nothing, or has read past the meter.
    require_metered(meter.transcript)
    guarantee = guarantee_of(agreed.plan, meter.transcript, spec.delta_atto, spec.window_nano_epsilon)
    paid = Paid(generator, spec, agreed, guarantee, meter.transcript, meter.measurements)

    def keep(private_folder: Path) -> None:
        model.save(private_folder / "model")
        save_state(state, private.aside.left(0), private_folder)

    write_release(model, paid, graph, out, progress, kept_order(previous), keep)


def write_release(
    model: FittedModel,
    paid: Paid,
    around: Graph,
    out: Path,
    progress: Progress,
    order: Mapping[str, np.ndarray] | None = None,
    keep: Callable[[Path], None] | None = None,
) -> None:
    """Sample from the model, and write its bundle. It has the sample with the public parts of ``around``.

    ``order`` is that of the nodes, where it was drawn before; ``keep`` writes what else is private. At
    another size than the original's nothing of ``around`` is looked at.
    """
    spec = paid.spec
    # A seed repeats the sample of a public dataset; noise itself never has one.
    rng = noise_generator() if spec.seed is None else public_generator(spec.seed)
    if spec.size is not None:
        model, paid, around = at_size(model, paid, spec.size, rng)
    sampled = model.sample(rng, progress)
    released, permutations = dress(sampled, around, paid.agreed.released, spec.edge_types, rng, order)
    released = with_weights(released, permutations, model.edge_weights())
    write_bundle(released, permutations, model, paid, out, progress, keep)


def with_weights(
    released: Graph,
    permutations: Mapping[str, np.ndarray],
    weights: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> Graph:
    """Add the model's weights to a dressed graph. Each stands at its edge; the graph comes as it is where
    there are none.

    Raises PrivacyViolation for an edge without a weight. O(m log m).
    """
    found = {}
    for name, (keys, values) in weights.items():
        table, kind = released.edges[name], released.schema.edge_type(name).source
        ends = [permutations[kind][each].astype(np.int64) for each in (table.source, table.target)]
        # In the original's order, in which the model's keys are.
        own = np.minimum(*ends) * released.nodes[kind].count + np.maximum(*ends)
        place = np.searchsorted(keys, own)
        if not len(own):
            found[name] = np.empty(0, dtype=np.float32)
        elif place.max() >= len(keys) or not (keys[place] == own).all():
            raise PrivacyViolation("an edge of the sample has no weight")
        else:
            found[name] = values[place].astype(np.float32)
    return released.weighted(found) if found else released


def agree(generator: Method, schema: GraphSchema, task: ReleaseTask) -> Agreed:
    """Parameters, plan and shape of the release; reads the public schema only.

    Raises what :mod:`core.publishing.checks` refuses, PlanExceeded where the reserved plan is not the one
    that the parameters lead to, or costs more than was asked for.
    """
    spec, reserved = task.release, PrivacyPlan.from_json(task.plan)
    params = checks.checked_params(generator.Params, spec.params)
    checks.protected_relations(schema, spec.edge_types)
    released = checks.released_schema(schema, spec.edge_types, **generator.synthesised(params))
    checks.checked_formats(spec.formats, released)
    if spec.size is not None:
        checks.check_size(spec.method, spec.params, schema, released)
    facts = spec.facts(schema, reserved.accountant)
    plan = generator.plan(params, facts)
    # Never trusted: recomputed from what was agreed, and compared.
    if plan.digest() != reserved.digest():
        raise PlanExceeded("the reserved plan does not follow from the method, its parameters and the schema")
    if not checks.keeps_to(plan.cost(), spec.nano_epsilon, spec.delta_atto):
        raise PlanExceeded("the plan costs more than was asked for")
    return Agreed(params, facts, plan, released)


def dress(
    sampled: Graph,
    original: Graph,
    schema: GraphSchema,
    edge_types: Sequence[str],
    rng: Permuter,
    order: Mapping[str, np.ndarray] | None = None,
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Add the original's public parts to the sample. Returned is too where each node came from.

    Public relations with what their edges carry, public attributes and, where declared public, node ids are
    copied, nodes in the order of their ids; else nodes get fresh pseudonyms in a random order, or those of
    ``order``. Protected attributes that ``schema`` declares are the sample's, and edges of the sample carry
    what it declares, and nothing else. ``permutations[type][new_index] == original_index``. Of the sample
    only the asked relations and those attributes are read; PrivacyViolation when one is missing or has
    another universe.
    """
    public_ids = schema.node_ids is NodeIds.PUBLIC
    nodes = {}
    for kind in schema.node_types:
        table = original.nodes[kind.name]
        kept = {}
        for attribute in sorted(kind.attributes, key=lambda each: each.name):
            # What is public is copied as it is; all else must be the sample's, or it would be the original's
            # own.
            public = attribute.protection is Protection.PUBLIC
            columns = (original if public else sampled).nodes[kind.name].attributes
            if attribute.name in columns:
                kept[attribute.name] = columns[attribute.name]
            elif not public:
                raise PrivacyViolation("the sample lacks an attribute that the release declares")
        nodes[kind.name] = NodeTable(table.count, table.ids if public_ids else None, kept)
    edges: dict[str, EdgeTable] = {}
    for edge_type in schema.edge_types:
        source = original if edge_type.public else sampled
        ends = (edge_type.source, edge_type.target)
        aligned = all(source.nodes[end].count == original.nodes[end].count for end in ends)
        if edge_type.name not in source.edges or not aligned:
            raise PrivacyViolation("the sample does not match the relations and nodes it was asked for")
        drawn = source.edges[edge_type.name]
        edges[edge_type.name] = drawn if edge_type.public or edge_type.attributes else drawn.bare()
    graph = Graph.build(schema, nodes, edges)
    # A random order, or that of public ids: none that the file had.
    return sorted_by_id(graph) if public_ids else pseudonymise(graph, rng, order)
