"""One process that serves: the app behind its listening sockets."""

from __future__ import annotations

import gc
import socket

import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.serve import connections
from core import logging
from core.settings import Settings
from core.tracing import spans


class Server(uvicorn.Server):
    """Ends its event streams when it is told to stop: they would use up the time that other requests have."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        assert isinstance(app, FastAPI)
        app.state.event_streams.close()
        await super().shutdown(sockets)
        spans.stop()  # here: the signal that was caught is raised again after this, and ends the process


def serve(settings: Settings, listeners: list[socket.socket], drain_seconds: int) -> None:
    """Answer what comes in until SIGTERM. It comes in at the listeners; requests under way are finished
    first."""
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    config = uvicorn.Config(
        create_app(settings), timeout_graceful_shutdown=drain_seconds, **connections.limits(settings)
    )
    spans.start(settings, "api")
    # What has been loaded stays to the end: walking over all of it at each full collection took a twentieth
    # of a submission's time.
    gc.collect()
    gc.freeze()
    Server(config).run(listeners)
