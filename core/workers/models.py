"""The GPUs of hosts that run workers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Integer, String
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
