"""What is wrong with an upload. It says where, and how to mend it: for its curator, never for a requester."""

from __future__ import annotations

from typing import Any, NoReturn

from core.errors import IngestRejected

MAX_FINDINGS = 20
_SHOWN_CHARACTERS = 80


class Findings:
    """Up to ``limit`` findings of one file; the rest is counted as "more"."""

    def __init__(self, file: str, limit: int = MAX_FINDINGS) -> None:
        self.file = file
        self.limit = limit
        self.items: list[dict[str, Any]] = []

    @property
    def full(self) -> bool:
        return len(self.items) >= self.limit

    def add(self, line: int | None, column: int | None, message: str) -> None:
        """Add a finding. ``line`` and ``column`` count from 1 (rows and fields where a file has no lines)."""
        if not self.full:
            self.items.append({"file": self.file, "line": line, "column": column, "message": message})

    def raise_if_any(self) -> None:
        """Raise :class:`IngestRejected` with every finding, in the order of the lines."""
        if self.items:
            self.items.sort(key=lambda item: (item["line"] or 0, item["column"] or 0))
            first = self.items[0]["message"]
            more = f" ({len(self.items)} findings)" if len(self.items) > 1 else ""
            raise IngestRejected(f"{self.file}: {first}{more}", findings=self.items)


def reject(
    file: str,
    message: str,
    *,
    line: int | None = None,
    column: int | None = None,
    reading: dict[str, Any] | None = None,
) -> NoReturn:
    """Raise :class:`IngestRejected` with one finding. The ``reading`` of a file comes with it where that is
    in question."""
    finding: dict[str, Any] = {"file": file, "line": line, "column": column, "message": message}
    if reading is not None:
        finding["reading"] = reading
    raise IngestRejected(f"{file}: {message}", findings=[finding])


def shown(value: object) -> str:
    """Write a value as a message may show it. It is quoted, cut, without control characters."""
    text = repr(str(value))
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…'"
