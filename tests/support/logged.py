"""What a module logged, apart from the lines of threads that others left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def events(lines: Iterable[Mapping[str, Any]], module: str) -> list[str]:
    """List the events that the module logged, in order."""
    return [line["event"] for line in lines if line.get("logger_name") == module]
