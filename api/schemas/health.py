"""Answers of the health routes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class Health(BaseModel):
    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    ready: bool = Field(description="True when every check passed.")
    checks: dict[str, bool] = Field(
        description="By name: `database`, `migrations` (the schema is the newest), `redis`, `storage`.",
        examples=[{"database": True, "migrations": True, "redis": True, "storage": True}],
    )


class Entrance(BaseModel):
    """What the service is, and where to go from here."""

    service: Literal["graphveil"] = "graphveil"
    version: str
    documentation: str = "/handbook"
    reference: str = "/docs"
    problems: str = "/problems"
    openapi: str = "/openapi.json"
    health: str = "/healthz"
