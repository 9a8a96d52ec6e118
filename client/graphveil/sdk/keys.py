"""The calls about API keys, as ``Graphveil.keys``. For operators of a tenant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphveil.models.identity import CreatedKey, Key, Keys
from graphveil.sdk.transport import Transport


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
        """Make a key of the caller's tenant.

        Its ``token`` is in this answer only.

        ``person`` tells a first from a second person: name one person alike in each of its keys. Not tried
        again when the connection breaks: look into :meth:`list` before you ask once more.
        """
        body = {"name": name, "person": person, "roles": list(roles), "team": team, "days": days}
        return self._calls.read(CreatedKey, "POST", "/keys", json=body)

    def list(self) -> Iterator[Key]:
        """List the tenant's keys, newest first, page by page. Revoked and expired ones are listed too."""
        return self._calls.pages(Keys, "/keys")

    def get(self, key_id: str) -> Key:
        """Read one key; never its token."""
        return self._calls.read(Key, "GET", f"/keys/{key_id}")

    def revoke(self, key_id: str) -> None:
        """Revoke the key. It opens nothing any more, in every process within seconds. Safe to repeat."""
        self._calls.request("DELETE", f"/keys/{key_id}")
