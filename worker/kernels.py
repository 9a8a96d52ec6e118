"""``python -m worker.kernels PARENT``: compiles every kernel that is missing. A worker starts it.

At the lowest priority, beside jobs. The images have them all; a child reads kernels and keeps none, so that
without this each child would compile what it uses. It ends with the process PARENT, as a rule its worker.
"""

from __future__ import annotations

import os
import sys

from core import command_line, logging
from core.kernels.processors import runnable
from core.publishing.ship_kernels import ship
from core.settings import get_settings
from worker.limits import die_with

LOWEST_PRIORITY = 19


def main() -> int:
    """Compile the kernels for this machine. The exit code is 0 once every kernel is there."""
    parser = command_line.parser("worker.kernels", __doc__)
    parser.add_argument("parent", type=int, metavar="PARENT", help="the process that starts this one")
    die_with(parser.parse_args().parent)
    os.nice(LOWEST_PRIORITY)
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    ship(runnable()[:1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
