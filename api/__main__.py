"""``python -m api``: the service on the settings' address, its metrics on a port of their own."""

from __future__ import annotations

import sys

from api.serve import processes
from core import command_line, logging
from core.settings import get_settings
from core.workflows.operations.startup import may_start


def main() -> int:
    """Serve until SIGTERM, and return the exit code. Requests under way are finished first.

    Metrics have their own listener, so that no rule of a public proxy can expose them by mistake.
    """
    command_line.parser("api", __doc__).parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    if not may_start(settings):
        return 1
    processes.supervise(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
