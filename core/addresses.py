"""Settings that say where everything is. :class:`core.settings.Settings` has the rest, and reads them."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class Addresses(BaseSettings):
    """What the service talks to, and where it listens."""

    database_url: str = Field(
        default="postgresql+psycopg://graphveil@localhost/graphveil",
        repr=False,
        description="PostgreSQL, as an SQLAlchemy address with psycopg.",
    )
    redis_url: str = Field(
        default="redis://localhost:6379/0",
        repr=False,
        description="The broker: a doorbell that carries ids only.",
    )
    storage_url: str = Field(
        default="file:///var/lib/graphveil/objects", description="file:///path or s3://bucket/prefix"
    )
    storage_public_endpoint: str = Field(
        default="", description="Where callers reach the S3 storage, if not where the service does."
    )
    engine_url: SecretStr = Field(
        default=SecretStr(""),
        description="sc://host:port of what speaks Spark Connect, with its token; empty: workers count.",
    )
    engine_folder: str = Field(
        default="",
        description="Where the engine keeps edges while it counts or draws; open to it and workers alone.",
    )
    engine_draws: bool = Field(
        default=False,
        description="Whether shards are drawn by the engine's tasks, and not by workers' children.",
    )
    engine_places: tuple[str, ...] = Field(
        default=(),
        description='Where edges may be referred to: folders, "table:catalogue."; "TENANT=" before.',
    )
    release_places: tuple[str, ...] = Field(
        default=(),
        description="Where releases in parts may be written to, as a job asks: folders; "
        '"table:NAMESPACE=FOLDER" for tables of the engine\'s catalogue; "TENANT=" before.',
    )
    public_url: str = Field(default="http://localhost:8000", description="What callers reach the api under.")
    host: str = Field(default="127.0.0.1", description="Where the api and its metrics listen.")
    port: int = Field(default=8000, description="The api's port.")
    metrics_port: int = Field(default=9100, description="The port of /metrics and probes; keep it internal.")
    exporter_port: int = Field(default=9101, description="The exporter's /metrics; keep it internal.")
