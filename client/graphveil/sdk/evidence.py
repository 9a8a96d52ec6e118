"""Calls for evidence packs, and their keys. The keys answer for them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphveil.errors import DigestMismatch, EvidenceRefused
from graphveil.evidence import archive
from graphveil.models.evidence import PublicKeys
from graphveil.sdk import files
from graphveil.sdk.transport import Transport, given

EditionName = Literal["public", "ledger"]


class EvidenceCalls:
    """What a privacy officer asks for."""

    _calls: Transport

    def evidence(self, job_id: str, path: Path | str, *, edition: EditionName | None = None) -> Path:
        """Download a release's evidence pack to ``path``: one signed archive.

        ``edition``: ``public``, which anybody may be handed, or ``ledger``, with the chain's entries, for
        curators and auditors; the most that the key may see when it is left out. DigestMismatch where the
        download is no whole archive. :func:`graphveil.evidence.verify.verify` looks at what it holds.
        """
        with self._calls.stream(f"/jobs/{job_id}/evidence", params=given({"edition": edition})) as answer:
            return files.save(answer.iter_bytes(), Path(path), _whole)

    def public_keys(self) -> PublicKeys:
        """Read the public keys of packs and heads. They answer for packs and for the ledger's heads."""
        return self._calls.read(PublicKeys, "GET", "/ledger/public-keys")


def _whole(path: Path) -> None:
    try:
        archive.unpacked(path.read_bytes())
    except EvidenceRefused as error:
        raise DigestMismatch(f"the download is no whole pack: {error}") from error
