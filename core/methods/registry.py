"""Every generator by name.

They are those in this folder, and those that installed packages enter. A package enters its methods in the
group ``graphveil.methods`` of its entry points, each by ``module:name``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from importlib.metadata import EntryPoint
from typing import Any

import core.methods as package
from core import errors
from core.methods.base import GraphKinds, Method, Parameters, never, nothing_of
from core.privacy.accounting.plan import DECLARED
from core.privacy.units import Unit
from core.version import NAME, entries

_OWN = frozenset({"base", "choice", "registry", "room", "shares"})
GROUP = "graphveil.methods"
"""Where a package enters its methods among its entry points."""
_NAME = re.compile(r"^[a-z][a-z0-9_-]{0,62}$")
_ASSURANCES = frozenset({"proven", "reviewed", "experimental"})


def refusals(candidate: Any) -> list[str]:
    """List what keeps ``candidate`` from being a method. It is empty when it is complete."""
    if not isinstance(candidate, Method):
        return ["it must be a Method"]
    faults = [
        f"{name} must be a non-empty text"
        for name, text in (
            ("module", candidate.module),
            ("name", candidate.name),
            ("title", candidate.title),
            ("summary", candidate.summary),
        )
        if not (isinstance(text, str) and text.strip())
    ]
    if not faults and not _NAME.match(candidate.name):
        faults.append("name must be lower case, of letters, digits, '-' and '_'")
    if candidate.name == DECLARED:
        faults.append("name is that of what reads nothing")
    if candidate.assurance not in _ASSURANCES:
        faults.append(f"assurance must be one of {sorted(_ASSURANCES)}")
    params = candidate.Params
    if not (inspect.isclass(params) and issubclass(params, Parameters)):
        faults.append("Params must be Parameters")
    else:
        if params.model_config.get("extra") != "forbid":
            faults.append("Params must forbid unknown names")
        faults += [
            f"Params.{name} has no description"
            for name, field in params.model_fields.items()
            if not field.description
        ]
    if not isinstance(candidate.accepts, GraphKinds):
        faults.append("accepts must be GraphKinds")
    units = candidate.units
    if not (isinstance(units, frozenset) and units and all(isinstance(unit, Unit) for unit in units)):
        faults.append("units must be a non-empty frozenset of Unit")
    if not (isinstance(candidate.kinds, frozenset) and candidate.kinds):
        faults.append("kinds must be a non-empty frozenset of GuaranteeKind")
    for carries, plan_of in (("carries", "values_plan"), ("carries_nodes", "node_values_plan")):
        if getattr(candidate, carries) is not never and getattr(candidate, plan_of) is nothing_of:
            faults.append(f"{carries} needs {plan_of}")
    functions = {"plan": candidate.plan, "fit": candidate.fit, "load": candidate.load}
    faults += [f"{name} must be a function" for name, function in functions.items() if not callable(function)]
    return faults


def collect(candidates: Iterable[tuple[str, Any]]) -> dict[str, Method]:
    """Collect generators by name, in name order.

    ``candidates``: where each comes from, and the object. Raises TypeError for an incomplete generator, or a
    name used twice.
    """
    methods: dict[str, Method] = {}
    for origin, candidate in candidates:
        if candidate is None:
            raise TypeError(f"{origin} binds no GENERATOR")
        if problems := refusals(candidate):
            raise TypeError(f"{origin} is not a complete generator: {'; '.join(problems)}")
        if candidate.name in methods:
            raise TypeError(f"two generators are named {candidate.name!r}; one is of {origin}")
        methods[candidate.name] = candidate
    return dict(sorted(methods.items()))


def built_in() -> Iterator[tuple[str, Any]]:
    """Yield each ``GENERATOR`` of this folder's modules and packages."""
    for module in _own_modules():
        yield from _bound(f"{package.__name__}.{module}")


def _bound(module: str) -> Iterator[tuple[str, Any]]:
    yield module, getattr(importlib.import_module(module), "GENERATOR", None)


