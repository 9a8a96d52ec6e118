"""A further sample of a paid-for model. It was fitted and paid for: this is post-processing of its release,
at no cost.

The graph is not there. What a release copies from it besides the sample (public relations, public attributes,
ids that were declared public) is copied from the release that the model was published with: it is the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import PrivacyViolation
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema, NodeIds
from core.methods import registry
from core.methods.base import Method, Progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing import bundle
from core.publishing.checks import check_size, released_schema
from core.publishing.release import write_release
from core.publishing.resized import empty
from core.publishing.spec import ReleaseTask, Sample
from core.publishing.write import Agreed, Paid


def run_sample(*, source: Path, task: ReleaseTask, out: Path, progress: Progress) -> None:
    """Sample from a fitted model, and write its bundle. The model is that of the job ``sample_of``; a
    complete release bundle goes to ``out``.

    ``source`` holds what that job left: ``release/``, ``private/alignment.parquet``, ``private/model/``,
    ``schema.json`` (the dataset's public schema) and ``transcript.json``. Nodes get fresh pseudonyms. The
    guarantee is that of the plan and transcript which paid for the model: both releases together carry it
    once. Raises PrivacyViolation for a sample outside its universe. Time is that of sampling plus O(m log m).
    """
    draw(registry.get(task.release.method), source, task, out, progress)


def draw(generator: Method, source: Path, task: ReleaseTask, out: Path, progress: Progress) -> None:
    """Do as :func:`run_sample`, with the generator given."""
    spec = task.release
    if not isinstance(spec, Sample):
        raise PrivacyViolation("only a whole release's model is drawn from again")
    progress("load", 0, 1)
    schema = GraphSchema.model_validate_json((source / "schema.json").read_bytes())
    plan, transcript = PrivacyPlan.from_json(task.plan), read_transcript(source / "transcript.json")
    # That of the fit: a further sample spends nothing, and promises no more.
    guarantee = guarantee_of(plan, transcript, spec.delta_atto)
    params = generator.Params.model_validate(spec.params)
    agreed = Agreed(
        params,
        spec.facts(schema, plan.accountant),
        plan,
        released_schema(schema, spec.edge_types, **generator.synthesised(params)),
    )
    # The graph is not opened again: what lies around the sample comes from the first release.
    if spec.size is None:
        around = public_side(source / "release", source / "private" / "alignment.parquet", agreed.released)
    else:
        check_size(spec.method, spec.params, schema, agreed.released)
        around = empty(agreed.released, {kind.name: spec.size.of for kind in agreed.released.node_types})
    model = generator.load(source / "private" / "model")
    progress("load", 1, 1)
    write_release(model, Paid(generator, spec, agreed, guarantee, transcript), around, out, progress)


def read_transcript(path: Path) -> tuple[TranscriptEntry, ...]:
    """Read the transcript as it was recorded."""
    return tuple(TranscriptEntry.from_json(entry) for entry in json.loads(path.read_bytes()))


def public_side(release: Path, alignment: Path, schema: GraphSchema) -> Graph:
    """Read a release at its original's indices. Every node is back there: its ids and public attributes, all
    its edges.

    ``schema`` is the release's own.
    """
    edges = bundle.read_aligned(release, alignment).edges
    table, order = pq.read_table(release / "nodes.parquet"), bundle.read_alignment(alignment)
    nodes = {}
    for kind in schema.node_types:
        rows = table.filter(pc.equal(table["type"], kind.name)).take(np.argsort(order[kind.name]))
        names = _columns(kind.name, [attribute.name for attribute in kind.attributes], table.column_names)
        attributes = {name: _plain(rows[column].combine_chunks()) for name, column in names.items()}
        ids = rows["id"].combine_chunks() if schema.node_ids is NodeIds.PUBLIC else None
        nodes[kind.name] = NodeTable(rows.num_rows, ids, attributes)
    return Graph.build(schema, nodes, edges)


def _columns(kind: str, attributes: Sequence[str], present: Sequence[str]) -> dict[str, str]:
    """Find the column of each attribute: its name, or type.name where node types hold it differently."""
    shown = {name: f"{kind}.{name}" if f"{kind}.{name}" in present else name for name in attributes}
    return {name: column for name, column in shown.items() if column in present}


def _plain(column: pa.Array) -> np.ndarray | pa.Array:
    """Convert numbers and vectors to NumPy; leave all else as it is."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), kind.list_size)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return column.to_numpy(zero_copy_only=False) if numbers and not column.null_count else column
