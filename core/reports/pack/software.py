"""The software of a release. It has versions, and the list of components of the process that makes a pack."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from importlib import metadata
from typing import Any

from core.reports.pack.model import PackFacts
from graphveil.evidence.signatures import canonical


@lru_cache(maxsize=1)
def components() -> dict[str, Any]:
    """List every installed distribution, as CycloneDX; the same for the same installation."""
    # Names as addresses of packages have them; once, where two paths hold the same.
    found = {
        (each.name.lower().replace("_", "-"), each.version) for each in metadata.distributions() if each.name
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "graphveil"}},
        "components": [
            {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
            for name, version in sorted(found)
        ],
    }


def software(facts: PackFacts, promise: bytes) -> dict[str, Any]:
    """Say which software made release and pack. It says which promise was in force, too."""
    made_by = facts.report.provenance.graphveil_version
    same = made_by == facts.service_version
    listed = components()
    return {
        "release": {"graphveil": made_by, "libraries": facts.report.provenance.libraries},
        "pack": {"graphveil": facts.service_version, "python": platform.python_version()},
        "components": {
            "file": "sbom.json",
            "sha256": hashlib.sha256(canonical(listed)).hexdigest(),
            "count": len(listed["components"]),
            "of": "the process that made this pack; what computed the release named its libraries above",
        },
        "promise": {
            "file": "promise.md",
            "sha256": hashlib.sha256(promise).hexdigest(),
            "of_version": facts.service_version,
            "note": "The text of the version that made the release."
            if same
            else f"The release was made by version {made_by}: compare its text, where that matters.",
        },
    }
