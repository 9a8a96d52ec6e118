"""After publication: the curators' comparison of a release with its original. It cannot fail the release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.evaluation import suite
from core.evaluation.attacks.named import DefenceShadow, attacked_links
from core.evaluation.attacks.run import run_attacks
from core.evaluation.metric import Suite
from core.evaluation.tasks.run import run_tasks
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.graphs.views.sensitive import stored_links
from core.methods.base import Progress
from core.publishing import bundle
from core.publishing.membership import membership_attacks
from core.publishing.original import read_original
from core.publishing.paid_errors import paid_errors
from core.publishing.shadows import shadow_releases
from core.publishing.spec import EvaluationSpec
from core.reports.build import curator_part
from core.reports.evidence import CuratorPart
from core.reports.stored import public_of
from core.reports.training import training_part


def run_evaluation(
    *, graph_folder: Path, release_folder: Path, spec: EvaluationSpec, out: Path, progress: Progress
) -> None:
    """Write the curator part of the report to ``out/curator.json``.

    ``release_folder`` is what ``run_release`` wrote: ``release/`` and ``private/alignment.parquet``, which
    puts every released node back at its original's index. The result is a function of the private graph: for
    the dataset's curators only. Time is that of the suite on both graphs. Of a release at another size no
    node is one of the original: counts are compared in proportion, and nobody is looked for.
    """
    progress("load", 0, 2)
    public = public_of((release_folder / "release" / "public.json").read_bytes())
    synthetic = bundle.read_aligned(
        release_folder / "release",
        release_folder / "private" / "alignment.parquet",
        first_step=spec.release.step or 0,
    )
    progress("load", 1, 2)
    # Values are not even read where the release has none to compare.
    carried = any(each.attributes and not each.public for each in synthetic.schema.edge_types)
    snapshot = spec.release.step is not None
    original = read_original(graph_folder, snapshot=snapshot, protected_values=carried)
    original = restricted(original, synthetic.schema)
    progress("load", 2, 2)
    # Nodes of another universe are nobody of the original: no attack has a target.
    if spec.release.size is not None:
        comparison = suite.compare(original, synthetic, spec.suite, progress, spec.release.size.factor)
        _write(curator_part(public, comparison, {}, reduced_from=spec.reduced_from), out)
        return
    comparison = suite.compare(original, synthetic, spec.suite, progress)
    shadows = shadow_releases(synthetic, spec, progress)
    pairs = [(each.held, each.released) for each in shadows]
    attacks = run_attacks(original, synthetic, spec.suite, progress, shadows=pairs)
    attacks["inference"] += membership_attacks(original, spec, public.guarantee, progress)
    attacks["sensitive"] = sensitive_part(original, synthetic, release_folder, spec, progress, shadows)
    tasks = run_tasks(original, synthetic, spec.suite, progress)
    order = bundle.read_alignment(release_folder / "private" / "alignment.parquet")
    paid = paid_errors(original, synthetic, release_folder / "release", order, spec.release.step or 0)
    _write(curator_part(public, comparison, attacks, tasks, paid=paid, reduced_from=spec.reduced_from), out)


def _write(part: CuratorPart, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    bundle.write_json(out / "curator.json", part.model_dump(mode="json"))


def sensitive_part(
    original: Graph,
    synthetic: Graph,
    release_folder: Path,
    spec: EvaluationSpec,
    progress: Progress,
    shadows: Sequence[DefenceShadow],
) -> dict[str, Any] | None:
    """Attack the links that the release hid. It tells how that was learned; None for other methods.

    ``private/model`` of the release holds the links, as indices into the original.
    """
    model = release_folder / "private" / "model"
    hidden = stored_links(model)
    if hidden is None:
        return None
    found = attacked_links(original, synthetic, hidden, spec.suite, progress, shadows)
    training = json.loads((model / "training.json").read_bytes())
    if not training["named"] or not (training["curves"] or training["notes"]):
        return found  # what there is to tell stands in the public part
    part = training_part(training["curves"], tuple(training["notes"]), None)
    return found | {"training": part.model_dump(mode="json")}


def restricted(graph: Graph, schema: GraphSchema) -> Graph:
    """Restrict the graph to the relations of ``schema``. They are all that a release shows; attributes
    stay."""
    nodes = {name: NodeTable(table.count, None, table.attributes) for name, table in graph.nodes.items()}
    attributed = graph.schema.model_copy(
        update={"edge_types": schema.edge_types, "time": schema.time, "node_ids": schema.node_ids}
    )
    return Graph.build(attributed, nodes, {t.name: graph.edges[t.name] for t in schema.edge_types})


def compared(original: Graph, out: Path, level: Suite, progress: Progress) -> list[dict[str, Any]]:
    """Compare the bundle in ``out`` with its original. This must be public: a row comes for each metric of
    each relation, its mean over snapshots.
    """
    synthetic = bundle.read_aligned(out / "release", out / "private" / "alignment.parquet")
    rows = []
    for relation in suite.compare(original, synthetic, level, progress)["edge_types"]:
        means = relation["means"]
        for name, found in means["scalars"].items():
            values = {"original": found["original"], "synthetic": found["synthetic"]}
            rows.append(
                {"edge_type": relation["name"], "metric": name, **values, "error": found["relative_error"]}
            )
        for name, distance in means["distances"].items():
            values = {"original": None, "synthetic": None}
            rows.append({"edge_type": relation["name"], "metric": name, **values, "error": distance})
    return rows
