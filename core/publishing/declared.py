"""A graph from declared facts only, at epsilon 0. It is for developers, before anything is approved.

Read are the public schema, sizes and what the caller says; no folder that holds a graph is named here. The
result is no release of the dataset: its edges follow from a law that somebody chose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from core import ids
from core.errors import InvalidInput, NotAccepted
from core.evaluation.suite import public_statistics
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, Protection
from core.graphs.schema.node_bins import node_bins, synthesised, vectors
from core.graphs.views.pseudonyms import pseudonymise
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import edge_table
from core.methods._shared.node_values.stage import with_values
from core.methods.base import Parameters, Progress
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import public_generator
from core.privacy.queries import Shape, slot_count
from core.privacy.units import Unit
from core.publishing import bundle
from core.publishing.checks import checked_formats, checked_params, released_schema
from core.publishing.write import export
from core.reports.base import Notice
from core.reports.build import versions
from core.reports.model import GuaranteePart, Provenance, PublicPart, ReleasedFile, TranscriptSummary
from core.reports.statistics import PublicStatistics
from core.version import package_version

NAME, MARK = "declared", "Made from declarations; nothing was read."
REST = "*"
MOST_EDGES, ROUNDS = 50_000_000, 64
FILE = "declarations.json"


class Mixing(Parameters):
    """Who meets whom: a share of the edges leads to nodes of the same group, all others anywhere."""

    groups: Annotated[int, Field(ge=2, le=1000)] | str = Field(
        description="So many groups of equal size, or the declared attribute whose values are the groups."
    )
    within: float = Field(ge=0, le=1, description="Share of the edges that is drawn inside a group.")


class Relation(Parameters):
    """What is said of a relation, of each of its steps."""

    mean_degree: float = Field(
        default=4.0,
        gt=0,
        le=100_000,
        description="Edges of a node, both ends counted; of a directed relation, or between two node types, "
        "of a source.",
    )
    degrees: Literal["poisson", "exponential", "power_law"] = Field(
        default="poisson", description="The law of the expected degrees: all alike, or spread so."
    )
    exponent: float = Field(
        default=2.5, gt=2, le=10, description="Of the power law: nodes of degree d go with d ** -exponent."
    )
    mixing: Mixing | None = None


class DeclaredParams(Parameters):
    """What a caller may say beside the schema."""

    relations: Mapping[str, Relation] = Field(
        default_factory=dict, description="By a relation's name; * for every other."
    )

    def of(self, name: str) -> Relation:
        """Return what is said of that relation."""
        return self.relations.get(name) or self.relations.get(REST) or Relation()


def make_declared(
    schema: GraphSchema,
    nodes: Mapping[str, int],
    parameters: Mapping[str, Any],
    out: Path,
    progress: Progress,
    *,
    formats: Sequence[str] = (),
    seed: int | None = None,
) -> None:
    """Make a graph from declared facts. Its tables, formats and report go to the folder ``out``.

    ``nodes``: sizes of the node types whose count the schema does not declare. Raises InvalidInput,
    NotAccepted and UnknownFormat, with the field to mend. O(n + m log m).
    """
    params = checked_params(DeclaredParams, parameters)
    schema = sized(schema, nodes)
    _require_known(params, schema)
    names = tuple(each.name for each in schema.edge_types)
    released = released_schema(schema, names, node_values=True, vectors=True)
    wanted = checked_formats(formats, released)
    rng = public_generator(seed)
    graph, _ = pseudonymise(drawn(released, params, rng, progress), rng)
    progress("write", 0, 1)
    bundle.write_tables(graph, out)
    media_types = export(graph, out, wanted)
    said = {"note": MARK, "graph_schema": released.model_dump(mode="json"), **params.model_dump(mode="json")}
    bundle.write_json(out / FILE, said)
    _write_report(graph, params, schema, media_types, seed, out)
    progress("write", 1, 1)


def counts_of(schema: GraphSchema) -> dict[str, int]:
    """Return the declared sizes of the node types."""
    return {kind.name: kind.count for kind in schema.node_types if kind.count is not None}


def sized(schema: GraphSchema, nodes: Mapping[str, int]) -> GraphSchema:
    """Return the schema of what is sampled. It has protected relations, declared attributes, a size for each
    type.

    What only the data say is left out: public relations and attributes, ids.
    """
    if schema.collection is not None:
        raise NotAccepted("A collection of graphs is not made from declarations.", field="graph_schema")
    kinds = []
    for kind in schema.node_types:
        count = nodes.get(kind.name, kind.count)
        if count is None:
            raise InvalidInput(f"say how many nodes of type {kind.name!r} there are", field="nodes")
        kept = tuple(each for each in kind.attributes if each.protection is not Protection.PUBLIC)
        kinds.append(kind.model_copy(update={"count": count, "attributes": kept}))
    unknown = sorted(set(nodes) - {kind.name for kind in kinds})
    if unknown:
        raise InvalidInput(f"there is no node type {unknown[0]!r}", field="nodes")
    edges = tuple(each.without_attributes() for each in schema.edge_types if not each.public)
    if not edges:
        raise NotAccepted("Every relation is public: there is none to make.", field="graph_schema")
    time = schema.time if any(each.temporal for each in edges) else None
    return GraphSchema(node_types=tuple(kinds), edge_types=edges, time=time, node_ids=NodeIds.PSEUDONYMOUS)


def _require_known(params: DeclaredParams, schema: GraphSchema) -> None:
    """Raise InvalidInput for a relation or attribute that is not declared, or more edges than are made."""
    names = [each.name for each in schema.edge_types]
    for name in params.relations:
        if name not in (*names, REST):
            raise InvalidInput(
                f"there is no protected relation {name!r}", field=f"parameters.relations.{name}"
            )
    for relation in schema.edge_types:
        _require_mixing(relation, params, schema)
    nodes = counts_of(schema)
    edges = sum(
        edges_of(each, nodes, params.of(each.name)) * len(schema.steps_of(each.name))
        for each in schema.edge_types
    )
    if edges > MOST_EDGES:
        raise InvalidInput(f"at most {MOST_EDGES} edges are made", field="parameters.relations")


def _require_mixing(relation: EdgeType, params: DeclaredParams, schema: GraphSchema) -> None:
    said = params.of(relation.name).mixing
    field = f"parameters.relations.{relation.name if relation.name in params.relations else REST}.mixing"
    if said is None:
        return
    if not relation.homogeneous:
        raise InvalidInput("mixing is of relations inside one node type", field=field)
    declared = sorted(each.name for each in synthesised(schema.node_type(relation.source)))
    if isinstance(said.groups, str) and said.groups not in declared:
        raise InvalidInput(
            "groups are a number, or a protected attribute with declared values: "
            f"{', '.join(declared) or 'there is none'}",
            field=f"{field}.groups",
        )


def edges_of(relation: EdgeType, nodes: Mapping[str, int], said: Relation) -> int:
    """Return how many edges a relation's step gets. It is as far as declared facts allow."""
    shape = Shape(relation, nodes[relation.source], nodes[relation.target])
    half = 2 if shape.undirected else 1
    wanted = round(shape.source_count * said.mean_degree / half)
    bounds = [slot_count(shape), *([] if relation.edge_bound is None else [relation.edge_bound])]
    return min(wanted, *bounds, *([shape.source_count] if relation.functional else []))


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


