"""API keys, from the service host: ``python -m api.keys create --tenant T --name N --role curator``.

Works on the settings' database. A token is shown once, on standard output, and stored as a hash only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core import clock
from core.db.session import Database
from core.errors import GraphveilError
from core.identity import service as identity
from core.identity.models import ApiKey, Role
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
    name: Annotated[str, typer.Option(help="Whose key it is, for the ledger and the logs.")],
    role: Annotated[list[Role], typer.Option(help="Repeat for several roles.")],
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires; default never.")] = None,
) -> None:
    """A new key; its token is printed on standard output this once."""
    expires_at = clock.now() + timedelta(days=days) if days else None
    with _transaction() as session:
        key, token = identity.create_key(session, tenant=tenant, name=name, roles=role, expires_at=expires_at)
        key_id = key.id
    notes.print(f"Key {key_id} of tenant {tenant}. The token is shown this once:", highlight=False)
    typer.echo(token)


@app.command("list")
def list_keys(tenant: Tenant) -> None:
    """The tenant's keys, oldest first."""
    with _transaction() as session:
        keys = identity.list_keys(session, tenant)
    table = Table("id", "name", "roles", "created", "expires", "state")
    for key in keys:
        expires = key.expires_at.isoformat(timespec="minutes") if key.expires_at else "never"
        created = key.created_at.isoformat(timespec="minutes")
        table.add_row(key.id, key.name, ", ".join(key.roles), created, expires, _state(key))
    Console().print(table)


@app.command()
def revoke(tenant: Tenant, key_id: Annotated[str, typer.Argument(help="The key's id, `key_...`.")]) -> None:
    """The key opens nothing any more."""
    with _transaction() as session:
        identity.revoke_key(session, tenant, key_id)
    notes.print(f"Key {key_id} is revoked.", highlight=False)


def _state(key: ApiKey) -> str:
    if key.revoked_at:
        return "revoked"
    return "expired" if key.expires_at and key.expires_at <= clock.now() else "active"


if __name__ == "__main__":
    app()
