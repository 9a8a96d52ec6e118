"""``python -m api``: the service on the settings' address, its metrics on a port of their own."""

from __future__ import annotations

import structlog
import uvicorn
from prometheus_client import start_http_server

from api.app import create_app
from core import logging
from core.settings import get_settings

DRAIN_SECONDS = 30


def main() -> None:
    """Serves until it is told to stop; requests under way are finished first.

    One process: replicas scale the service, and counters never have to be merged. Metrics have their own
    listener, so that no rule of a public proxy can expose them by mistake.
    """
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    app = create_app(settings)
    listener, thread = start_http_server(
        settings.metrics_port, addr=settings.host, registry=app.state.metrics.registry
    )
    structlog.get_logger(component="api").info(
        "serving", host=settings.host, port=settings.port, metrics_port=settings.metrics_port
    )
    try:
        uvicorn.run(
            app,
            host=settings.host,
            port=settings.port,
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
    finally:
        listener.shutdown()
        thread.join(timeout=DRAIN_SECONDS)


if __name__ == "__main__":
    main()
