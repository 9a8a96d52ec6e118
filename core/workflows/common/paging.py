"""Pages of every list. There is one check of their size, one kind of cursor.

A cursor holds where the page before ended, and an HMAC over that place, the list, its filters and the tenant.
It is good for going on with the same list under the same filters as the same tenant, and for nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

from core.errors import InvalidInput
from core.identity.service import Principal
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.common.derived_keys import CURSORS, derived_key

MAX_PAGE = 500
MAC_BYTES = 32
FOREIGN = "The cursor is not one that this list gave out, for this caller and these filters."

Place = Sequence[str | int]
"""What the rows are sorted by: the values of the last row of a page."""

Row = TypeVar("Row")


class Listed(Protocol):
    """A row of a list that is ordered by creation."""

    @property
    def created_at(self) -> datetime: ...

    @property
    def id(self) -> str: ...


@dataclass(frozen=True)
class Paging:
    """One page that is requested. It has ``size`` rows, from behind ``place`` (None: from the start)."""

    size: int
    place: list[str | int] | None
    _settings: Settings = field(repr=False)
    _scope: str = field(repr=False)

    @property
    def before(self) -> tuple[datetime, str] | None:
        """The place in a list, newest first. It is created_at and id."""
        if self.place is None:
            return None
        return datetime.fromisoformat(str(self.place[0])), str(self.place[1])

    def cut(self, rows: Sequence[Row], place_of: Callable[[Row], Place]) -> tuple[Sequence[Row], str | None]:
        """Cut the page, and the next one's cursor. They are cut out of ``size + 1`` rows; the cursor is None
        on the last page."""
        if len(rows) <= self.size:
            return rows, None
        return rows[: self.size], self.cursor(place_of(rows[self.size - 1]))

    def cursor(self, place: Place) -> str:
        """Say what leads to the rows behind the place."""
        text = _canonical(list(place))
        return _encoded(_mac(self._settings, self._scope, text), text)


def by_age(row: Listed) -> Place:
    """Return the place of a row, newest first. It is that in a list that shows the newest first."""
    return row.created_at.isoformat(), row.id


def require_state(state: str | None, known: type[StrEnum]) -> None:
    """Check that a list's filter names a known state, or none. InvalidInput: it names another."""
    if state is not None and state not in set(known):
        mend = f"Use one of {', '.join(known)}."
        raise InvalidInput(f"There is no state {state!r} here.", field="state", how_to_mend=mend)


class Sort(StrEnum):
    """How a list is sorted. Each order goes along an index, and no two rows are at one place of it."""

    NEWEST = "-created"
    OLDEST = "created"
    A_TO_Z = "name"
    Z_TO_A = "-name"

    @property
    def falls(self) -> bool:
        """Tell whether the largest comes first."""
        return self.startswith("-")

    @property
    def named(self) -> str | None:
        """Return what a cursor is bound to: nothing for the order that every list has."""
        return None if self is Sort.NEWEST else str(self)


def sort_of(text: str | None, *known: Sort) -> Sort:
    """Return the order of that name, the newest first where none is named. InvalidInput: it is not
    ``known``."""
    if text is None:
        return Sort.NEWEST
    if text not in known:
        raise InvalidInput(
            f"This list is not sorted by {text!r}.",
            field="sort",
            how_to_mend=f"Use one of {', '.join(known)}.",
        )
    return Sort(text)


def paged(
    services: Services,
    principal: Principal,
    name: str,
    cursor: str | None,
    limit: int | None,
    **filters: str | int | None,
) -> Paging:
    """Make a page of the list ``name``. InvalidInput: a limit outside 1 to 500; any cursor that is not its
    own."""
    size = services.settings.page_size if limit is None else limit
    if not 1 <= size <= MAX_PAGE:
        raise InvalidInput(f"A page holds 1 to {MAX_PAGE} entries.", field="limit")
    # Signed into the cursor, which so serves this list, tenant and filters only.
    scope = _canonical({"list": name, "tenant": principal.tenant, "filters": _given(filters)})
    place = None if cursor is None else _place(services.settings, scope, cursor)
    return Paging(size, place, services.settings, scope)


def _place(settings: Settings, scope: str, cursor: str) -> list[str | int]:
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except ValueError as error:  # not ASCII, or not base64
        raise InvalidInput(FOREIGN, field="cursor") from error
    mac, text = raw[:MAC_BYTES], raw[MAC_BYTES:].decode("utf-8", "replace")
    same = hmac.compare_digest(mac, _mac(settings, scope, text))
    if not same or _encoded(mac, text) != cursor:  # several texts decode to the same bytes; one of them is it
        raise InvalidInput(FOREIGN, field="cursor")
    place: list[str | int] = json.loads(text)  # authentic: this module wrote it
    return place


def _encoded(mac: bytes, text: str) -> str:
    return base64.urlsafe_b64encode(mac + text.encode()).decode()


def _mac(settings: Settings, scope: str, text: str) -> bytes:
    signed = _canonical([scope, text]).encode()
    return hmac.digest(derived_key(settings, CURSORS), signed, hashlib.sha256)


def _given(filters: Mapping[str, str | int | None]) -> dict[str, str | int]:
    return {name: value for name, value in filters.items() if value is not None}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
