"""Graph file formats, one module each; discovered, not listed.

A format is a module beside this file whose name does not start with an underscore. It says ``name``,
``media_type``, ``extensions``, ``carries_nodes``, ``parts`` and ``OptionsModel``, and has ``read(request)``,
``write(graph, path)`` and ``refuses(schema)``. One whose ``parts`` are empty is written and never read: it
has neither ``carries_nodes``, ``OptionsModel`` nor ``read``. Importing this package loads no numerical
library: a service that only checks names and options needs none. So the longer ones name their reading and
writing by path (:func:`core.late.late`), in a module with an underscore.
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
from core.graphs.uploads.batches import Export, Format, Options

_ASKED = ("name", "media_type", "extensions", "parts", "write", "refuses")
_ASKED_TO_READ = ("carries_nodes", "OptionsModel", "read")


@cache
def formats() -> Mapping[str, Export]:
    """Find every format, by name. Raises RuntimeError when a module is no format or two share a name."""
    by_name: dict[str, Export] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            register(by_name, importlib.import_module(f"{__name__}.{module.name}"))
    return MappingProxyType(dict(sorted(by_name.items())))


def register(entries: dict[str, Export], module: object) -> None:
    """Add the module to ``found`` under its name. RuntimeError when it is incomplete or the name is taken."""
    required = _ASKED + (_ASKED_TO_READ if getattr(module, "parts", ()) else ())
    missing = [part for part in required if not hasattr(module, part)]
    if missing:
        raise RuntimeError(f"format module {module!r} lacks {missing}")
    entry = cast("Export", module)
    if entry.name in entries:
        raise RuntimeError(f"two modules offer the format {entry.name!r}")
    entries[entry.name] = entry


def names() -> tuple[str, ...]:
    """List the names of all formats, sorted."""
    return tuple(formats())


def read_names() -> tuple[str, ...]:
    """List the names of the formats that are read too, sorted."""
    return tuple(name for name, entry in formats().items() if entry.parts)


def get(name: str) -> Export:
    """Look up the format of that name; :class:`UnknownFormat` lists what there is."""
    known = formats().get(name)
    if known is None:
        raise UnknownFormat(f"no format has this name; there are {', '.join(names())}", field="format")
    return known


def reader(name: str) -> Format:
    """Look up the format to read a file. :class:`UnknownFormat` also where it is only written."""
    known = get(name)
    if not known.parts:
        readable = ", ".join(read_names())
        raise UnknownFormat(f"{name} is written, not read; send one of {readable}", field="format")
    return cast("Format", known)


def require_part(chosen: Format, part: str, field: str) -> None:
    """Check that the format holds such a part. InvalidInput names ``field`` otherwise."""
    if part not in chosen.parts:
        holding = [name for name, entry in formats().items() if part in entry.parts]
        either = " or ".join([", ".join(holding[:-1]), holding[-1]])
        raise InvalidInput(
            f"the format {chosen.name!r} does not hold a list of {part}; take {either}", field=field
        )


def options_of(chosen: Format, given: Mapping[str, Any], field: str = "options") -> Options:
    """Validate the format's options by its model. InvalidInput, which names the option below ``field``."""
    try:
        return chosen.OptionsModel.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        known = ", ".join(sorted(chosen.OptionsModel.model_fields))
        raise InvalidInput(
            f"{chosen.name} does not take this option; its options are {known}"
            if first["type"] == "extra_forbidden"
            else f"the option {where!r} cannot have this value: {first['msg']}",
            field=f"{field}.{where}",
            how_to_mend=f"Use one of the options {known}, as the format documents them.",
        ) from error
