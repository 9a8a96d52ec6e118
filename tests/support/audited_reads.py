"""All audits of single reads, and which registered reads have none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.support import audited_cells, audited_persons, audited_values
from tests.support.read_audits import ReadAudit, registered_reads


def every_audit() -> Iterator[ReadAudit]:
    for room in (audited_cells, audited_values, audited_persons):
        yield from room.audits()


def without_audit(audits: Iterable[ReadAudit]) -> set[str]:
    """Registered reads that no audit is of, and what audits are of that is no registered read."""
    return registered_reads() ^ {each.read for each in audits}
