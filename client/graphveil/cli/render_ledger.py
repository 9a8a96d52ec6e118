"""Ledger entries, and whether they can be believed, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from graphveil.amounts import format_delta, format_epsilon
from graphveil.cli.console import out, table
from graphveil.cli.render import coloured
from graphveil.models.checks import LedgerHealth
from graphveil.models.ledger import Entry, Verification

SHOWN_AMOUNTS = 3


def ledger(found: Sequence[Entry]) -> None:
    """Print a line for each entry, its amounts as decimals."""
    made = table(None, "#", "when", "kind", "amounts", "job", "reason", "hash")
    for entry in found:
        persons = f" (asked by {entry.actor}, approved by {entry.approver})" if entry.approver else ""
        made.add_row(
            str(entry.sequence),
            entry.created_at.strftime("%Y-%m-%d %H:%M"),
            entry.kind,
            _amounts(entry),
            entry.job_id or "",
            escape(entry.reason + persons),
            entry.hash[:12],
        )
    out.print(made)


def verification(found: Verification) -> None:
    """Print one account, as it was recomputed now."""
    state = coloured("intact" if found.intact else "violated")
    out.print(f"[bold]{found.account_id}[/bold]  {state}")
    read = f"read: {found.entries} entries of the account and its quotas ({found.quotas})"
    out.print(f"{read}; violations: {found.violations}")
    out.print(f"[dim]head {found.head}[/dim]")
    for one in found.findings:
        out.print(f"[red]{one.invariant}[/red] {one.account_id}: {escape(one.detail)}")


def health(found: LedgerHealth) -> None:
    """Print a line for each promise.

    Of every one that is not kept, it has what it says and where it is broken.
    """
    out.print(f"The ledger is {coloured(found.status)}.")
    made = table(None, "promise", "status", "violations", "checked")
    for one in found.promises:
        checked = "never" if one.checked_at is None else one.checked_at.strftime("%Y-%m-%d %H:%M:%S")
        violations = "" if one.violations is None else str(one.violations)
        made.add_row(one.invariant, coloured(one.status), violations, checked)
    out.print(made)
    for one in found.promises:
        if one.status == "intact":
            continue
        out.print(f"[red]{one.invariant}[/red]: {escape(one.promise)}")
        for finding in one.findings:
            out.print(f"  {escape(finding.subject)}: {escape(finding.detail)}")


def _amounts(entry: Entry) -> str:
    """Write the first few amounts in the units of budgets: the ledger keeps 1e-9, and 1e-18 of delta."""
    named = [
        f"{name} {format_delta(amount) if name == 'delta' else format_epsilon(amount)}"
        for name, amount in entry.amounts.items()
        if amount or len(entry.amounts) == 1
    ]
    more = len(named) - SHOWN_AMOUNTS
    return ", ".join(named[:SHOWN_AMOUNTS]) + (f" and {more} more" if more > 0 else "")
