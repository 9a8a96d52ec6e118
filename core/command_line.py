"""The command line of ``python -m`` programs. They take few arguments or none."""

from __future__ import annotations

import argparse


def parser(module: str, text: str | None) -> argparse.ArgumentParser:
    """Make the parser of ``python -m module``. Its help is ``text``, as a rule the module's docstring.

    ``--help`` prints and exits 0, and what was not added to it is refused with exit code 2: ask it before
    anything is read or opened.
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=(text or "").replace("``", "`"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # An abbreviated flag could mean another one in a later version.
        allow_abbrev=False,
    )
