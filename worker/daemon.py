"""The frame of a process with one duty. It does it until it is requested to stop."""

from __future__ import annotations

from collections.abc import Callable

from core import logging
from core.logging import get_logger
from core.settings import get_settings
from core.workflows.common.context import Services, open_services
from core.workflows.operations.startup import may_start
from worker.stopping import Stopping

log = get_logger(__name__)


def serve(name: str, run: Callable[[Services, Stopping], None]) -> int:
    """Do the duty ``run`` until it returns; the exit code. Logged as ``name_started``, ``name_stopped``."""
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    if not may_start(settings):
        return 1
    services = open_services(settings)
    stopping = Stopping()
    log.info(f"{name}_started")
    run(services, stopping)
    services.close()
    log.info(f"{name}_stopped")
    return 0
