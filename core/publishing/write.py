"""The bundle of a release as written. It has tables, formats, alignment, and the public report of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from core.evaluation.suite import public_statistics
from core.graphs import formats
from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import Part
from core.graphs.uploads.batches import ListsNodes
from core.methods.base import (
    Accelerator,
    FittedModel,
    Method,
    Progress,
    PublicFacts,
)
from core.privacy.accounting.guarantee import Guarantee
from core.privacy.accounting.measurements import Measurements
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.publishing import bundle
from core.publishing.carried import carried
from core.publishing.measurements import write_measurements
from core.publishing.notices import (
    cautions,
    relations_left_out,
    things_without_delta,
    true_edge_notices,
    usable_for,
    value_notices,
)
from core.publishing.spec import ReleaseSpec
from core.publishing.totals import totals
from core.reports.base import Notice
from core.reports.build import Origin, public_part
from core.reports.model import Claim, DrawnAt
from core.reports.notices import drawn_at, without_accelerator
from core.reports.training import TrainingPart, training_part


@dataclass(frozen=True)
class Agreed:
    """What a release will do, settled from public facts only."""

    params: BaseModel
    facts: PublicFacts
    plan: PrivacyPlan
    released: GraphSchema


@dataclass(frozen=True)
class Paid:
    """What the report tells besides graph and model. All of it is public or paid for."""

    generator: Method
    spec: ReleaseSpec
    agreed: Agreed
    guarantee: Guarantee
    transcript: Sequence[TranscriptEntry]
    measurements: Measurements = field(default_factory=Measurements)


def write_bundle(
    released: Graph,
    permutations: Mapping[str, np.ndarray],
    model: FittedModel,
    paid: Paid,
    out: Path,
    progress: Progress,
    keep: Callable[[Path], None] | None = None,
) -> None:
    """Write a complete release bundle to ``out``: ``release/``, ``private/`` and ``manifest.json``.

    ``keep`` writes what else is private below ``out/private``.
    """
    spec, agreed = paid.spec, paid.agreed
    progress("write", 0, 1)
    folder, private = out / "release", out / "private"
    bundle.write_tables(released, folder, first_step=agreed.plan.first_step)
    for name, of_types in model.vectors().items():
        bundle.write_vectors(released, permutations, of_types, folder / f"{name}.parquet")
    first = agreed.plan.first_step
    # At another size measurements would be of other nodes; without a guarantee nothing of them is noisy.
    published = spec.measurements and spec.size is None and agreed.plan.kind is not GuaranteeKind.NONE
    measurements = paid.measurements if published else None
    determined = totals(released, measurements or (), first)
    if measurements is not None:
        write_measurements(released, permutations, measurements, determined, folder, first_step=first)
    media_types = {f"release/{name}": kind for name, kind in export(released, folder, spec.formats).items()}
    bundle.write_alignment(permutations, private / "alignment.parquet")
    if keep is not None:
        keep(private)
    progress("write", 1, 1)
    progress("describe", 0, 1)
    described = Described(
        statistics=public_statistics(released.present()),
        nodes={name: table.count for name, table in released.nodes.items()},
        training=training_of(model),
        carried=carried(released, measurements or (), first),
        totals=determined,
    )
    write_report(described, paid, out, media_types)
    progress("describe", 1, 1)


@dataclass(frozen=True)
class Described:
    """What the report tells of the synthetic graph. It tells what it was sampled from, too.

    ``nodes``: the sizes of the universes.
    """

    statistics: Mapping[str, Any]
    nodes: Mapping[str, int]
    training: TrainingPart | None = None
    carried: Sequence[Mapping[str, Any]] = ()
    totals: Sequence[Mapping[str, Any]] = ()


def write_report(
    described: Described,
    paid: Paid,
    out: Path,
    media_types: Mapping[str, str],
    parts: Sequence[Part] = (),
) -> None:
    """Write the public report of the bundle in ``out``. Its manifest is written, too: the bundle is
    complete. ``parts``: released files of its edges that lie elsewhere."""
    generator, spec, agreed = paid.generator, paid.spec, paid.agreed
    part = public_part(
        guarantee=paid.guarantee,
        assurance=generator.assurance,
        plan=agreed.plan,
        transcript=paid.transcript,
        schema=agreed.facts.schema,
        parameters=agreed.params.model_dump(mode="json") | {"edge_types": list(spec.edge_types)},
        statistics=described.statistics,
        origin=_origin(generator, spec),
        derived=spec.derived,
        claim=_claim(generator, agreed),
        training=described.training,
        notices=(
            *relations_left_out(agreed.facts.schema, spec.unit, spec.edge_types),
            *things_without_delta(agreed.facts.schema, spec.unit, spec.edge_types, spec.delta_atto),
            *usable_for(
                spec.chosen_because,
                agreed.params,
                agreed.plan,
                agreed.facts.schema,
                spec.edge_types,
                described.nodes,
            ),
            *cautions(generator, agreed.params, agreed.plan, agreed.facts.schema, described.nodes),
            *true_edge_notices(generator, agreed.params, agreed.plan, agreed.facts.schema, described.nodes),
            *value_notices(
                generator,
                agreed.params,
                agreed.plan,
                agreed.facts.schema,
                spec.edge_types,
                snapshot=agreed.facts.tick is not None,
            ),
            *_slower(paid, described.nodes),
            *([] if spec.size is None else [drawn_at(spec.size.nodes, spec.size.of)]),
        ),
        synthesised=spec.edge_types if generator.carries(agreed.params) else (),
        node_values=generator.carries_nodes(agreed.params),
        carried=described.carried,
        totals=described.totals,
        artifacts=[
            entry | {"name": entry["name"].removeprefix("release/")}  # as it will be downloaded
            for entry in bundle.manifest(out, media_types, parts)
            if entry["role"] == "artifact"
        ],
    )
    # The manifest is last: it lists the report too, and with it the bundle is complete.
    bundle.write_json(out / "release" / "public.json", part.model_dump(mode="json"))
    bundle.write_json(out / "manifest.json", bundle.manifest(out, media_types, parts))


def export(graph: Graph, folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Write one file ``graph.<ext>`` a format. ``nodes.<ext>`` comes where its edges leave isolated nodes
    out.

    Returns media types by the files' names.
    """
    media_types = {}
    for name in names:
        writer = formats.get(name)
        path = folder / f"graph.{writer.extensions[0]}"
        writer.write(graph, path)
        media_types[path.name] = writer.media_type
        if isinstance(writer, ListsNodes):
            listed = folder / f"nodes.{writer.extensions[0]}"
            writer.write_nodes(graph, listed)
            media_types[listed.name] = writer.media_type
    return media_types


