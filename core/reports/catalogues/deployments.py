"""An entry in the form of the Differential Privacy Deployments Registry.

Source: github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, early 2026, after the
hierarchical schema of Nanayakkara, Ghazi and Vadhan (arXiv 2509.13509). The registry keeps YAML, of which
JSON is a part. Its texts are rendered as Markdown, so names are escaped. What only the publisher knows (data
curator, intended use, region, author) is left out until it is given: a person completes the draft.
"""

from __future__ import annotations

from typing import Any

from core.privacy.accounting.guarantee import MARK
from core.privacy.units import Unit
from core.reports.catalogues.context import Context, limits, shape, title
from core.reports.model import PublicPart
from core.reports.text import escape, plain

UNITS = {
    Unit.EDGE: ("Edge", "Two graphs are adjacent when one has one edge more than the other."),
    Unit.EVENT: (
        "Event (one edge in one snapshot)",
        "Two temporal graphs are adjacent when one has one edge more than the other in one snapshot.",
    ),
    Unit.W_EVENT: (
        "w-event ({window} consecutive snapshots)",
        "Two temporal graphs are adjacent when they differ inside one window of {window} consecutive "
        "snapshots only, by at most one edge in each snapshot and by at most one edge without time.",
    ),
    Unit.PAIR: (
        "Pair of nodes",
        "Two temporal graphs are adjacent when they differ in what is between one pair of nodes, over all "
        "snapshots and relations.",
    ),
    Unit.NODE: (
        "Node (person-level, also called user-level)",
        "Two graphs are adjacent when all edges of one node of the protected type, over all snapshots and "
        "relations, and its row of protected attributes, are replaced by any others. The set of nodes is the "
        "same.",
    ),
}
VARIANTS = {"pure": "Pure DP", "approximate": "Approximate DP"}
MODEL = {
    "model_name": "Central",
    "trust_assumptions": "The service holds the original graph, encrypted by a key of the dataset, and "
    "is trusted with it. Whoever receives the release is not trusted: every figure that was computed "
    "from the original without noise stays with the dataset's curators.",
    "release_type": "One release",
    "release_type_details": "The entry speaks of one release. Further releases of the same dataset are "
    "charged to the same budget account, which admits them until its total is spent.",
    "data_source_type": "Static",
    "access_type": "Non-interactive",
}


def deployment(public: PublicPart, context: Context) -> dict[str, Any]:
    """Write the entry. A release without guarantee, or of nothing read, has neither variant nor privacy loss,
    and says why."""
    given = context.publication
    bounded = public.guarantee.kind in VARIANTS
    entry: dict[str, Any] = {"basic": _basic(public, context)}
    if bounded:
        fixed = "The node set, node and edge types, directedness and the time grid are public."
        entry["dp_variant"] = {
            "variant_name": VARIANTS[public.guarantee.kind],
            "data_domain": _data_domain(public),
            "unprotected_quantities": escape(" ".join([fixed, *limits(public)])),
        }
        entry["privacy_loss"] = _privacy_loss(public)
    entry["deployment_model"] = dict(MODEL)
    entry["implementation"] = _implementation(public)
    entry["administrative"] = {
        "evidence_sources": {
            "report": {
                "evidence_source_type": "Formal publication by the deploying organization",
                "misc": {"title": "Release report", "url": f"{context.job_url(public)}/report.html"},
            }
        },
        "status": "Draft",
        "tier": 3 if bounded else 1,
    }
    if given.author is not None:
        entry["administrative"]["registry_authors"] = [escape(given.author)]
    slug = public.provenance.job_id.lower().replace("_", "-")
    return {"url_slug": f"graphveil-{slug}", "deployment": entry}


