"""``python -m worker.preflight``: exit code 0 where a worker may start, 1 where the ledger has forgotten.

A program of its own: a worker forks, and what the check opens must not be open then.
"""

from __future__ import annotations

import sys

from core import logging
from core.settings import get_settings
from core.workflows.startup import may_start


def main() -> int:
    """The exit code."""
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    return 0 if may_start(settings) else 1


if __name__ == "__main__":
    sys.exit(main())
