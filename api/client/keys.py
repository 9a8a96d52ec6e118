"""The calls about API keys, as ``Graphveil.keys``. For operators of a tenant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.client.transport import Transport
from core.identity.views import CreatedKey, Key, Keys


class KeyCalls:
    """Make keys, see who has them, revoke them.

    Every method may raise ProblemError, when the service refuses or fails, and TransportError.
    """

    def __init__(self, calls: Transport) -> None:
        self._calls = calls

    def create(
        self,
        name: str,
        *,
        person: str,
        roles: Sequence[str],
        team: str | None = None,
        days: int | None = None,
    ) -> CreatedKey:
        """A key of the caller's tenant stands; its ``token`` is in this answer alone.

        ``person`` tells a first from a second person: name one person alike in each of its keys. Not tried
        again when the connection breaks: look into :meth:`list` before you ask once more.
        """
        body = {"name": name, "person": person, "roles": list(roles), "team": team, "days": days}
        return CreatedKey.model_validate(self._calls.request("POST", "/keys", json=body).json())

    def list(self) -> Iterator[Key]:
        """The tenant's keys, newest first, page by page; revoked and expired ones too."""
        query: dict[str, str] = {}
        while True:
            page = Keys.model_validate(self._calls.request("GET", "/keys", params=query).json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def get(self, key_id: str) -> Key:
        """One key; never its token."""
        return Key.model_validate(self._calls.request("GET", f"/keys/{key_id}").json())

    def revoke(self, key_id: str) -> None:
        """The key opens nothing any more, in every process within seconds. Safe to repeat."""
        self._calls.request("DELETE", f"/keys/{key_id}")
