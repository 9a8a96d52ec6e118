"""The process that sends webhooks dies between sending and marking: sent twice, under one id."""

from __future__ import annotations

import signal

from sqlalchemy import text

from core.identity.service import Principal
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.webhooks import deliveries
from core.workflows.webhooks import endpoints as webhooks
from core.workflows.webhooks.endpoints import NewWebhook
from tests.support.faults import Processes, until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.receiver import receiver


def test_a_deliverer_that_dies_after_sending_sends_again_under_the_same_id(
    fault_settings: Settings, processes: Processes, caller: Principal
) -> None:
    with receiver() as inbox:
        allowed = {"webhook_ports": (inbox.port,), "webhook_private_addresses": True}
        services = open_services(fault_settings.model_copy(update=allowed))
        url = inbox.url.replace("hooks.example.org", "127.0.0.1")
        hook = webhooks.add_webhook(services, caller, NewWebhook(url=url, events=["job.published"]))
        deliveries.try_webhook(services, caller, hook.id)
        with services.db.transaction() as session:  # a test has one attempt; this one is to have two
            session.execute(text("UPDATE webhook_deliveries SET attempt_limit = 2"))

        victim = processes.start("worker.webhooks", failpoints="webhook_sent", **allowed)
        assert victim.wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL, processes.output()
        assert len(inbox.received) == 1
        assert state(services, caller, hook.id) == ("pending", 1)

        successor = processes.start("worker.webhooks", webhook_poll_seconds=0.1, **allowed)
        until(lambda: "webhooks_started" in processes.output(), what="the start")
        assert len(inbox.received) == 1  # the lease of the dead one still runs
        with services.db.transaction() as session:
            session.execute(
                text("UPDATE webhook_deliveries SET lease_expires_at = now() - interval '1 second'")
            )
        until(lambda: state(services, caller, hook.id) == ("delivered", 2), what="the second sending")
        assert hook.secret is not None
        assert [got.verified(hook.secret)["type"] for got in inbox.received] == ["webhook.test"] * 2
        assert len({got.id for got in inbox.received}) == 1
        successor.send_signal(signal.SIGTERM)
        assert successor.wait(timeout=PATIENCE_SECONDS) == 0
        services.close()


def state(services: Services, caller: Principal, webhook_id: str) -> tuple[str, int]:
    (view,) = deliveries.list_deliveries(services, caller, webhook_id).items
    return view.state, view.attempts
