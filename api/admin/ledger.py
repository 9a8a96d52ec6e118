"""Verify the ledger from the service host. ``python -m api.admin.ledger verify`` does it.

Reads the settings' database and object store, and changes nothing. The exit code is 0 when everything is
whole, 1 when it is not, 2 when the question cannot be used, 3 when database or storage cannot be reached.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console
from sqlalchemy.exc import OperationalError

from core.checks import evidence_keys, signed_heads
from core.errors import GraphveilError, StorageError
from core.settings import get_settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports, verify

app = typer.Typer(
    help="Verifies the ledger, and the heads that were signed of it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
said = Console(highlight=False)
notes = Console(stderr=True, highlight=False)
BROKEN, UNUSABLE, AWAY = 1, 2, 3
FETCH_SECONDS = 60.0


@contextmanager
def _services() -> Iterator[Services]:
    """Open the service's connections; refusals and dead servers end the command with words."""
    services = open_services(get_settings())
    try:
        yield services
    except OperationalError as error:
        notes.print("[red]The database cannot be reached.[/red] Check GRAPHVEIL_DATABASE_URL.")
        raise typer.Exit(AWAY) from error
    except (StorageError, httpx.HTTPError, OSError) as error:
        notes.print(f"[red]The signed heads cannot be read:[/red] {error}", soft_wrap=True)
        raise typer.Exit(AWAY) from error
    except GraphveilError as error:
        notes.print(f"[red]{error.message}[/red]", soft_wrap=True)
        raise typer.Exit(UNUSABLE) from error
    finally:
        services.close()


@app.callback()
def _main() -> None:
    """Verifies the ledger, and the heads that were signed of it."""


@app.command("verify")
def verify_ledger(
    account: Annotated[
        str | None, typer.Option(help="One account, `acc_...`; all of them otherwise.")
    ] = None,
    heads_from: Annotated[
        str | None,
        typer.Option("--heads", help="A file or https address of signed heads."),
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The only key (hex) to trust; default the settings' keys.")
    ] = None,
) -> None:
    """Every chain is recomputed, and compared with the newest signed heads."""
    with _services() as services:
        document = None if heads_from is None else _fetched(heads_from)
        trusted = None if public_key is None else [signed_heads.public_key(public_key)]
        result = verify.verify_all(services, account_id=account, document=document, trusted=trusted)
    for flaw in result.flaws:
        said.print(f"[red]broken[/red] {flaw.subject}: {flaw.detail}", soft_wrap=True)
    compared = (
        "there are no signed heads to compare with"
        if result.heads_taken_at is None
        else f"compared with the heads signed at {result.heads_taken_at}"
    )
    said.print(f"{result.accounts} accounts, {result.entries} entries; {compared}.", soft_wrap=True)
    if result.lost:
        said.print(
            "[red]The ledger has forgotten what was signed: entries are missing or were replaced.[/red] "
            "A backup that was restored does this. Stop taking jobs, and see docs/verifier.md.",
            soft_wrap=True,
        )
    said.print("[green]Intact.[/green]" if result.intact else "[red]Not intact.[/red]")
    raise typer.Exit(0 if result.intact else BROKEN)


@app.command("public-key")
def show_public_key() -> None:
    """Print the public half of the key that signs the heads, in hex: keep it with the heads."""
    with _services() as services:
        seed = services.settings.head_signing_key.get_secret_value()
        typer.echo(signed_heads.key_text(signed_heads.signing_key(seed).public_key()))


@app.command("evidence-key")
def show_evidence_key() -> None:
    """Print the seed of the key that signs evidence packs, in hex: a secret, for the api alone."""
    with _services() as services:
        typer.echo(evidence_keys.seed_of(services.settings.head_signing_key.get_secret_value()))


def _fetched(place: str) -> bytes:
    """Read the document at a path or an https address."""
    if not place.startswith("https://"):
        return Path(place).read_bytes()
    with httpx.stream("GET", place, timeout=FETCH_SECONDS) as answer:
        answer.raise_for_status()
        content = bytearray()
        for chunk in answer.iter_bytes():
            content += chunk
            if len(content) > head_exports.MAX_DOCUMENT_BYTES:
                raise StorageError("the document is larger than any of signed heads")
        return bytes(content)


if __name__ == "__main__":
    sys.exit(app())
