"""All files of a pack but its signature. With them stands the manifest that the signature covers."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from core.reports.html.render import render
from core.reports.model import Report
from core.reports.pack import assessment, front, software
from core.reports.pack.model import PackFacts
from graphveil.evidence.signatures import MANIFEST, canonical
from graphveil.evidence.verify import KIND, VERSION

TEXTS = Path(__file__).parent / "texts"

HOLDS = {
    "index.html": "Who approved, what was spent, what was read, what is promised; then what is where.",
    "report.json": "The public report, byte by byte as it was charged.",
    "report.html": "The same report for people, with its charge.",
    "plan.json": "The privacy plan that was reserved: what each read of the graph might cost.",
    "transcript.json": "Each read that was made, in order, as it was recorded before it drew.",
    "charge.json": "The charge, the account's head, and what is left of the budget.",
    "ledger.json": "The account's entries from the reservation to the head, chained by their hashes.",
    "governance.json": "The policy that admitted the job, who asked, who approved.",
    "audits.json": "Lower bounds on the method's epsilon that audits found, each with its control.",
    "software.json": "Versions, and digests of the list of components and of the promise.",
    "sbom.json": "Components of the process that made the pack (CycloneDX).",
    "artifacts.json": "Names, sizes and digests of the release's files.",
    "promise.md": "What Graphveil promises, and what it does not.",
    "standards.md": "NIST SP 800-226 and 800-188, ISO/IEC 27559 and WP216, row by row: where each is met.",
    "assessment.md": "A draft of a data protection impact assessment, from the dataset's public facts.",
}


def files_of(facts: PackFacts) -> dict[str, bytes]:
    """Write every file of the pack but the signature. Deterministic."""
    promise = text("promise.md")
    found = {
        "report.json": facts.report_bytes,
        "report.html": render(Report(public=facts.report)).encode(),
        "plan.json": canonical(facts.plan),
        "transcript.json": canonical(list(facts.transcript)),
        "charge.json": canonical(facts.charge),
        "governance.json": canonical(facts.governance),
        "audits.json": canonical({"method": facts.report.provenance.method, "items": list(facts.audits)}),
        "software.json": canonical(software.software(facts, promise)),
        "sbom.json": canonical(software.components()),
        "artifacts.json": canonical({"items": list(facts.artifacts)}),
        "promise.md": promise,
        "standards.md": text("standards.md"),
        "assessment.md": assessment.assessment(facts).encode(),
    }
    if facts.ledger is not None:
        found["ledger.json"] = canonical(facts.ledger)
    found["index.html"] = front.page_of(facts, HOLDS).encode()
    # Last, as it names all others by their digests; the signature over it is not among them.
    return {**found, MANIFEST: manifest(facts, found)}


def manifest(facts: PackFacts, files: dict[str, bytes]) -> bytes:
    """Name every file with its digest: what is signed."""
    return canonical(
        {
            "kind": KIND,
            "version": VERSION,
            "edition": facts.edition,
            "job_id": facts.job_id,
            "dataset_id": facts.dataset_id,
            "made_on": facts.made_on,
            "files": [
                {
                    "name": name,
                    "size_bytes": len(files[name]),
                    "sha256": hashlib.sha256(files[name]).hexdigest(),
                    "holds": HOLDS[name],
                }
                for name in sorted(files)
            ],
        }
    )


@lru_cache(maxsize=8)
def text(name: str) -> bytes:
    """Read a text that is the same in every pack. ``docs/build.py`` copies it there."""
    return (TEXTS / name).read_bytes()
