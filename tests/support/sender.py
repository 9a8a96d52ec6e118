"""``python -m tests.support.sender STREAM STEP``: a process that sends one snapshot, to be killed."""

from __future__ import annotations

import sys

from core import failpoints
from core.identity.models import Role
from core.identity.service import Principal
from core.settings import get_settings
from core.workflows.common.context import open_services
from core.workflows.streams.snapshots import receive_snapshot
from tests.support.streams import rows


def main() -> None:
    """The snapshot is sent, unless a failpoint ends the process first."""
    stream_id, step = sys.argv[1], int(sys.argv[2])
    settings = get_settings()
    services = open_services(settings)
    failpoints.arm(settings.failpoints)
    sender = Principal("acme", "key_test", "test", frozenset({Role.CURATOR, Role.REQUESTER}))
    receive_snapshot(
        services, sender, stream_id, step=step, format="csv", options={}, chunks=[rows(step)], length=None
    )


if __name__ == "__main__":
    main()
