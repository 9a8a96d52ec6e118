"""Names that are words. An enumeration whose members are, and are written as, their values."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:  # what Python 3.11 brought
    from enum import Enum

    class StrEnum(str, Enum):
        """Members are strings, and print as such."""

        __str__ = str.__str__


__all__ = ["StrEnum"]
