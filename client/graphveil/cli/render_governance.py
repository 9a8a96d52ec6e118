"""Policies and proposals for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from graphveil.cli.console import out, table
from graphveil.models.datasets import DatasetPolicy, PolicyRules
from graphveil.models.ledger import Budget
from graphveil.models.proposals import Proposal


def policy(found: DatasetPolicy) -> None:
    """Print one version of a policy, line by line. There is a line for each rule."""
    unit = found.unit if found.window is None else f"{found.unit}, window {found.window}"
    state = "" if found.current else ", replaced since"
    out.print(f"[bold]{found.dataset_id}[/bold]  policy version {found.version}{state}, unit {unit}")
    made = table(None, "rule", "value")
    for name in PolicyRules.model_fields:
        made.add_row(name, escape(_value(getattr(found.policy, name))))
    out.print(made)
    out.print(f"[dim]{escape(found.reason)}[/dim]")


def proposal(found: Proposal) -> None:
    """Print one proposal, with what to do next."""
    about = f"{found.kind} for {found.dataset_id}, {found.state}"
    out.print(f"[bold]{found.id}[/bold]  {about}")
    out.print(f"{escape(found.person)}: {escape(found.reason)}")
    out.print(escape(_requested_terms(found)))
    if found.decided_at is not None:
        said = f": {escape(found.decision_reason)}" if found.decision_reason else ""
        out.print(f"{found.state} by {escape(found.decided_person or '')}{said}")
    elif found.state == "open":
        out.print(f"[dim]a second curator: graphveil approve {found.id} --reason ...[/dim]")


def proposals(found: Sequence[Proposal]) -> None:
    """Print a line for each, narrow enough for a terminal. :func:`proposal` prints the whole of one."""
    made = table(None, "id", "created", "state", "person", "asks for")
    for one in found:
        made.add_row(
            one.id, f"{one.created_at:%Y-%m-%d}", one.state, escape(one.person), escape(_requested_terms(one))
        )
    out.print(made)


def quotas(found: Sequence[Budget]) -> None:
    """Print a line for each quota."""
    made = table(None, "scope", "name", "capacity", "charged", "reserved", "remaining")
    for one in found:
        sums = (one.capacity, one.charged, one.reserved, one.remaining)
        made.add_row(one.scope, escape(one.scope_name or ""), *(amount.epsilon for amount in sums))
    out.print(made)


def _requested_terms(found: Proposal) -> str:
    asked = found.payload
    if found.kind != "grant":
        return f"a policy that allows more in {', '.join(asked.get('allows_more', []))}"
    quota = asked.get("quota")
    whose = f" for {quota['scope']} {quota['name']}" if quota else ""
    return f"epsilon {asked.get('epsilon')}, delta {asked.get('delta')} more{whose}"


def _value(value: object) -> str:
    if value is None:
        return "(no limit)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
