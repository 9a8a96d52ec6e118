"""Commands that report events. They do as it happens, or to an address of one's own."""

from __future__ import annotations

import json
from itertools import islice
from typing import Annotated

import typer
from rich.markup import escape

from graphveil.cli import render
from graphveil.cli.console import ENDED_BADLY, answer, ask, notes, out, service, table
from graphveil.cli.jobs import JobId, Timeout
from graphveil.models.webhooks import Delivery, Webhook
from graphveil.sdk.events import Change

WebhookId = Annotated[str, typer.Argument(help="The webhook's id, wh_...", show_default=False)]

app = typer.Typer(name="webhook", help="Be told what happens, at an address of yours.", no_args_is_help=True)


def watch(
    context: typer.Context,
    job_id: JobId,
    after: Annotated[int, typer.Option(help="Only what follows this number.", min=0)] = 0,
    timeout: Timeout = None,
) -> None:
    """Print what happens to a job, line by line, until it has ended. With --json: a JSON object a line."""
    with service(context) as graphveil:
        for change in graphveil.follow(job_id, after=after, timeout_seconds=timeout):
            typer.echo(_json(change) if context.obj.as_json else _line(change))
        state = graphveil.job(job_id).state
    if state != "published":
        raise typer.Exit(ENDED_BADLY)


def _line(change: Change) -> str:
    if change.step is None:
        return f"state {change.state}"
    step = change.step
    return f"step  {step.stage} {step.done}/{step.total}" if step.total else f"step  {step.stage}"


def _json(change: Change) -> str:
    if change.step is None:
        return json.dumps({"sequence": change.sequence, "state": change.state})
    return change.step.model_dump_json()


@app.command("add")
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="An https address.", show_default=False)],
    event: Annotated[
        list[str] | None, typer.Option(help="What to be told of, such as job.published; repeat.")
    ] = None,
    catalogue: Annotated[
        str | None, typer.Option(help="Send it each release: openlineage, datahub or openmetadata.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="GRAPHVEIL_CATALOGUE_TOKEN", help="The catalogue's bearer token."),
    ] = None,
) -> None:
    """Add an address, or a catalogue. Its secret is shown this once."""
    ask(
        context,
        lambda graphveil: graphveil.webhooks.add(url, events=event or [], catalogue=catalogue, token=token),
        _with_secret,
    )


@app.command("list")
def webhooks(context: typer.Context) -> None:
    """List the tenant's webhooks, newest first."""
    ask(context, lambda graphveil: list(graphveil.webhooks.list()), _webhooks)


def _webhooks(found: list[Webhook]) -> None:
    made = table(None, "id", "address", "events", "state")
    for one in found:
        state = one.state if one.disabled_reason is None else f"{one.state} ({one.disabled_reason})"
        made.add_row(one.id, escape(one.url), one.catalogue or ", ".join(one.events), state)
    out.print(made)


@app.command("remove")
def remove(context: typer.Context, webhook_id: WebhookId) -> None:
    """Delete a webhook."""
    with service(context) as graphveil:
        graphveil.webhooks.delete(webhook_id)
    notes.print(f"Webhook {webhook_id} is deleted.")


@app.command("enable")
def enable(context: typer.Context, webhook_id: WebhookId) -> None:
    """Enable a webhook again."""
    ask(context, lambda graphveil: graphveil.webhooks.enable(webhook_id), _with_secret)


@app.command("rotate")
def rotate(context: typer.Context, webhook_id: WebhookId) -> None:
    """Give a webhook a new secret, shown this once; the one before signs for another day."""
    ask(context, lambda graphveil: graphveil.webhooks.rotate(webhook_id), _with_secret)


@app.command("test")
def test(context: typer.Context, webhook_id: WebhookId) -> None:
    """Send a webhook a test."""
    ask(context, lambda graphveil: [graphveil.webhooks.test(webhook_id)], _deliveries)


@app.command("deliveries")
def deliveries(
    context: typer.Context,
    webhook_id: WebhookId,
    state: Annotated[str | None, typer.Option(help="pending, delivered or given_up.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
) -> None:
    """List what was sent to a webhook, newest first."""
    with service(context) as graphveil:
        found = list(islice(graphveil.webhooks.deliveries(webhook_id, state=state), limit))
    answer(context, found, _deliveries)


@app.command("retry")
def retry(
    context: typer.Context,
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="The delivery's id, whd_...", show_default=False)],
) -> None:
    """Send a delivery again."""
    ask(context, lambda graphveil: [graphveil.webhooks.retry(webhook_id, delivery_id)], _deliveries)


def _with_secret(found: Webhook) -> None:
    out.print(f"[bold]{found.id}[/bold]  {escape(found.url)}: {render.coloured(found.state)}")
    if found.secret is not None:
        out.print(f"Secret, shown this once: {found.secret}", soft_wrap=True)


def _deliveries(found: list[Delivery]) -> None:
    made = table(None, "id", "event", "created", "state", "attempts", "last answer")
    for one in found:
        answer = (
            one.last_problem if one.last_status is None else f"{one.last_status} {one.last_problem or ''}"
        )
        created = one.created_at.strftime("%Y-%m-%d %H:%M")
        made.add_row(one.id, one.event, created, one.state, str(one.attempts), (answer or "").strip())
    out.print(made)
