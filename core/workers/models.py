"""The GPUs of hosts that run workers. Here is which worker holds which, and what each can do."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class WorkerGpu(Base):
    """The memory of one GPU when it was last looked at. How much is in use is coarse."""

    __tablename__ = "worker_gpus"

    host: Mapped[str] = mapped_column(String(64), primary_key=True)
    gpu: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    capacity_bytes: Mapped[int] = mapped_column(BigInteger)
    used_bytes: Mapped[int] = mapped_column(BigInteger)
    read_at: Mapped[datetime] = mapped_column()


class HeldGpu(Base):
    """One worker's lease on one GPU, by the name that the driver gives it everywhere.

    Times are PostgreSQL's. A worker is known to have a GPU exactly while its lease lasts.
    """

    __tablename__ = "held_gpus"

    uuid: Mapped[str] = mapped_column(String(96), primary_key=True)
    host: Mapped[str] = mapped_column(String(64))
    worker: Mapped[str] = mapped_column(String(128))
    lease_expires_at: Mapped[datetime] = mapped_column()


class WorkerAbilities(Base):
    """What one worker could do when it last told: methods by name, and what else needs more libraries."""

    __tablename__ = "worker_abilities"

    worker: Mapped[str] = mapped_column(String(128), primary_key=True)
    abilities: Mapped[list[str]] = mapped_column(ARRAY(String(96)))
    told_at: Mapped[datetime] = mapped_column()
