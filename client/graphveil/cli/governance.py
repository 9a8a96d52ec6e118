"""Commands about policies, and about what takes a second person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli import render, render_governance
from graphveil.cli.console import answer, ask, out, read_json, service
from graphveil.cli.datasets import DatasetId
from graphveil.models.datasets import DatasetPolicy
from graphveil.models.jobs import Job
from graphveil.models.proposals import Proposal

Subject = Annotated[str, typer.Argument(help="A job's or a proposal's id.", show_default=False)]
ProposalId = Annotated[str, typer.Argument(help="The proposal's id, prop_...", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why; it is kept.")]

JOB_PREFIX = "job_"


def policy(
    context: typer.Context,
    dataset_id: DatasetId,
    version: Annotated[int | None, typer.Option(help="An earlier version.", min=1)] = None,
) -> None:
    """Show what jobs on a dataset may ask for."""
    ask(context, lambda graphveil: graphveil.policy(dataset_id, version=version), render_governance.policy)


def set_policy(
    context: typer.Context,
    dataset_id: DatasetId,
    file: Annotated[Path, typer.Argument(help="JSON: the whole policy.", exists=True, dir_okay=False)],
    reason: Reason,
    version: Annotated[
        int | None, typer.Option(help="Only if this version still stands; as it stands by default.", min=1)
    ] = None,
) -> None:
    """Change a dataset's policy; one that allows more becomes a proposal for a second curator."""
    with service(context) as graphveil:
        found = graphveil.set_policy(dataset_id, read_json(file), reason=reason, version=version)
    answer(context, found, _settled)


def _settled(found: DatasetPolicy | Proposal) -> None:
    if isinstance(found, DatasetPolicy):
        render_governance.policy(found)
    else:
        out.print("It allows more than before, and waits for a second curator.")
        render_governance.proposal(found)


def proposals(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Option(help="Only about this dataset.")] = None,
    state: Annotated[str | None, typer.Option(help="open, approved, rejected or withdrawn.")] = None,
) -> None:
    """List proposals, newest first."""
    with service(context) as graphveil:
        found = list(graphveil.proposals(dataset_id=dataset, state=state))
    answer(context, found, render_governance.proposals)


def proposal(context: typer.Context, proposal_id: ProposalId) -> None:
    """Show a proposal."""
    ask(context, lambda graphveil: graphveil.proposal(proposal_id), render_governance.proposal)


def approve(context: typer.Context, subject: Subject, reason: Reason) -> None:
    """Approve a job that waits, or a proposal, of another person."""
    with service(context) as graphveil:
        decide = graphveil.approve_job if subject.startswith(JOB_PREFIX) else graphveil.approve_proposal
        found: Job | Proposal = decide(subject, reason=reason)
    answer(context, found, _show)


def reject(context: typer.Context, subject: Subject, reason: Reason) -> None:
    """Reject a job that waits, or a proposal, of another person."""
    with service(context) as graphveil:
        decide = graphveil.reject_job if subject.startswith(JOB_PREFIX) else graphveil.reject_proposal
        found: Job | Proposal = decide(subject, reason=reason)
    answer(context, found, _show)


def withdraw(context: typer.Context, proposal_id: ProposalId) -> None:
    """Take back a proposal of your own."""
    ask(context, lambda graphveil: graphveil.withdraw_proposal(proposal_id), render_governance.proposal)


def _show(found: Job | Proposal) -> None:
    if isinstance(found, Job):
        render.job(found)
    else:
        render_governance.proposal(found)
