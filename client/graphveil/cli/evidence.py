"""The commands about a release's evidence.

They serve who must answer for it, and check whether evidence holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from graphveil.cli.console import ENDED_BADLY, answered_in_json, ask, out, service
from graphveil.cli.jobs import JobId
from graphveil.errors import ClientError, EngineMissing
from graphveil.evidence import signatures
from graphveil.evidence.verify import Verdict, verify
from graphveil.models.evidence import PublicKeys
from graphveil.sdk.client import Graphveil

PackFile = Annotated[Path, typer.Argument(help="The pack.", dir_okay=False, exists=True, show_default=False)]


def evidence(
    context: typer.Context,
    job_id: JobId,
    file: Annotated[
        Path | None, typer.Option("--out", help="A file; JOB.evidence.zip when left out.", dir_okay=False)
    ] = None,
    edition: Annotated[
        str | None,
        typer.Option(help="public, or ledger with the chain's entries; the most you may see when left out."),
    ] = None,
) -> None:
    """Download a release's evidence pack: one signed archive for whoever answers for it."""
    if edition not in (None, "public", "ledger"):
        raise typer.BadParameter("is public or ledger", param_hint="--edition")
    path = file or Path(f"{job_id}.evidence.zip")
    with service(context) as graphveil:
        graphveil.evidence(job_id, path, edition=edition)  # type: ignore[arg-type]  # looked at above
    if not answered_in_json(context, str(path)):
        out.print(escape(str(path)))


def public_keys(context: typer.Context) -> None:
    """Show the public keys that answer for evidence packs and the ledger's heads."""
    ask(context, Graphveil.public_keys, _show_keys)


def verify_evidence(
    context: typer.Context,
    file: PackFile,
    key: Annotated[
        list[str] | None,
        typer.Option(help="A public key that you trust: 64 hex digits, or a file with them; repeat."),
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="Signed heads that were kept elsewhere.", dir_okay=False, exists=True)
    ] = None,
    release: Annotated[
        Path | None, typer.Option(help="A folder with the release's files.", file_okay=False, exists=True)
    ] = None,
) -> None:
    """Verify an evidence pack on this machine: asks no service, needs no key of one."""
    try:
        trusted = [signatures.checked_key(_text(each)) for each in key or []]
        document = None if heads is None else heads.read_bytes()
        found = verify(
            file.read_bytes(),
            trusted=trusted,
            heads_document=document,
            release=release,
            recompute=_recompute,
        )
    except ClientError as error:
        raise typer.BadParameter(str(error)) from error
    if not answered_in_json(context, _as_json(found)):
        _show(found)
    if not found.holds:
        raise typer.Exit(ENDED_BADLY)


def _text(key: str) -> str:
    """Read a key that a file holds; a key itself stays as it is."""
    path = Path(key)
    return path.read_text(encoding="utf-8") if len(key) != 64 and path.is_file() else key


def _recompute(*given: Any) -> int | None:
    """Ask the engine; None where it is not installed."""
    from graphveil.local.composition import recompute

    try:
        return recompute(*given)
    except EngineMissing:
        return None


def _as_json(found: Verdict) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "refused": [{"place": each.place, "reason": each.reason} for each in found.refused],
        "held": found.held,
        "open": found.open,
    }


def _show(found: Verdict) -> None:
    for line in found.held:
        out.print(f"[green]holds[/green]    {escape(line)}", soft_wrap=True)
    for line in found.open:
        out.print(f"[yellow]not seen[/yellow] {escape(line)}", soft_wrap=True)
    for each in found.refused:
        out.print(f"[red]refused[/red]  {escape(str(each))}", soft_wrap=True)
    if found.holds:
        manifest = json.loads(found.files["manifest.json"])
        out.print(
            f"[green]The pack holds.[/green] Job {escape(manifest['job_id'])}, edition "
            f"{escape(manifest['edition'])}, made on {escape(manifest['made_on'])}. Read index.html first.",
            soft_wrap=True,
        )
    else:
        out.print("[red]The pack does not hold.[/red]")


def _show_keys(found: PublicKeys) -> None:
    for each in found.items:
        out.print(f"{each.key_id}  {each.public_key}", soft_wrap=True)
    if found.evidence is None:
        out.print("[yellow]No key for evidence packs is certified at present.[/yellow]")
    else:
        told = found.evidence
        out.print(
            f"Packs are signed by {told.key_id} until {told.valid_until}, on the word of {told.issuer_id}."
        )
