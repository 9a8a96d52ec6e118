"""Manage API keys from the service host. ``python -m api.admin.keys create --tenant T --name N --role
curator`` makes one.

Works on the settings' database. A token is shown once, on standard output, and stored as a hash only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.db.session import Database
from core.errors import GraphveilError
from core.identity import service as identity
from core.identity.models import Role
from core.settings import get_settings

app = typer.Typer(
    help="Makes, lists and revokes API keys.", no_args_is_help=True, pretty_exceptions_enable=False
)
notes = Console(stderr=True)

Tenant = Annotated[str, typer.Option(help="The tenant, a slug such as `city-hospital`.")]


@contextmanager
def _transaction() -> Iterator[Session]:
    """One transaction on the settings' database; refusals and a dead database end the command with words."""
    database = Database(get_settings().database_url, pool_size=1)
    try:
        with database.transaction() as session:
            yield session
    except GraphveilError as error:
        notes.print(f"[red]{error.message}[/red]", highlight=False)
        raise typer.Exit(2) from error
    except OperationalError as error:
        notes.print("[red]The database cannot be reached.[/red] Check GRAPHVEIL_DATABASE_URL.")
        raise typer.Exit(3) from error
    finally:
        database.dispose()


@app.command()
def create(
    tenant: Tenant,
    name: Annotated[str, typer.Option(help="What the key is for, as the ledger and the logs call it.")],
    role: Annotated[list[Role], typer.Option(help="Repeat for several roles.")],
    person: Annotated[
        str | None, typer.Option(help="Whose key it is; the name by default. A second person is another one.")
    ] = None,
    team: Annotated[str | None, typer.Option(help="Whose quota it draws on.")] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Days until it expires; default GRAPHVEIL_DEFAULT_KEY_DAYS.")
    ] = None,
) -> None:
    """A new key; its token is printed on standard output this once."""
    with _transaction() as session:
        key, token = identity.create_key(
            session,
            tenant=tenant,
            name=name,
            roles=role,
            lifetime=identity.lifetime_of(get_settings(), days),
            person=person,
            team=team,
        )
        key_id, expires = key.id, _day(key.expires_at)
    notes.print(f"Key {key_id} of tenant {tenant}, expires {expires}.", highlight=False)
    notes.print("The token is shown this once:")
    typer.echo(token)


@app.command("list")
def list_keys(tenant: Tenant) -> None:
    """List the tenant's keys, newest first."""
    with _transaction() as session:
        keys = identity.list_keys(session, tenant)
    table = Table("id", "name", "person", "team", "roles", "made", "made by", "until", "state")
    for key in keys:
        table.add_row(
            key.id,
            escape(key.name),
            escape(key.person),
            key.team or "-",
            ", ".join(key.roles),
            _day(key.created_at),
            key.created_by or "-",
            _day(key.expires_at),
            key.state,
        )
    Console().print(table)


@app.command()
def revoke(tenant: Tenant, key_id: Annotated[str, typer.Argument(help="The key's id, `key_...`.")]) -> None:
    """The key opens nothing any more."""
    with _transaction() as session:
        identity.revoke_key(session, tenant, key_id)
    notes.print(f"Key {key_id} is revoked.", highlight=False)


def _day(moment: datetime | None) -> str:
    return "never" if moment is None else moment.date().isoformat()


if __name__ == "__main__":
    app()
