"""Commands about budgets, quotas and their entries. Entries explain both."""

from __future__ import annotations

from typing import Annotated

import typer

from graphveil.cli import render, render_governance, render_ledger
from graphveil.cli.console import ENDED_BADLY, answer, answered_in_json, ask, out, service
from graphveil.cli.datasets import DatasetId
from graphveil.sdk.client import Graphveil

Scope = Annotated[str, typer.Argument(help="team or project", show_default=False)]
Name = Annotated[str, typer.Argument(help="The team's or project's name.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why; it enters the ledger.")]
Delta = Annotated[str, typer.Option(help="An amount of delta.")]


def budget(
    context: typer.Context,
    dataset_id: DatasetId,
    as_of: Annotated[str | None, typer.Option(help="As it stood then: 2026-01-31T12:00:00Z.")] = None,
) -> None:
    """Show what is charged, reserved and left."""
    ask(context, lambda graphveil: graphveil.budget(dataset_id, as_of=as_of), render.budget)


def unblock(
    context: typer.Context,
    dataset_id: DatasetId,
    reason: Annotated[str, typer.Option(help="What was found; it enters the ledger.")],
) -> None:
    """Let a blocked account take jobs again."""
    ask(context, lambda graphveil: graphveil.unblock(dataset_id, reason=reason), render.budget)


def ledger(context: typer.Context, dataset_id: DatasetId) -> None:
    """List the entries that explain the budget."""
    ask(context, lambda graphveil: list(graphveil.ledger(dataset_id)), render_ledger.ledger)


def verify(context: typer.Context, dataset_id: DatasetId) -> None:
    """Recompute a dataset's account and quotas now; exit 1 where anything is not as it was written."""
    found = ask(context, lambda graphveil: graphveil.verify_ledger(dataset_id), render_ledger.verification)
    if not found.intact:
        raise typer.Exit(ENDED_BADLY)


def health(context: typer.Context) -> None:
    """Show whether the ledger keeps its promises; exit 1 where one is broken, or was not checked lately."""
    found = ask(context, Graphveil.ledger_health, render_ledger.health)
    if found.status != "intact":
        raise typer.Exit(ENDED_BADLY)


def grant(
    context: typer.Context,
    dataset_id: DatasetId,
    reason: Reason,
    epsilon: Annotated[str | None, typer.Option(help="To be added.")] = None,
    delta: Delta = "0",
    team: Annotated[str | None, typer.Option(help="Raise this team's quota, not the account.")] = None,
    project: Annotated[str | None, typer.Option(help="Raise this project's quota, not the account.")] = None,
) -> None:
    """Propose a larger capacity; a second curator approves it."""
    if team is not None and project is not None:
        raise typer.BadParameter("raise one quota at a time", param_hint="--project")
    named = [pair for pair in (("team", team), ("project", project)) if pair[1] is not None]
    quota = (named[0][0], str(named[0][1])) if named else None
    with service(context) as graphveil:
        found = graphveil.propose_grant(dataset_id, epsilon=epsilon, delta=delta, reason=reason, quota=quota)
    answer(context, found, render_governance.proposal)


def quotas(context: typer.Context, dataset_id: DatasetId) -> None:
    """List the quotas of teams and projects."""
    ask(context, lambda graphveil: graphveil.quotas(dataset_id), render_governance.quotas)


def quota(
    context: typer.Context,
    dataset_id: DatasetId,
    scope: Scope,
    name: Name,
    epsilon: Annotated[str, typer.Option(help="What it may draw at most.")],
    reason: Reason,
    delta: Delta = "0",
) -> None:
    """Open a quota for a team or a project."""
    with service(context) as graphveil:
        found = graphveil.open_quota(dataset_id, scope, name, epsilon=epsilon, delta=delta, reason=reason)
    answer(context, found, lambda quota: render_governance.quotas([quota]))


def adjust(
    context: typer.Context,
    dataset_id: DatasetId,
    epsilon: Annotated[str, typer.Option(help="What was spent outside the service.")],
    reason: Reason,
    delta: Delta = "0",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Count spend that happened outside the service, for good."""
    if not yes:
        typer.confirm(f"Count epsilon {epsilon} as spent, for good?", abort=True, err=True)
    with service(context) as graphveil:
        seen = graphveil.budget(dataset_id)
        found = graphveil.adjust(dataset_id, epsilon=epsilon, delta=delta, reason=reason, head=seen.head)
    if not answered_in_json(context, found):
        out.print(f"Epsilon {epsilon} is counted as spent.")
        render.budget(found)
