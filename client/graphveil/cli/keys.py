"""Commands about the caller and its tenant's keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape

from graphveil.cli.console import answer, ask, notes, out, service, table
from graphveil.cli.render import coloured
from graphveil.models.identity import CreatedKey, Key, Me
from graphveil.sdk.client import Graphveil

KeyId = Annotated[str, typer.Argument(help="The key's id, key_...", show_default=False)]

app = typer.Typer(name="key", help="API keys of your tenant; for operators.", no_args_is_help=True)


def me(context: typer.Context) -> None:
    """Show who you are to the service: your person, roles and team, and until when."""
    ask(context, Graphveil.me, _me)


@app.command("create")
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What the key is for.", show_default=False)],
    person: Annotated[str, typer.Option(help="Whose key it is: one person, one name, in each of its keys.")],
    role: Annotated[list[str], typer.Option(help="curator, requester, auditor or operator; repeat.")],
    team: Annotated[str | None, typer.Option(help="Whose quota it draws on.")] = None,
    days: Annotated[int | None, typer.Option(help="Days until it expires.", min=1)] = None,
) -> None:
    """Make a key. Its token is shown this once."""
    with service(context) as graphveil:
        made = graphveil.keys.create(name, person=person, roles=role, team=team, days=days)
    answer(context, made, _created)


@app.command("list")
def keys(context: typer.Context) -> None:
    """List the tenant's keys, newest first."""
    with service(context) as graphveil:
        found = list(graphveil.keys.list())
    answer(context, found, _keys)


def _keys(found: list[Key]) -> None:
    made = table(None, "id", "name", "person", "team", "roles", "state", "expires")
    for one in found:
        made.add_row(
            one.id,
            escape(one.name),
            escape(one.person),
            one.team or "",
            ", ".join(one.roles),
            coloured(one.state),
            "never" if one.expires_at is None else f"{one.expires_at:%Y-%m-%d}",
        )
    out.print(made)


@app.command("show")
def show(context: typer.Context, key_id: KeyId) -> None:
    """Show a key."""
    ask(context, lambda graphveil: graphveil.keys.get(key_id), _key)


@app.command("revoke")
def revoke(context: typer.Context, key_id: KeyId) -> None:
    """Revoke a key: it opens nothing any more."""
    with service(context) as graphveil:
        graphveil.keys.revoke(key_id)
    notes.print(f"Key {key_id} is revoked.")


def _me(found: Me) -> None:
    team = f", team {found.team}" if found.team else ""
    out.print(f"[bold]{escape(found.person)}[/bold] of tenant {found.tenant}{team}")
    out.print(f"roles: {', '.join(found.roles) or 'none'}")
    out.print(f"key {found.key_id} ({escape(found.name)}), {_end(found.expires_at)}")
    for what, limit in (("requests", found.requests), ("jobs", found.jobs)):
        if limit is not None:
            out.print(f"[dim]{what}: {limit.remaining} of {limit.limit} a minute left[/dim]")


def _key(found: Key | CreatedKey) -> None:
    out.print(f"[bold]{found.id}[/bold]  {escape(found.name)}: {coloured(found.state)}")
    team = f", team {found.team}" if found.team else ""
    out.print(f"{escape(found.person)}{team}: {', '.join(found.roles)}; {_end(found.expires_at)}")


def _created(key: CreatedKey) -> None:
    _key(key)
    out.print(f"Token, shown this once: {key.token}", soft_wrap=True)


def _end(moment: datetime | None) -> str:
    return "never expires" if moment is None else f"expires {moment:%Y-%m-%d}"
