"""``python -m deploy.licences``: the licences of all that the images install from Python's package index, and
of the one script of others that the console serves.

Writes ``NOTICE``, which the images carry, and a CycloneDX list of components to ``build/sbom.cdx.json``.
Exits 1 where a licence is not on the list below: what is unknown is refused, and somebody reads it first.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.requirements.build import of_extra

ROOT = Path(__file__).resolve().parents[1]
NOTICE, SBOM = ROOT / "NOTICE", ROOT / "build" / "sbom.cdx.json"

ALLOWED = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0",
        "MPL-2.0", "NCSA", "PSF-2.0", "Zlib", "Apache-2.0 WITH LLVM-exception", "BSD License",
    }
)  # fmt: skip
"""Licences by their SPDX names; and what packages that say no more than that call theirs."""

LIBRARIES = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only"}
"""Used as they are, unchanged and replaceable, which is what the LGPL asks of whoever passes them on."""

# What packages write that is no SPDX name; the rest are their classifiers.
SPELLED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD License",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "New BSD": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
}

OWN = "graphveil"
"""The client, which lies beside the service: what it needs counts, and it is no package of others."""

# What torch for CUDA brings along: NVIDIA's, under NVIDIA's terms.
CUDA = re.compile(r"(nvidia-(?!ml-py$)|cuda-|triton$)")


@dataclass(frozen=True)
class Component:
    """One installed package. ``licence`` is an SPDX expression, or what the package calls it."""

    name: str
    version: str
    licence: str
    index: str = "pypi"

    @property
    def allowed(self) -> bool:
        """Whether the images may carry it."""
        return LIBRARIES.get(self.name) == self.licence or accepted(self.licence)

    def to_json(self) -> dict[str, Any]:
        named = {"license": {"name": self.licence}} if self.licence in ("", "BSD License") else None
        return {
            "type": "library",
            "name": self.name,
            "version": self.version,
            "purl": f"pkg:{self.index}/{self.name}@{self.version}",
            "licenses": [named or {"expression": self.licence}],
        }


SERVED = (Component("htmx.org", "4.0.1", "0BSD", "npm"),)
"""What lies among our own files as its makers publish it: ``api/console/static``."""


def accepted(expression: str) -> bool:
    """Whether the SPDX expression leaves a way that is on the list. Brackets are not read: False."""
    ways = (way.split(" AND ") for way in expression.split(" OR "))
    return any(all(part in ALLOWED for part in way) for way in ways)


def licence_of(about: metadata.PackageMetadata) -> str:
    """What the package says: an expression, else a short text, else its classifiers; empty if nothing."""
    if expression := about.get("License-Expression"):
        return str(expression)
    text = (about.get("License") or "").strip()
    if SPELLED.get(text, text) in {*ALLOWED, *LIBRARIES.values()} or accepted(text):
        return SPELLED.get(text, text)
    classified = [
        each.rsplit(" :: ", 1)[-1] for each in about.get_all("Classifier") or () if "License ::" in each
    ]
    return " AND ".join(SPELLED.get(each, each) for each in classified)


def components() -> list[Component]:
    """What the images of api and worker install, by name; torch for CUDA without NVIDIA's parts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ("worker", "papers")
    wanted = [*project["dependencies"], *(each for extra in extras for each in of_extra(project, extra))]
    found = {}
    for name in _closure(wanted):
        about = metadata.distribution(name).metadata
        found[name] = Component(name, about["Version"].partition("+")[0], licence_of(about))
    return [*(found[name] for name in sorted(found)), *SERVED]


def _closure(wanted: Iterable[str]) -> Iterator[str]:
    """The packages that are wanted, and those that these need."""
    waiting = [(Requirement(each), "") for each in wanted]
    seen: set[tuple[str, str]] = set()
    told: set[str] = set()
    while waiting:
        need, extra = waiting.pop()
        if need.marker is not None and not need.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(need.name)
        if CUDA.match(name):
            continue
        for asked in ("", *need.extras):
            if (name, asked) not in seen:
                seen.add((name, asked))
                waiting += [(Requirement(each), asked) for each in metadata.distribution(name).requires or ()]
        if name not in told and name != OWN:
            told.add(name)
            yield name


def notice(found: Iterable[Component]) -> str:
    """The text of ``NOTICE``."""
    listed = [*found]
    rows = "\n".join(f"{each.name} {each.version}: {each.licence}" for each in listed if each not in SERVED)
    served = "\n".join(f"{each.name} {each.version}: {each.licence}" for each in listed if each in SERVED)
    return f"""Graphveil
Licensed under the Apache License, Version 2.0 (see LICENSE).

The images contain the following packages, unchanged, as they are on the Python Package Index. What a package
says of its licence, and the notices that it asks to keep, lie in its own folder, NAME-VERSION.dist-info,
below /opt/graphveil/lib/python3.11/site-packages. psycopg and psycopg-binary are under the GNU Lesser
General Public License; they may be replaced there by other versions. The image for CUDA contains NVIDIA's
libraries besides, under NVIDIA's own terms.

{rows}

The console serves, unchanged from the npm registry, in api/console/static:

{served}
"""


def main() -> int:
    """The exit code. Both files are written whatever was found."""
    found = components()
    NOTICE.write_text(notice(found), encoding="utf-8")
    SBOM.parent.mkdir(exist_ok=True)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "graphveil"}},
        "components": [each.to_json() for each in found],
    }
    SBOM.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    refused = [each for each in found if not each.allowed]
    for each in refused:
        print(f"{each.name} {each.version}: {each.licence or 'no licence'} is not on the list")
    print(
        f"{len(found)} packages, {len(refused)} refused; {NOTICE.name} and {SBOM.relative_to(ROOT)} written"
    )
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
