"""The opaque cursor of a list that is shown newest first."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from typing import Protocol

from core.errors import InvalidInput


class Listed(Protocol):
    """A row that a list is ordered by."""

    @property
    def created_at(self) -> datetime: ...

    @property
    def id(self) -> str: ...


def cursor(last: Listed) -> str:
    """What leads to the page after the one that ends with ``last``."""
    text = json.dumps([last.created_at.isoformat(), last.id])
    return base64.urlsafe_b64encode(text.encode()).decode()


def position(text: str) -> tuple[datetime, str]:
    """When the last row of the page before was created, and its id. InvalidInput for a foreign cursor."""
    try:
        created_at, row_id = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
        moment = datetime.fromisoformat(created_at)
        if moment.tzinfo is None or not isinstance(row_id, str):
            raise ValueError("not a cursor")
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidInput("The cursor is not one that this service gave out.", field="cursor") from error
    return moment, row_id
