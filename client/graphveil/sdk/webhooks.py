"""Webhooks. The calls about them, as ``Graphveil.webhooks``, and what a receiver checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

from graphveil.errors import InvalidWebhook
from graphveil.models.webhooks import Deliveries, Delivery, Webhook, Webhooks
from graphveil.sdk.transport import Transport


def verify_webhook(payload: bytes | str, headers: Mapping[str, str], secret: str) -> dict[str, Any]:
    """Return the content of a verified webhook.

    This service signed it less than five minutes ago; InvalidWebhook otherwise.

    ``payload``: the body exactly as it was received. ``secret``: whsec_..., from adding or rotating.
    ``webhook-id`` among the headers tells whether it was received before: the same one may come twice.
    """
    try:
        content = Verifier(secret).verify(payload, dict(headers))
    except (WebhookVerificationError, EmptyWebhookSecretError, ValueError, TypeError) as error:
        raise InvalidWebhook("the webhook is not one that was signed with this secret just now") from error
    if not isinstance(content, dict):
        raise InvalidWebhook("the webhook holds no event")
    return content


class WebhookCalls:
    """Add a webhook, look after it, see what was sent.

    Every method may raise ProblemError, when the service refuses or fails, and TransportError.
    """

    def __init__(self, calls: Transport) -> None:
        self._calls = calls

    def add(
        self,
        url: str,
        *,
        events: Sequence[str] = (),
        catalogue: str | None = None,
        token: str | None = None,
    ) -> Webhook:
        """Add an address for the events.

        It is notified of them; ``secret`` is in this answer only.

        ``catalogue`` instead of events: openlineage, datahub or openmetadata stands at the address, and is
        sent each release; ``token``: its bearer token.
        """
        asked = {"url": url, "events": list(events), "catalogue": catalogue, "token": token}
        body = {name: value for name, value in asked.items() if value is not None}
        return self._calls.read(Webhook, "POST", "/webhooks", json=body)

    def list(self) -> Iterator[Webhook]:
        """List the tenant's webhooks, newest first, page by page."""
        return self._calls.pages(Webhooks, "/webhooks")

    def get(self, webhook_id: str) -> Webhook:
        """Read one webhook."""
        return self._calls.read(Webhook, "GET", f"/webhooks/{webhook_id}")

    def delete(self, webhook_id: str) -> None:
        """Delete the webhook: its address is told nothing any more."""
        self._calls.request("DELETE", f"/webhooks/{webhook_id}")

    def enable(self, webhook_id: str) -> Webhook:
        """Enable the webhook again."""
        return self._changed(webhook_id, "enable")

    def rotate(self, webhook_id: str) -> Webhook:
        """Rotate the webhook's ``secret``.

        Deliveries are signed with a new one, and for a day with the one before as well.
        """
        return self._changed(webhook_id, "rotate")

    def test(self, webhook_id: str) -> Delivery:
        """Send a ``webhook.test``."""
        return self._calls.read(Delivery, "POST", f"/webhooks/{webhook_id}/test")

    def deliveries(self, webhook_id: str, *, state: str | None = None) -> Iterator[Delivery]:
        """List deliveries to the address, newest first, page by page."""
        return self._calls.pages(Deliveries, f"/webhooks/{webhook_id}/deliveries", state=state)

    def retry(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Send the delivery again, under the same id."""
        path = f"/webhooks/{webhook_id}/deliveries/{delivery_id}/retry"
        return self._calls.read(Delivery, "POST", path)

    def _changed(self, webhook_id: str, action: str) -> Webhook:
        return self._calls.read(Webhook, "POST", f"/webhooks/{webhook_id}/{action}")
