"""A draft of a data protection impact assessment. It is for GDPR, Article 35, and goes as far as public facts
go.

What only the organisation knows is left open, and marked so: a draft that looks finished would be signed.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.graphs.schema import EdgeType, NodeType, Protection
from core.privacy.units import Unit
from core.reports import risk
from core.reports.html import wording
from core.reports.markdown import shown
from core.reports.notices import READ_OFF
from core.reports.pack.model import PackFacts
from core.reports.sections.promise import risk_table
from core.reports.text import escape, items, table

OPEN = "**[for the organisation]**"


def assessment(facts: PackFacts) -> str:
    """Write the draft as Markdown. Deterministic; from the public schema, policy, report and charge."""
    public, schema = facts.report, facts.schema
    lines = [
        f"# Data protection impact assessment (draft): {escape(wording.dataset_of(public))}",
        "",
        f"Release {escape(facts.job_id)}; written on {facts.made_on} from the dataset's public facts. What "
        f"is marked {OPEN} no program knows. Nobody has assessed anything yet.",
        "",
        "## 1. What is processed",
        "",
        *_dataset(facts),
        *table(("Nodes", "How many", "Protected", "Attributes"), map(_node_row, schema.node_types)),
        *table(
            ("Relation", "Between", "Time", "Protected", "Declared bounds", "Carries"),
            map(_edge_row, schema.edge_types),
        ),
        f"- Purposes of the processing, and its legal basis: {OPEN}",
        f"- Where the data comes from, and how long it is kept: {OPEN}",
        f"- Who receives the release, where, and under which terms: {OPEN}",
        "",
        "## 2. Necessity and proportion",
        "",
        "The release is drawn from noisy numbers; no record of the original is in it, but for what is "
        "declared public. What was read is in `transcript.json`, what for in `plan.json`. "
        f"Why the purpose needs this release, and no coarser one: {OPEN}",
        "",
        "## 3. Risks to persons",
        "",
        *_risks(facts),
        f"How severe each would be for a person of this data: {OPEN}",
        "",
        "## 4. Measures",
        "",
        *items(_measures(facts)),
        f"Measures of the organisation (contracts, training, access to hosts, incidents): {OPEN}",
        "",
        "## 5. What remains",
        "",
        *items(caveat.text for caveat in public.caveats),
        f"Whether that is acceptable, and whether the authority is consulted (Article 36): {OPEN}",
        "",
        "## 6. Advice and decision",
        "",
        f"- Views of data subjects or their representatives: {OPEN}",
        f"- Advice of the data protection officer, name, date: {OPEN}",
        f"- Decision of the controller, name, date: {OPEN}",
        "",
    ]
    return "\n".join(lines)


def _dataset(facts: PackFacts) -> list[str]:
    dataset = facts.dataset
    rows = [
        ("Dataset", f"{dataset['name']} ({facts.dataset_id})"),
        ("Population whose budget it draws on", dataset["protection_domain"]),
        ("Declared public as a whole", "yes" if dataset["public"] else "no"),
        ("Unit that is protected", wording.unit_words(facts.report.guarantee)[1]),
        ("Method", facts.report.provenance.method_title),
    ]
    return table(("Fact", "As declared"), rows)


def _node_row(kind: NodeType) -> tuple[str, str, str, str]:
    count = "an uploaded list" if kind.count is None else f"{kind.count:,}"
    bound = "" if kind.degree_bound is None else f"; at most {kind.degree_bound:,} edges each"
    attributes = [f"{each.name} ({_protection(each.protection)})" for each in kind.attributes]
    return kind.name, count + bound, "as persons" if kind.protected else "no", ", ".join(attributes) or "none"


def _protection(protection: Protection) -> str:
    return {Protection.PUBLIC: "public, copied", Protection.WITHHELD: "withheld"}.get(protection, "protected")


def _edge_row(kind: EdgeType) -> tuple[str, ...]:
    bounds = [
        *(["one target per source"] if kind.functional else []),
        *(["a pair once over time"] if kind.once else []),
        *([f"at most {kind.edge_bound:,} edges"] if kind.edge_bound else []),
        *([f"at most {kind.records_per_slot:,} records of a pair"] if kind.records_per_slot else []),
    ]
    carried = ", ".join(attribute.name for attribute in kind.attributes)
    return (
        kind.name,
        f"{kind.source} and {kind.target}",
        "yes" if kind.temporal else "no",
        "no: declared public, copied" if kind.public else "yes",
        ", ".join(bounds) or "none",
        carried or "nothing",
    )


def _risks(facts: PackFacts) -> Iterator[str]:
    """What the guarantee bounds of the three criteria, and what it does not."""
    public = facts.report
    if not risk.learned(public):
        yield from (
            "There is no guarantee: nothing bounds singling out, linking or inference from this release.",
            "",
        )
        return
    persons = public.guarantee.unit is Unit.NODE
    what = "one person's edges" if persons else wording.unit_words(public.guarantee)[0]
    yield (
        f"Somebody who knows everything else, and holds a claim about {what} as likely as the head of a "
        "column says, can hold it at most so likely after reading:"
    )
    yield ""
    yield from shown([risk_table(public)])
    scale = (
        "bounded as above for all edges of a person; that a person is listed is public"
        if persons
        else f"bounded as above for {what} only; all that a person does is covered at a multiple of epsilon"
    )
    yield from table(
        ("Criterion", "What bounds it", "What does not"),
        [
            ("Singling out", scale, "ids, relations and attributes that are declared public"),
            (
                "Linkability",
                "fresh pseudonyms; one account for all releases",
                "publications by other ways",
            ),
            ("Inference", scale, "what holds of people in general: it is what a release is for"),
        ],
    )
    if marks := [caveat.code for caveat in public.caveats if caveat.code in READ_OFF]:
        yield f"Read off the data instead of declared, and outside the guarantee: {', '.join(sorted(marks))}."
        yield ""


def _measures(facts: PackFacts) -> list[str]:
    """What the service did: each with the file that shows it."""
    policy, charge = facts.governance["policy"], facts.report.charge
    approval = facts.governance["approval"]
    return [
        f"The population's budget is epsilon {charge.capacity_epsilon if charge else None}, spent once "
        "(charge.json).",
        f"The dataset's policy, version {policy['version']}, admitted the job (governance.json).",
        f"A second person approved the job: {approval['person']} (governance.json)."
        if approval
        else f"No second person approved the job. {facts.governance['rule']} (governance.json)",
        "Each read was recorded before it drew (transcript.json); the ledger is chained (charge.json).",
        f"{len(facts.audits)} audits of the method stand beside the proof (audits.json)."
        if facts.audits
        else "The method was not audited on this service (audits.json); its proof stands beside its code.",
        "The data is encrypted under a key of its own, and erased by destroying that key.",
    ]
