"""``python -m deploy.local.beside COMMAND...``: runs a command beside a fresh embedded stack.

The stack lives in a folder of its own, which is removed afterwards. The command finds its address and key in
``GRAPHVEIL_URL`` and ``GRAPHVEIL_TOKEN``; its exit code is returned.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.local.stack import Stack


def main(command: Sequence[str]) -> int:
    """Return the command's exit code; 2 where none is given."""
    if not command or command[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    # Below /tmp: the database's own user has to reach it.
    with tempfile.TemporaryDirectory(prefix="gv-beside-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with Stack(Path(folder) / "data") as stack:
            found = {"GRAPHVEIL_URL": stack.url, "GRAPHVEIL_TOKEN": stack.token}
            return subprocess.run(command, env={**os.environ, **found}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