def _write_report(
    graph: Graph,
    params: DeclaredParams,
    schema: GraphSchema,
    media_types: Mapping[str, str],
    seed: int | None,
    out: Path,
) -> None:
    files = [
        ReleasedFile(**{k: each[k] for k in ("name", "media_type", "size_bytes", "sha256")})
        for each in bundle.manifest(out, media_types)
    ]
    part = PublicPart(
        guarantee=GuaranteePart(
            kind="pure",
            epsilon="0",
            delta="0",
            unit=Unit.EVENT if schema.temporal else Unit.EDGE,
            window=None,
            statement=f"{MARK} Whatever the data are, this graph would be the same: it costs epsilon 0, and "
            "says nothing of them.",
            assurance="proven",
        ),
        transcript=TranscriptSummary(
            operations=0, by_purpose=(), per_step_nano_epsilon=None, untimed_nano_epsilon=0
        ),
        parameters=params.model_dump(mode="json"),
        statistics=PublicStatistics.model_validate(public_statistics(graph)),
        provenance=Provenance(
            job_id=ids.new_id(ids.JOB),
            dataset_id="declared",
            dataset_version="declared",
            method=NAME,
            method_title="From declarations",
            graphveil_version=package_version(),
            plan_digest=hashlib.sha256((out / FILE).read_bytes()).hexdigest(),
            randomness="operating system" if seed is None else "seeded",
            seed=seed,
            artifacts=tuple(files),
            libraries=versions(),
        ),
        caveats=(
            Notice(
                code="from_declarations",
                text=f"{MARK} Its sizes, degrees and mixing are what somebody said, not what the data are: "
                "use it to write and try programs, and conclude nothing from it.",
            ),
        ),
    )
    bundle.write_json(out / "public.json", part.model_dump(mode="json"))
