"""The whole report as Markdown: for a pull request, a wiki, or a terminal.

Means over snapshots and degree summaries are printed; figures of single snapshots stand in the JSON report.
Every text is escaped: it shows as it is and starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.reports import precision, risk
from core.reports.base import EXPOSED
from core.reports.html import wording
from core.reports.markdown_evidence import curator_sections, metric_title
from core.reports.model import GuaranteePart, Provenance, PublicPart, Report, TranscriptSummary
from core.reports.reproduction import again, command
from core.reports.scores import Score, Scores
from core.reports.statistics import MetricInfo, PublicStatistics
from core.reports.text import escape, fenced, items, number, table
from core.reports.totals import Total
from core.reports.training import TrainingPart
from graphveil.models.reports import quantity_of, subject_of
from graphveil.pages.numbers import at_most, ends, percent_text

CURATOR_BANNER = (
    "> **Curator edition: confidential.** The comparison, the attacks, the tasks and the curators' scores "
    "are functions of the private graph. No budget was paid for them: they stay with the dataset's curators."
)
PUBLIC_BANNER = (
    "> **Public edition.** Nothing here reads the original graph beyond the operations that were paid for."
)
GLANCED = 6
CARRIED = 24
_STATUS = {
    "pending": "The comparison with the original is not finished; ask again later.",
    "failed": "The comparison with the original failed. The release and its guarantee stand.",
    "erased": "The comparison with the original was erased with the dataset.",
}


def markdown(report: Report, *, evaluation: str | None = None) -> str:
    """Write the report as GitHub-flavoured Markdown, UTF-8, with a line feed at its end. Deterministic.

    ``evaluation``: where a curator's report has no curator part, why: pending, failed or erased.
    """
    public = report.public
    lines = [
        f"# Release report: {escape(public.provenance.method_title)} of {escape(wording.dataset_of(public))}",
        "",
    ]
    lines += [CURATOR_BANNER if report.curator else PUBLIC_BANNER, ""]
    if report.curator is None and evaluation in _STATUS:
        lines += [f"> {_STATUS[evaluation]}", ""]
    lines += _glance(report)
    lines += _guarantee(public.guarantee)
    lines += _learned(public)
    lines += _caveats(public)
    lines += _charge(public)
    lines += _precision(public)
    lines += _transcript(public.transcript)
    lines += _training(public.training)
    lines += _statistics(public.statistics, public.totals)
    lines += _carried(public)
    if report.curator is not None:
        lines += curator_sections(report.curator)
        lines += scores("Scores, from what was measured (curators only)", report.curator.scores)
    lines += _provenance(public.provenance)
    lines += ["## Ask for it again", "", *fenced(command(public), "sh"), again(public), ""]
    lines += [f"Report schema {report.schema_version}."]
    return "\n".join(lines) + "\n"


def _glance(report: Report) -> list[str]:
    public = report.public
    given = public.guarantee
    promise = "none" if given.epsilon is None else f"epsilon {given.epsilon}, delta {given.delta}"
    bounds = wording.together(given)
    window = f" of {given.window} snapshots" if given.window is not None else ""
    rows: list[tuple[str, object]] = [
        ("Guarantee", f"{promise} ({given.kind})"),
        ("Protected unit", f"{given.unit.value}{window}"),
        ("Best guess about one unit, right at most", at_most(bounds[0].right) if bounds else "no bound"),
    ]
    rows += [
        (
            f"{subject_of(each)}: {quantity_of(each)}",
            f"within {each.within} ({each.confidence:.0%})",
        )
        for each in public.precision[:GLANCED]
    ]
    if report.curator is not None:
        rows.append(("Utility, as measured (curators)", _ten(report.curator.scores.utility)))
        rows.append(("Protection, as attacked (curators)", _ten(report.curator.scores.protection)))
    return ["## At a glance", "", *table(("", ""), rows)]


def _precision(public: PublicPart) -> list[str]:
    lines = table(precision.COLUMNS, precision.rows(public.precision))
    return ["## Predicted precision", "", precision.NOTE, "", *lines] if lines else []


def _ten(score: Score | None) -> str:
    return "not scored" if score is None else f"{score.value:.1f} of 10"


def _guarantee(given: GuaranteePart) -> list[str]:
    lines = ["## Guarantee", "", escape(given.statement), ""]
    lines += table(
        ("", ""),
        [
            ("Kind", given.kind),
            ("Epsilon", given.epsilon or "none"),
            ("Delta", given.delta or "none"),
            ("Unit", given.unit.value),
            *([("Protected node type", given.protected_type)] if given.protected_type else []),
            ("Window, snapshots", given.window),
            ("How the method was checked", given.assurance),
        ],
    )
    relied = wording.reliance(given)
    if relied:
        lines += ["### What one person can rely on", ""]
        for paragraph in relied:
            lines += [escape(paragraph), ""]
    if given.reasons:
        lines += ["Why nothing is guaranteed:", "", *items(given.reasons)]
    if given.noise:
        lines += ["How exact the noise is:", "", *items(given.noise)]
    if given.claimed is not None:
        claim = given.claimed
        lines += [
            f"Claimed by {escape(claim.source)}, not proven here and not a guarantee of this release: "
            f"epsilon {escape(claim.epsilon or 'none')}, delta {escape(claim.delta or 'none')}. "
            f"{escape(claim.remark or '')}".rstrip(),
            "",
        ]
    return lines


def _learned(public: PublicPart) -> list[str]:
    rows = risk.learned(public)
    if not rows:
        return []
    text = (
        "Whoever knows everything else, and holds a claim about one unit as likely as the head of a column "
        "says, can hold it at most so likely after reading, by the guarantee alone."
    )
    if any(row.delta != "0" for row in rows):
        text += (
            " Under a delta that is said of claims which would come up in at least "
            f"{percent_text(risk.RAREST)} of releases if they were wrong."
        )
    header = ("Held likely before", *(percent_text(prior) for prior in risk.PRIORS))
    told = [(f"{row.title}, epsilon {row.epsilon}", *map(at_most, row.after)) for row in rows]
    return ["### What somebody can learn of one unit", "", text, "", *table(header, told)]


def _training(training: TrainingPart | None) -> list[str]:
    if training is None:
        return []
    rows = [
        (curve.name, len(curve.values), curve.values[0], curve.values[-1])
        for curve in training.curves
        if curve.values
    ]
    lines = ["## Training", "", *table(("Curve", "Points", "First", "Last"), rows)]
    if training.collapsed:
        lines += ["**The generated data are degenerate:** see the notes.", ""]
    return lines + ([*items(training.notes)] if training.notes else [])


def _caveats(public: PublicPart) -> list[str]:
    rows = [(notice.code, notice.edge_type or "all", notice.text) for notice in public.caveats]
    return ["## What the guarantee does not cover", "", *table(("Code", "Relation", "Meaning"), rows)]


def _charge(public: PublicPart) -> list[str]:
    charge = public.charge
    if charge is None:
        return []
    rows: list[tuple[str, object]] = [
        ("Account", charge.account_id),
        ("Filter", charge.filter),
        ("Epsilon charged", charge.charged_epsilon or "none"),
        ("Epsilon left now", charge.remaining_epsilon or "none"),
    ]
    if charge.charged_at is not None:
        rows.append(("Charged at", charge.charged_at))
    lines = ["## What it cost", "", *table(("", ""), rows)]
    return [*lines, EXPOSED, ""] if charge.exposed else lines


def _transcript(transcript: TranscriptSummary) -> list[str]:
    rows = [
        (
            row.purpose,
            row.mechanism,
            row.edge_type,
            row.operations,
            "–" if row.nano_epsilon is None else f"{row.nano_epsilon / 1e9:.9g}",
            "paid by its group" if row.within_group else "",
        )
        for row in transcript.by_purpose
    ]
    return [
        "## What was asked of the private graph",
        "",
        f"{transcript.operations} recorded operations. The rows do not add up to the guarantee: disjoint "
        "edges are paid for once.",
        "",
        *table(("Purpose", "Mechanism", "Relation", "Operations", "Epsilon, all steps", ""), rows),
    ]


def _statistics(statistics: PublicStatistics, totals: Iterable[Total]) -> list[str]:
    lines = ["## The synthetic graph", ""]
    lines += table(("Node type", "Nodes"), statistics.nodes.items())
    if statistics.steps is not None:
        lines += [
            f"{statistics.steps} snapshots, of which {statistics.steps_evaluated} were read. Figures are "
            "means over snapshots.",
            "",
        ]
    kinds = statistics.edge_types
    lines += table(
        ("Relation", "From", "To", "Directed", "Copied as it is", "Edges"),
        ((k.name, k.source, k.target, k.directed, k.copied, k.edges) for k in kinds),
    )
    names = list(dict.fromkeys(name for kind in kinds for name in kind.means))
    lines += table(
        ("Metric", *(kind.name for kind in kinds)),
        (
            (metric_title(statistics.metrics, name), *(kind.means.get(name) for kind in kinds))
            for name in names
        ),
    )
    lasting = {} if statistics.over_time is None else statistics.over_time.means
    lines += table(
        ("From step to step", "Value"),
        ((metric_title(statistics.metrics, name), value) for name, value in lasting.items()),
    )
    lines += table(
        ("Determined by paid numbers", "Metric", "True value, 95 %"),
        (
            (each.edge_type, metric_title(statistics.metrics, each.metric), ends(each.low, each.high))
            for each in totals
            if each.step is None
        ),
    )
    lines += table(
        ("Relation", "Degrees", "Mean", "Variance", "Median", "Largest", "Nodes without an edge"),
        (
            (kind.name, side.side, side.mean, side.variance, side.median, side.maximum, side.isolated)
            for kind in kinds
            for side in kind.degrees
        ),
    )
    return lines + definitions(statistics.metrics, [*names, *lasting])


def _carried(public: PublicPart) -> list[str]:
    """Write how frequent values are; tables of two things stand in the JSON report."""
    lines: list[str] = []
    for found in public.carried:
        paid = found.paid or (None,) * len(found.bins)
        rows = sorted(zip(found.bins, found.released, paid, strict=True), key=lambda row: -row[1])[:CARRIED]
        lines += [f"### {escape(found.attribute)} of {found.what}, {escape(found.of)}", ""]
        if found.within is None:
            lines += table(("Value", "Release"), (row[:2] for row in rows))
        else:
            near = f"Paid for, within {found.within} of the truth (95 %)"
            lines += table(("Value", "Release", near), rows)
        if len(found.bins) > len(rows):
            lines += [f"The most frequent {len(rows)} of {len(found.bins) + found.left_out} bins.", ""]
    return ["## What edges and nodes carry", "", *lines] if lines else []


def definitions(metrics: dict[str, MetricInfo], names: Iterable[str]) -> list[str]:
    """Say what the named metrics mean, a line each."""
    rows = [(metrics[name].title, metrics[name].definition) for name in names if name in metrics]
    return table(("Metric", "Definition"), rows)


def scores(heading: str, found: Scores) -> list[str]:
    """Write both scores with formula and parts."""
    lines = [f"## {heading}", ""]
    for title, score in (("Protection", found.protection), ("Utility", found.utility)):
        if score is None:
            lines += [f"**{title}: not scored.** There was nothing that it could be computed from.", ""]
            continue
        lines += [f"**{title}: {number(round(score.value, 1))} of 10.** {escape(score.formula)}", ""]
        if score.expects:
            lines += [escape(score.expects), ""]
        lines += table(
            ("Part", "Value", "Weight", "How"),
            ((part.title, part.value, part.weight, part.explanation) for part in score.parts),
        )
    return lines


def _provenance(provenance: Provenance) -> list[str]:
    seed = "" if provenance.seed is None else f", seed {provenance.seed}"
    chosen = provenance.chosen_because
    lines = ["## Provenance", ""]
    lines += table(
        ("", ""),
        [
            ("Job", provenance.job_id),
            *([] if provenance.sample_of is None else [("Further sample of job", provenance.sample_of)]),
            *([] if provenance.dataset_name is None else [("Dataset", provenance.dataset_name)]),
            ("Dataset, identifier", provenance.dataset_id),
            ("Version of the dataset", provenance.dataset_version),
            ("Method", provenance.method),
            *([] if chosen is None else [("Chosen by auto", chosen)]),
            ("Graphveil", provenance.graphveil_version),
            ("Digest of the plan", provenance.plan_digest),
            ("Sampling draws from", provenance.randomness + seed),
        ],
    )
    lines += table(
        ("File", "Type", "Bytes", "SHA-256"),
        ((file.name, file.media_type, file.size_bytes, file.sha256) for file in provenance.artifacts),
    )
    return lines + table(("Library", "Version"), provenance.libraries.items())
