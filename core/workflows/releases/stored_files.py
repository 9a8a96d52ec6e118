"""Published files on their way back. They go into a private folder, laid out as their generator wrote
them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from core.errors import StorageError
from core.jobs.models import Artifact, ArtifactRole
from core.storage.sealed import unseal
from core.workflows.common.context import Services
from core.workflows.releases.publish import seal_context


def fetch_files(services: Services, files: Sequence[Artifact], key: bytes, folder: Path) -> None:
    """Fetch the files of one job. ``folder`` holds ``release/`` and ``private/``, opened and with their
    digests.

    Raises StorageError for bytes that are not those of the digest.
    """
    for file in files:
        path = folder / (file.name if file.role == ArtifactRole.PRIVATE else f"release/{file.name}")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        stored = services.store.get(file.object_key)
        if file.encrypted:
            stored = unseal(stored, key, context=seal_context(file.job_id, file.name))
        digest = hashlib.sha256()
        with path.open("wb") as out:
            for chunk in stored:
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != file.sha256:
            raise StorageError("a published file is damaged", job_id=file.job_id)