def _claim(generator: Method, agreed: Agreed) -> Claim | None:
    """Return what the method's paper claims for these parameters, where it claims anything."""
    claimed = generator.claim(agreed.params, agreed.facts)
    if claimed is None:
        return None
    return Claim(epsilon=claimed.epsilon, delta=claimed.delta, source=claimed.source, remark=claimed.remark)


def training_of(model: FittedModel) -> TrainingPart | None:
    """Return how the model was learned; None where nothing was, or nothing is told."""
    training = model.training()
    if not (training.curves or training.notes):
        return None
    return training_part(training.curves, training.notes, training.collapsed)


def _origin(generator: Method, spec: ReleaseSpec) -> Origin:
    return Origin(
        spec.job_id,
        spec.dataset_id,
        spec.dataset_version,
        spec.method,
        generator.title,
        spec.seed,
        spec.chosen_because,
        spec.stream_id,
        spec.step,
        spec.source_id,
        computed_on(),
        None if spec.size is None else DrawnAt(nodes=spec.size.nodes, of=spec.size.of),
    )


def computed_on() -> str:
    """Tell what this process computes tensors on. It is a GPU only if it has begun to use one."""
    # Not imported here: a process that never used torch computed on its CPU.
    torch = sys.modules.get("torch")
    return "gpu" if torch is not None and torch.cuda.is_initialized() else "cpu"


def _slower(paid: Paid, nodes: Mapping[str, int]) -> tuple[Notice, ...]:
    """Say that a fit that gains from a GPU had none; nothing of one that had, or gains nothing."""
    if paid.spec.source_id is not None or computed_on() == "gpu":
        return ()
    gain = paid.generator.accelerated(paid.agreed.params, paid.agreed.facts, nodes)
    return () if gain is Accelerator.NONE else (without_accelerator(),)