def _basic(public: PublicPart, context: Context) -> dict[str, Any]:
    given = context.publication
    text = f"A synthetic graph made by {public.provenance.method_title}. {shape(public)}"
    if public.guarantee.kind not in VARIANTS:
        text += f" {public.guarantee.statement}"
    basic: dict[str, Any] = {
        "name": escape(title(public, context)),
        "description": escape(text),
        "data_product_type": "Synthetic data",
        "publication_date": context.released_on.isoformat(),
    }
    if given.publisher is not None:
        curator = {"data_curator_name": escape(given.publisher)}
        if given.publisher_type is not None:
            curator["data_curator_type"] = given.publisher_type
        basic["data_curators"] = [curator]
    if given.intended_use is not None:
        basic["intended_use"] = escape(given.intended_use)
    if given.region is not None:
        basic["data_product_region"] = escape(given.region)
    return basic


def _data_domain(public: PublicPart) -> str:
    statistics = public.statistics
    relations = ", ".join(
        f"{kind.name} ({'directed' if kind.directed else 'undirected'}, {kind.source} to {kind.target})"
        for kind in statistics.edge_types
        if not kind.copied
    )
    steps = f" over a grid of {statistics.steps} snapshots" if statistics.steps is not None else ""
    nodes = ", ".join(f"{count} {name}" for name, count in statistics.nodes.items())
    return escape(f"Graphs on the public node set ({nodes}) with the relations {relations}{steps}.")


def _privacy_loss(public: PublicPart) -> dict[str, Any]:
    given = public.guarantee
    name, adjacent = UNITS[given.unit]
    # The registry takes epsilon as a number only; the exact decimals stand in the details.
    parameters: dict[str, Any] = {"epsilon": float(given.epsilon or 0)}
    if given.kind == "approximate":
        parameters["delta"] = given.delta
    exact = f"Exactly: epsilon {given.epsilon}, delta {given.delta}, each rounded up."
    return {
        "privacy_unit": name.format(window=given.window),
        "privacy_unit_details": adjacent.format(window=given.window),
        "privacy_parameters": parameters,
        "privacy_parameters_details": escape(f"{exact} {given.statement}"),
    }


def _implementation(public: PublicPart) -> dict[str, str]:
    provenance = public.provenance
    rows = public.transcript.by_purpose
    mechanisms = [f"{row.mechanism} for {row.purpose} ({row.operations} operations)" for row in rows]
    libraries = ", ".join(f"{name} {version}" for name, version in provenance.libraries.items())
    ingest = "Exact duplicates are merged and self-loops dropped at ingest."
    fields = {
        "preprocessing_and_hyperparameter_tuning": ingest
        + " The method reads the original through metered operations only.",
        "mechanisms": "\n".join(
            [
                *(f"- {escape(text)}" for text in mechanisms),
                *(f"- {escape(note)}" for note in public.guarantee.noise),
                f"- Graphveil {escape(provenance.graphveil_version)}, method {escape(provenance.method)} "
                f"(assurance: {escape(public.guarantee.assurance)}); {escape(libraries)}.",
            ]
        ),
        "composition": "The cost is computed from the plan before the data is read. Every operation is "
        "recorded before it draws, and the recorded operations must stay within the plan. Operations add up; "
        "operations of which one privacy unit can meet only one cost their maximum. "
        f"Digest of the plan: {provenance.plan_digest}.",
        "post_processing": "The synthetic graph is sampled from the fitted model, which holds noisy output "
        "only.",
    }
    if public.guarantee.kind == "unread":
        fields["preprocessing_and_hyperparameter_tuning"] = MARK
        fields["composition"] = escape(public.guarantee.statement)
        fields["post_processing"] = "There is none: the graph is drawn from what somebody declared."
    if public.guarantee.kind == "none":
        fields["preprocessing_and_hyperparameter_tuning"] = ingest
        fields["composition"] = "No guarantee: the method read the original outside the metered operations."
        fields["post_processing"] = "The synthetic graph is sampled from the fitted model."
        notes = [*public.guarantee.reasons, _claim(public)]
        fields["additional_information"] = escape(" ".join(plain(text) for text in notes if text))
    return fields


def _claim(public: PublicPart) -> str:
    claim = public.guarantee.claimed
    if claim is None:
        return ""
    return (
        f"Claimed by {claim.source}, not proven here: epsilon {claim.epsilon}, delta {claim.delta}. "
        f"This is not a guarantee of this release. {claim.remark or ''}"
    ).rstrip()