def _own_modules() -> Iterator[str]:
    """Yield the names of the modules and packages beside this file that are methods, as these are called."""
    for entry in pkgutil.iter_modules(package.__path__):
        if entry.name not in _OWN and not entry.name.startswith("_"):
            yield entry.name


def entered() -> Iterator[tuple[str, Any]]:
    """Yield what the entry points of installed packages name."""
    for entry in entries(GROUP):
        yield from _loaded(entry)


def _loaded(entry: EntryPoint) -> Iterator[tuple[str, Any]]:
    """Yield what the entry names. Nothing where its module is gone."""
    try:
        yield entry.value, entry.load()
    except ModuleNotFoundError as error:
        # A package may be taken away whole or in part, by an image say, while its metadata stay.
        # Anything else that is missing is a fault of the method, and must be heard.
        if not _names(entry, error.name):
            raise


def _names(entry: EntryPoint, module: str | None) -> bool:
    """Tell whether the missing module is the one that the entry names, or a package around it."""
    return module is not None and f"{entry.module}.".startswith(f"{module}.")


class _Registered(Mapping[str, Method]):
    """The methods by name. One is loaded when it is looked up, and all when they are listed."""

    def __init__(self) -> None:
        places = [(name, partial(_bound, f"{package.__name__}.{name}")) for name in _own_modules()]
        places += [(entry.name, partial(_loaded, entry)) for entry in entries(GROUP)]
        twice = Counter(name for name, _ in places)
        # A name that is entered twice is left to the whole collection, which refuses it.
        self._places = {name: load for name, load in places if twice[name] == 1}
        self._found: dict[str, Method] = {}

    def __getitem__(self, name: str) -> Method:
        if name in self._places and name not in self._found:
            self._found |= collect(self._places[name]())
        # A package may enter a method by another name than its own: then it is among all of them.
        return self._found[name] if name in self._found else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, Method]:
        return collect((*built_in(), *entered()))


@cache
def _discovered() -> Mapping[str, Method]:
    return _Registered()


def generators() -> dict[str, Method]:
    """Return every registered generator by name."""
    return dict(_discovered())


def get(name: str) -> Method:
    """Return the generator of that name; raises ``errors.UnknownMethod`` otherwise.

    NotAccepted for what is made from declarations: nothing fits, compares, audits or combines it.
    """
    if name == DECLARED:
        raise errors.NotAccepted(
            "declared reads nothing, so that there is nothing to plan, audit, stream or combine; ask for it "
            "alone, as the method of a job, or by graphveil.declared.",
            field="method",
        )
    try:
        return _discovered()[name]
    except KeyError:
        known = ", ".join(_discovered())
        raise errors.UnknownMethod(f"no method named {name!r}; known are: {known}", field="method") from None


@cache
def installed(library: str) -> bool:
    """Tell whether the library could be imported; it is not."""
    # Whoever only plans, as the api does, must not pay for torch: seconds and hundreds of megabytes.
    return importlib.util.find_spec(library) is not None


def missing(libraries: Iterable[str]) -> list[str]:
    """List the libraries that are not installed. They are named as they are imported."""
    return [library for library in libraries if not installed(library)]


def has(name: str) -> bool:
    """Tell whether a method of that name is registered."""
    return name in _discovered()


def runnable() -> frozenset[str]:
    """Name the generators that could run here. Their libraries are installed."""
    return frozenset(name for name, method in _discovered().items() if not missing(method.needs))


@cache
def common() -> frozenset[str]:
    """Name the generators of every installed engine.

    They are the service's own that need no more libraries.
    """
    ours = _ours()
    return frozenset(name for name, method in _discovered().items() if name in ours and not method.needs)


@cache
def _ours() -> frozenset[str]:
    """Name the methods of the service's own packages."""
    entered = (entry.name for entry in entries(GROUP) if entry.dist is None or entry.dist.name == NAME)
    return frozenset((*_own_modules(), *entered))
