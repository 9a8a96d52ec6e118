"""Where a release comes from. It has its transcript, parameters and provenance, and what the metrics mean."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from core.reports.blocks import Block, Fold, Listing, Paragraph, Section, Size, Table, Terms, Text, cut
from core.reports.html import wording
from core.reports.model import Provenance, PublicPart, PurposeSummary, TranscriptSummary
from core.reports.reproduction import again
from core.reports.statistics import MetricInfo
from graphveil.pages.numbers import nano, plain

MAX_TRANSCRIPT_ROWS = 200
MAX_VALUE = 240


def provenance_sections(public: PublicPart, metrics: Mapping[str, MetricInfo]) -> Iterator[Section]:
    """Say what was requested, and where it comes from. Said are its parameters, and what its words mean."""
    entries = list(_transcript(public.transcript))
    yield Section("transcript", "What was asked of the private graph", entries)
    rows = [(Text(name, code=True), _value(value)) for name, value in public.parameters.items()]
    table = Table("Parameters", ("Parameter", "Value"), rows, most=99)
    yield Section("parameters", "Parameters", [table] if rows else [Paragraph("The method takes none.")])
    yield Section("provenance", "Provenance", list(_provenance(public.provenance)))
    blocks: list[Block] = [
        Listing(wording.command_lines(public)),
        Paragraph(again(public), code=True),
    ]
    yield Section("again", "Ask for it again", blocks)
    families: dict[str, list[tuple[Text, str]]] = {}
    for name, metric in metrics.items():
        better = f" {metric.better.capitalize()} is closer." if metric.better else ""
        term = Text(metric.title, name, metric=name)
        families.setdefault(metric.family, []).append((term, metric.definition + better))
    folds = [
        Fold(Text(family.capitalize(), str(len(found))), [Terms(found)], open=not index)
        for index, (family, found) in enumerate(families.items())
    ]
    yield Section("glossary", "What the metrics mean", folds)


def _value(value: Any) -> Text:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= MAX_VALUE:
        return Text(text, code=True)
    size = f"{len(value)} entries" if isinstance(value, list) else f"{len(text)} characters"
    return Text(f"{text[:MAX_VALUE]}…", f"{size}; the report's JSON holds all", code=True)


def reads(found: tuple[PurposeSummary, ...]) -> Table:
    """List operations by purpose. What a parallel group has paid for says so."""
    rows = [
        (
            row.purpose,
            row.mechanism.replace("_", " ").replace("/", ": "),
            "whole graph" if row.edge_type == "*" else row.edge_type,
            row.operations,
            nano(row.nano_epsilon) + (", paid by its group" if row.within_group else ""),
        )
        for row in found
    ]
    columns = ("Purpose", "Mechanism", "Relation", "Operations", "Epsilon, all steps")
    return Table("What was asked", columns, rows)


def _transcript(found: TranscriptSummary) -> Iterator[Block]:
    if not found.operations:
        yield Paragraph("Nothing: no operation was planned, and none was recorded.")
        return
    yield Paragraph(
        f"{plain(found.operations)} operations, each recorded before it was answered. Edges of different "
        "snapshots are different edges, so these rows do not add up to the guarantee."
    )
    yield reads(found.by_purpose[:MAX_TRANSCRIPT_ROWS])
    yield from cut(MAX_TRANSCRIPT_ROWS, len(found.by_purpose), "rows")


def _provenance(found: Provenance) -> Iterator[Block]:
    name = "" if found.dataset_name is None else f"{found.dataset_name}, "
    chosen = "" if found.chosen_because is None else f", chosen by auto: {found.chosen_because}"
    libraries = "".join(f", {library} {version}" for library, version in found.libraries.items())
    size = found.size
    drawn = "All draws are from the operating system."
    if found.randomness == "seeded":
        seed = "" if found.seed is None else f" with {found.seed}"
        drawn = f"The sampling was seeded{seed}; the noise is from the operating system."
    yield Terms(
        [
            (Text("Job"), found.job_id),
            *([] if found.sample_of is None else [(Text("Further sample of job"), found.sample_of)]),
            *(
                []
                if size is None
                else [(Text("Drawn at"), f"{plain(size.nodes)} nodes, fitted to {plain(size.of)}")]
            ),
            (Text("Dataset and version"), f"{name}{found.dataset_id}, {found.dataset_version}"),
            (Text("Method"), f"{found.method_title} ({found.method}){chosen}"),
            (Text("Digest of the plan"), found.plan_digest),
            (Text("Software"), f"Graphveil {found.graphveil_version}{libraries}"),
            (Text("Randomness"), drawn),
        ]
    )
    yield files(found)


def files(found: Provenance) -> Table:
    """Name the released files with their digests."""
    rows = [(f.name, f.media_type, Size(f.size_bytes), Text(f.sha256, code=True)) for f in found.artifacts]
    return Table("Files", ("File", "Type", "Bytes", "SHA-256"), rows, most=64)
