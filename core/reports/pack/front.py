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
from core.reports.model import PublicPart
from core.reports.pack.model import PackFacts
from core.reports.sections.promise import risk_table
from core.reports.sections.provenance import reads
from graphveil.amounts import format_epsilon
from graphveil.pages.numbers import at_most

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
        "answers": _answers(facts),
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


def _answers(facts: PackFacts) -> list[tuple[str, str, str, str]]:
    """Answer the four questions in a line each: the section that has it in full, question, answer, more."""
    public, governance = facts.report, facts.governance
    approval, asked = governance["approval"], f"Asked by {governance['asked']['person']}."
    charge, operations = public.charge, public.transcript.operations
    purposes = ", ".join(dict.fromkeys(row.purpose for row in public.transcript.by_purpose))
    reads = (
        f"{operations} read{'' if operations == 1 else 's'} of the private graph" if operations else "nothing"
    )
    left = ""
    if charge is not None and charge.remaining_epsilon is not None and not charge.exposed:
        left = f"ε {charge.remaining_epsilon} of {charge.capacity_epsilon} remains."
    return [
        ("approved", "Who approved", approval["person"] if approval else "nobody",
         asked if approval else f"{governance['rule']} {asked}"),
        ("spent", "What was spent", _spent(facts), left),
        ("read", "What was read", reads, purposes),
        ("promised", "What is promised", _promised(public), _learned(public)),
    ]  # fmt: skip


def _promised(public: PublicPart) -> str:
    none = public.guarantee.kind == "none"
    return "No privacy guarantee" if none else wording.short_guarantee(public.guarantee)


def _learned(public: PublicPart) -> str:
    """Say what the release makes of a coin flip about one unit."""
    found = risk.learned(public)
    if not found:
        return wording.unit_words(public.guarantee)[1]
    guess, after = wording.guess_words(public.guarantee)[0], found[0].after[risk.PRIORS.index(0.5)]
    return f"A claim about {guess}, held as likely as a coin flip, becomes {at_most(after)} at most."


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
