"""A budget in a file, never spent past its total."""

from __future__ import annotations

from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from graphveil.amounts import format_delta, format_epsilon, plain
from graphveil.local import engine

UNLIMITED = "<graphveil.Budget.unlimited()>"


class Budget:
    """The budget of one population's graphs.

    It is what may be spent on them, kept as the service keeps an account.

    ``path``: the file; it is made where there is none, with ``epsilon`` (and ``delta``) as its total under
    the unit (``edge`` for graphs without time, ``event``, ``w-event`` with its ``window``, ``pair`` or
    ``node``) and the ``filter``, ``basic`` or ``renyi``; they never change. Where there is one, give what it
    was opened with, or only its path. Amounts are exact as decimal strings.

    Take one file for all graphs of one population. What is spent is written before a graph is opened, and
    stays spent where a process dies. The file tells when a line was altered, not when last lines, or the file
    itself, were taken away: :attr:`head` tells that to whoever keeps it elsewhere.

        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "budget.json"
        >>> budget = Budget(path, epsilon=4)
        >>> budget.remaining
        '4'
        >>> budget
        Budget('budget.json': 4 of epsilon 4 left, unit edge)

    Raises the service's errors: InvalidInput (other terms than the file's), AccountBlocked (an altered file),
    StorageError.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        epsilon: str | int | float | None = None,
        delta: str | int | float = 0,
        unit: str | None = None,
        window: int | None = None,
        filter: str = "basic",
    ) -> None:
        in_file, amounts = engine.part("ledger.in_file"), engine.part("ledger.amounts")
        self.path: Path | None = Path(fspath(path))
        terms, window = None, plain(window)
        if epsilon is not None:
            if unit is None:
                known = self.path.exists() and self.path.stat().st_size
                unit = in_file.FileAccount(self.path).book().terms.unit if known else "edge"
            terms = engine.part("ledger.terms").Terms(
                "",
                unit,
                window,
                filter,
                amounts.epsilon_capacity(epsilon),
                amounts.delta_capacity(delta),
            )
        self.account: Any = in_file.FileAccount(self.path, terms)

    @classmethod
    def unlimited(cls) -> Budget:
        """Keep no account.

        Somebody else answers for what the releases of a graph tell together.

        >>> Budget.unlimited().remaining is None
        True
        """
        made = cls.__new__(cls)
        made.path = made.account = None
        return made

    @property
    def unit(self) -> str | None:
        """Return the unit of privacy that it counts. None where it is unlimited."""
        return None if self.account is None else str(self.account.book().terms.unit)

    @property
    def window(self) -> int | None:
        """The window of the unit w-event."""
        found: int | None = None if self.account is None else self.account.book().terms.window
        return found

    @property
    def total(self) -> str | None:
        """Epsilon in all, as a decimal string."""
        return None if self.account is None else format_epsilon(self.account.book().terms.nano_epsilon)

    @property
    def remaining(self) -> str | None:
        """Return the remaining epsilon as a decimal string.

        It is that in the fullest window, at the roomiest Rényi order.
        """
        return None if self.account is None else _left(self.account.book())

    @property
    def head(self) -> str | None:
        """Return the last entry's hash, in hex. It stands for all entries so far."""
        return None if self.account is None else str(self.account.book().head)

    def entries(self) -> list[dict[str, Any]]:
        """List the entries, oldest first, after verifying the file."""
        return [] if self.account is None else list(self.account.book().entries)

    def __repr__(self) -> str:
        if self.account is None or self.path is None:
            return UNLIMITED
        book = self.account.book()
        total = format_epsilon(book.terms.nano_epsilon)
        return f"Budget({self.path.name!r}: {_left(book)} of epsilon {total} left, unit {book.terms.unit})"

    def _repr_html_(self) -> str:
        if self.account is None or self.path is None:
            return f"<code>{escape(UNLIMITED)}</code>"
        book = self.account.book()
        rows = "".join(
            f"<tr><td>{escape(entry['created_at'][:19].replace('T', ' '))}</td>"
            f"<td>{escape(entry['kind'])}</td><td>{escape(_amounts(entry.get('amounts', {})))}</td></tr>"
            for entry in book.entries
            if entry["kind"] != "opening"
        )
        return f"<p><b>{escape(repr(self))}</b></p><table>{rows}</table>"


def _left(book: Any) -> str:
    return format_epsilon(max(0, min(book.tightest().remaining, book.terms.nano_epsilon)))


def _amounts(amounts: dict[str, int]) -> str:
    """Write amounts with their dimensions; a few of many."""
    told = [
        f"{name} {format_delta(amount) if name == 'delta' else format_epsilon(amount)}"
        for name, amount in amounts.items()
        if amount
    ]
    return ", ".join(told[:3]) + (", ..." if len(told) > 3 else "")
