"""Brings a database to the newest schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config

ROOT = Path(__file__).resolve().parents[2]


def configuration(url: str) -> Config:
    """Configure Alembic for the database at ``url``. The address never enters a file."""
    config = Config(ROOT / "alembic.ini")
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.attributes["url"] = url
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database at ``url`` to the schema of ``revision``. Safe to repeat."""
    command.upgrade(configuration(url), revision)
