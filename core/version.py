"""Which version of the service runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """The installed version, or ``unknown`` when the package runs from an uninstalled tree."""
    try:
        return version("graphveil")
    except PackageNotFoundError:
        return "unknown"
