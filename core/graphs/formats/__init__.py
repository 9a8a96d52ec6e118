"""Graph file formats, one module each; found, not listed.

A format is a module beside this file whose name does not start with an underscore. It says ``name``,
``media_type``, ``extensions``, ``carries_nodes``, ``parts`` and ``OptionsModel``, and has ``read(request)``,
``write(graph, path)`` and ``refuses(schema)``. Importing this package loads no numerical library: a service
that only checks names and options needs none.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from pydantic import ValidationError

from core.errors import InvalidInput, UnknownFormat
from core.graphs.formats._base import Format, Options

_ASKED = (
    "name",
    "media_type",
    "extensions",
    "carries_nodes",
    "parts",
    "OptionsModel",
    "read",
    "write",
    "refuses",
)


@cache
def formats() -> Mapping[str, Format]:
    """Every format by name. Raises RuntimeError when a module is no format or two share a name."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            register(found, importlib.import_module(f"{__name__}.{module.name}"))
    return MappingProxyType(dict(sorted(found.items())))


def register(found: dict[str, Format], module: object) -> None:
    """``found`` holds the module under its name; RuntimeError when it is incomplete or the name is taken."""
    missing = [part for part in _ASKED if not hasattr(module, part)]
    if missing:
        raise RuntimeError(f"format module {module!r} lacks {missing}")
    entry = cast("Format", module)
    if entry.name in found:
        raise RuntimeError(f"two modules offer the format {entry.name!r}")
    found[entry.name] = entry


def names() -> tuple[str, ...]:
    """The names of all formats, sorted."""
    return tuple(formats())


def get(name: str) -> Format:
    """The format of that name; :class:`UnknownFormat` lists what there is."""
    found = formats().get(name)
    if found is None:
        raise UnknownFormat(f"no format is named {name!r}; there are {', '.join(names())}", field="format")
    return found


def options_of(chosen: Format, given: Mapping[str, Any], field: str = "options") -> Options:
    """The format's options as its model takes them. InvalidInput, which names the option below ``field``."""
    try:
        return chosen.OptionsModel.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"])
        raise InvalidInput(f"option {where!r}: {first['msg']}", field=f"{field}.{where}") from error
