"""Deliveries and their endpoint are locked in one order, whoever comes first."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from core.errors import NotFound
from core.identity.service import Principal
from core.webhooks import repository
from core.workflows.common.context import Services
from core.workflows.webhooks import endpoints as webhooks
from core.workflows.webhooks.endpoints import NewWebhook
from tests.integration.webhooks.test_deliveries import cancelled_job
from tests.support.patience import PATIENCE_SECONDS

BLOCKED = text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%webhook%'"
)


def test_a_webhook_is_deleted_while_a_delivery_of_it_ends(services: Services, principal: Principal) -> None:
    """Whoever ends a delivery holds it, then its endpoint: the other way round the two would never end."""
    asked = NewWebhook(url="https://hooks.example.org/graphveil", events=["job.cancelled"])
    hook = webhooks.add_webhook(services, principal, asked)
    cancelled_job(services, principal)
    with ThreadPoolExecutor(1) as pool:
        with services.db.transaction() as session:
            session.execute(text("SELECT id FROM webhook_deliveries FOR UPDATE"))
            deleting = pool.submit(webhooks.delete_webhook, services, principal, hook.id)
            while not (deleting.done() or _waits(services)):
                time.sleep(0.02)
            repository.locked_endpoint(session, hook.id)
        deleting.result(timeout=PATIENCE_SECONDS)
    with pytest.raises(NotFound):
        webhooks.get_webhook(services, principal, hook.id)


def _waits(services: Services) -> bool:
    with services.db.transaction() as session:  # a new one each time: within one, the view stands still
        return bool(session.scalar(BLOCKED))
