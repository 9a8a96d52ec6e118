"""Libraries that only some sources need, which are installed as extras."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from graphveil.errors import ClientError


def library(name: str, extra: str) -> ModuleType:
    """Import the library; ClientError, which says how to install it, where it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise ClientError(f"this takes {missing}: pip install 'graphveil[{extra}]'") from None
