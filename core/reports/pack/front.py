"""The first page of a pack. It has four questions, each answered in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from core.reports import risk
from core.reports.base import EXPOSED
from core.reports.html import wording
from core.reports.html.render import environment_of
from core.reports.pack.model import PackFacts
from core.reports.sections.promise import risk_table
from core.reports.sections.provenance import reads
from graphveil.amounts import format_epsilon

TEMPLATES = Path(__file__).parent / "templates"
MOST_READS = 12


def page_of(facts: PackFacts, holds: Mapping[str, str]) -> str:
    """Write the page. It is self-contained, nothing fetched, the same bytes for the same facts."""
    public = facts.report
    content = {
        "facts": facts,
        "public": public,
        "governance": facts.governance,
        "charge": facts.charge,
        "dataset": wording.dataset_of(public),
        "unit": wording.unit_words(public.guarantee),
        "short_guarantee": wording.short_guarantee(public.guarantee),
        "level": wording.promise_level(public.guarantee),
        "guess": wording.guess_words(public.guarantee),
        "learned": risk_table(public),
        "rarest": risk.RAREST,
        "spent": _spent(facts),
        "granted": [
            format_epsilon(each["amounts"].get("epsilon", 0)) for each in facts.governance["grants"] or ()
        ],
        "reads": reads(public.transcript.by_purpose[:MOST_READS]),
        "more_reads": max(0, len(public.transcript.by_purpose) - MOST_READS),
        "assurance": ""
        if public.guarantee.kind == "unread"
        else wording.ASSURANCE.get(public.guarantee.assurance, ""),
        "exposed": EXPOSED,
        "holds": {name: said for name, said in holds.items() if name != "ledger.json" or facts.ledger},
    }
    return environment_of(TEMPLATES).get_template("pack.html").render(content)


def _spent(facts: PackFacts) -> str:
    """Say what was charged, in a sentence."""
    charge = facts.charge
    if facts.report.guarantee.kind == "none":
        return "No epsilon: there is no guarantee. The account is exposed since its graph was opened."
    if facts.report.guarantee.kind == "unread":
        return "Nothing was read and nothing was charged: the graph was made from declarations."
    if charge["sample_of"]:
        return f"Nothing: it is a further sample of the model that job {charge['sample_of']} has paid for."
    if charge["filter"] == "renyi":
        return "A curve of Rényi divergences, in charge.json; the guarantee says what it comes to."
    amounts: dict[str, Any] = charge["amounts"]
    delta = amounts.get("delta", 0)
    if "epsilon" in amounts:
        text = f"Epsilon {format_epsilon(amounts['epsilon'])}"
    else:
        steps = [amount for name, amount in amounts.items() if name.startswith("step/")]
        text = f"Epsilon {format_epsilon(max(steps, default=0))} of the dearest of {len(steps)} steps"
        if amounts.get("untimed"):
            text += f", and {format_epsilon(amounts['untimed'])} of what has no time"
    return text + (f", delta {Decimal(delta).scaleb(-18).normalize():e}" if delta else "") + "."
