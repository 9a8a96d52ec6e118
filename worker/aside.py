"""What ingests and evaluations share: progress that nobody may see, and steps whose failure can wait."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from core.errors import GraphveilError
from core.logging import get_logger

log = get_logger(__name__)


def unseen(stage: str, done: int, total: int) -> None:
    """How far such work is tells of the upload or the original: nobody sees it."""


def quietly(step: Callable[[], None]) -> None:
    """The step was taken, or it is left to the reaper."""
    try:
        step()
    except (GraphveilError, SQLAlchemyError) as error:
        log.warning("left_to_the_reaper", error=type(error).__name__)
