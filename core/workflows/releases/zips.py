"""A release's files as one zip, written while they are read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence

from core.identity.service import Principal
from core.jobs.models import ArtifactRole
from core.workflows.common.context import Services
from core.workflows.releases import queries


class _Sink:
    """Takes what the archive's writer writes, until it is sent on."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Keep what was written: :meth:`taken` sends it on."""

    def taken(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole


def release_zip(services: Services, principal: Principal, job_id: str) -> Iterator[bytes]:
    """Stream a published job's files that may be handed on. The members are stored as they are; tables that
    were written elsewhere are not among them.

    Raises as :func:`queries.listed`, before the first byte; StorageError later ends the archive early.
    """
    items = queries.listed(services, principal, job_id).items
    names = [each.name for each in items if each.role != ArtifactRole.CURATOR and each.written_to is None]
    return _written(services, principal, job_id, names)


def _written(services: Services, principal: Principal, job_id: str, names: Sequence[str]) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for name in names:
            artifact, chunks = queries.open_artifact(services, principal, job_id, name)
            # The size is not known when a member's header is written: it may be beyond 4 GiB.
            with archive.open(zipfile.ZipInfo(artifact.name), "w", force_zip64=True) as member:
                for chunk in chunks:
                    member.write(chunk)
                    yield sink.taken()
        # What closing the member wrote: its digest and its sizes.
        yield sink.taken()
    yield sink.taken()
