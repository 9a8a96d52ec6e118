"""A release whose edges stay in parts. It is fitted over them, sampled in shards, and joined to one bundle.

Three children do it. :func:`run_fit` reads the graph through the meter, as a release of a graph in memory
does, and leaves the law of the shards with all of the bundle that needs no edges. :func:`run_shard` draws a
part from the law and verifies it; :func:`run_join` adds up what those tell, and writes the report and the
manifest. The last two are post-processing: they see no graph and no meter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import PrivacyViolation
from core.evaluation.suite import degree_statistics
from core.graphs.counted.stored import open_parts
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import Part, require_partable, slots_of
from core.graphs.stored.whole import read_schema
from core.methods import registry
from core.methods.base import Progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import Meter, Recorder, require_metered
from core.privacy.accounting.plan import CellKey, GuaranteeKind
from core.privacy.entropy import noise_generator
from core.privacy.session.counted import PrivateParts
from core.publishing import bundle
from core.publishing.carried import carried_in_parts, paid_for_values
from core.publishing.checks import sharded
from core.publishing.measurements import write_measurements
from core.publishing.parts import carried_of, degrees_of, placed, write_degrees
from core.publishing.release import agree, dress
from core.publishing.sample import read_transcript
from core.publishing.spec import InParts, ReleaseTask
from core.publishing.totals import totals
from core.publishing.write import Described, Paid, training_of, write_report
from core.reports.training import TrainingPart

TOLD = "fit.json"
"""Where :func:`run_fit` says how many shards there are."""
CARRIED = "carried.json"
"""Where it says what was paid for each attribute of edges."""
TRAINING = "training.json"
"""Where it says how the model was learned, where there is something to tell."""
CELLS = "cells.json"
"""Where it says of which cells the parts are, and how shards are divided among them: relation, step, edges
that are sampled, and shards at most."""


def run_fit(
    *, graph_folder: Path, task: ReleaseTask, out: Path, recorder: Recorder, progress: Progress
) -> None:
    """Fit a graph in parts. In ``out`` stands what the fit leaves: flat folders, and in how many shards to
    draw.

    ``law/``; ``release/`` and ``private/``, of the bundle all that needs no edges; ``model/``. Errors before
    the opening and after it are those of :func:`core.publishing.release.run_release`. Time is the generator's
    plus O(n log n); memory that of the nodes and one row group.
    """
    spec, generator = task.release, registry.get(task.release.method)
    sharding = sharded(generator)
    if not isinstance(spec, InParts):
        raise PrivacyViolation("only a graph in parts is fitted for shards")
    schema = read_schema(graph_folder)
    # All refusals stand before the opening: they cost nothing, and say nothing of the data.
    require_partable(schema)
    agreed = agree(generator, schema, task)
    sharding.require(agreed.params)
    recorder.opening()
    progress("load", 0, 1)
    graph = open_parts(graph_folder)
    progress("load", 1, 1)
    meter = Meter(agreed.plan, recorder)
    model = sharding.fit_parts(PrivateParts(graph, meter), agreed.plan, agreed.params, progress)
    require_metered(meter.transcript)
    # For its refusal alone: an overrun must end the fit before anything of it is kept.
    guarantee_of(agreed.plan, meter.transcript, spec.delta_atto)
    rng = noise_generator()
    bare = {name: NodeTable(table.count) for name, table in graph.nodes.items()}
    # Without edges, which shards will draw: all that nodes carry is settled here, once.
    empty = model.valued(Graph.build(agreed.released, bare, {}), rng)
    around = Graph.build(schema, graph.nodes, {})
    released, permutations = dress(empty, around, agreed.released, spec.edge_types, rng)
    law = sharding.shards(model, permutations, rng, spec.shard_edges)
    told = meter.measurements if spec.measurements and agreed.plan.kind is not GuaranteeKind.NONE else None
    progress("write", 0, 1)
    law.save(out / "law")
    model.save(out / "model")
    bundle.write_nodes(released, out / "release")
    determined = totals(released, told or ())
    if told is not None:
        write_measurements(released, permutations, told, determined, out / "release")
    bundle.write_alignment(permutations, out / "private" / "alignment.parquet")
    bundle.write_json(out / "private" / "totals.json", determined)
    bundle.write_json(out / "private" / CARRIED, paid_for_values(agreed.released, told or ()))
    if (training := training_of(model)) is not None:
        (out / "private" / TRAINING).write_text(training.model_dump_json(), encoding="utf-8")
    (out / "private" / "schema.json").write_text(schema.model_dump_json(), encoding="utf-8")
    cells = [[*key, *size] for key, size in zip(law.cells, law.sizes, strict=True)]
    bundle.write_json(out / "private" / CELLS, cells)
    edges, most = (sum(column) for column in zip(*law.sizes, strict=True))
    # A cell needs a shard of its own at least; no shard is smaller than a strip.
    count = min(max(len(cells), -(-edges // spec.shard_edges)), most)
    bundle.write_json(out / TOLD, {"shards": count})
    progress("write", 1, 1)


def run_shard(*, law: Path, method: str, number: int, shards: int, out: Path, degrees: Path) -> Part:
    """Sample one part of the edges. It stands in ``out``, the same bytes each time it is sampled from this
    law. It is read again and verified; the degrees of its nodes stand in ``degrees``, under its name."""
    out.mkdir(parents=True, exist_ok=True)
    part, slots = sharded(registry.get(method)).draw_shard(law, number, shards, out)
    write_degrees(out, part, slots, degrees / part.name)
    return part


def run_join(
    *, kept: Path, parts: Sequence[Mapping[str, Any]], task: ReleaseTask, out: Path, progress: Progress
) -> None:
    """Join shards to a complete release bundle. It stands in ``out``, but for its parts, which stay where
    they are: the manifest names their digests.

    ``kept`` holds the folder ``private`` of the fit with ``transcript.json`` beside it, and ``degrees``;
    ``out/release`` the fit's released files, ``out/private/model`` its model. ``parts``: what was told of
    each. ValueError where degrees are not those of a part, or two parts may share a pair. O(n) memory, O(n)
    time a part.
    """
    spec, generator = task.release, registry.get(task.release.method)
    sharded(generator)
    if not isinstance(spec, InParts):
        raise PrivacyViolation("only a graph in parts is joined of shards")
    schema = GraphSchema.model_validate_json((kept / "private" / "schema.json").read_bytes())
    agreed = agree(generator, schema, task)
    transcript = read_transcript(kept / "transcript.json")
    guarantee = guarantee_of(agreed.plan, transcript, spec.delta_atto)
    alignment = kept / "private" / "alignment.parquet"
    nodes = {name: len(each) for name, each in bundle.read_alignment(alignment).items()}
    progress("verify", 0, 1)
    cells, relations = _cells(kept, agreed.released, len(parts)), agreed.released
    told = [Part(**each) for each in parts]
    # By the same rule that divided the shards: a part says nothing of its cell itself.
    own = placed(told, [(each[2], each[3]) for each in cells])

    counts: dict[str, list[list[np.ndarray]]] = {each.name: [] for each in relations.edge_types}

    def found() -> Iterator[tuple[CellKey, list[np.ndarray]]]:
        for number, ((relation, step, *_), of_cell) in enumerate(zip(cells, own, strict=True)):
            progress("verify", number, len(cells))
            slots = slots_of(relations.edge_type(relation), nodes)
            counts[relation].append(carried_of(kept / "degrees", of_cell, slots))
            yield (relation, step), degrees_of(kept / "degrees", of_cell, slots)

    statistics = degree_statistics(relations, nodes, found())
    progress("verify", len(cells), len(cells))
    progress("describe", 0, 1)
    alignment.replace(out / "private" / "alignment.parquet")
    training = kept / "private" / TRAINING
    described = Described(
        statistics=statistics,
        nodes=nodes,
        carried=_carried(kept, relations, counts),
        training=TrainingPart.model_validate_json(training.read_bytes()) if training.exists() else None,
        totals=json.loads((kept / "private" / "totals.json").read_bytes()),
    )
    write_report(described, Paid(generator, spec, agreed, guarantee, transcript), out, {}, told)
    progress("describe", 1, 1)


def _carried(
    kept: Path, schema: GraphSchema, counts: Mapping[str, Sequence[Sequence[np.ndarray]]]
) -> list[dict[str, Any]]:
    """Describe what edges carry. A fit of before they carried anything says nothing of it."""
    path = kept / "private" / CARRIED
    return carried_in_parts(schema, json.loads(path.read_bytes()), counts) if path.exists() else []


def _cells(kept: Path, schema: GraphSchema, shards: int) -> list[tuple[str, int | None, int, int]]:
    """Read what the fit said of its cells. A fit of before there were several says nothing: it has one."""
    path = kept / "private" / CELLS
    if not path.exists():
        (relation,) = schema.edge_types
        return [(relation.name, None, 1, shards)]
    return [tuple(each) for each in json.loads(path.read_bytes())]
