"""Libraries of some sources only, installed as extras."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from graphveil.errors import ClientError


def library(name: str, extra: str) -> ModuleType:
    """Import the library, or say how to install it. Where it is missing that is a ClientError."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise ClientError(f"this takes {missing}: pip install 'graphveil[{extra}]'") from None
