"""Verifies a pack. Every byte, the signature, the chain, the arithmetic. Asks no service anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from graphveil.errors import ClientError, EvidenceRefused
from graphveil.evidence import archive, chain, composition, heads, signatures
from graphveil.evidence.chain import CHARGE, LEDGER
from graphveil.evidence.composition import PLAN, TRANSCRIPT
from graphveil.evidence.signatures import MANIFEST, SIGNATURE

KIND, VERSION = "graphveil evidence", 1
ARTIFACTS, REPORT, STORED_REPORT = "artifacts.json", "report.json", "public.json"
EVERY = frozenset(
    {
        *("index.html", REPORT, "report.html", PLAN, TRANSCRIPT, CHARGE, "governance.json", "audits.json"),
        *("software.json", "sbom.json", ARTIFACTS, "promise.md", "standards.md", "assessment.md"),
    }
)
"""What every pack holds beside manifest and signature; one of the edition ``ledger`` holds the chain too."""

Recompute = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]], Mapping[str, Any]], "int | None"]
"""Checks a transcript against its plan and returns the epsilon in 1e-9; None where it cannot say."""


@dataclass
class Verdict:
    """The result: it holds where nothing is refused. What could not be looked at is said apart."""

    refused: list[EvidenceRefused] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)
    certificate: signatures.Certificate | None = None

    @property
    def holds(self) -> bool:
        """Nothing was refused."""
        return not self.refused

    @contextmanager
    def look(self, place: str, said: str) -> Iterator[None]:
        """Record whether what is checked holds, or why not."""
        try:
            yield
        except EvidenceRefused as refused:
            self.refused.append(refused)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            self.refused.append(EvidenceRefused(place, f"it is not as a pack has it ({error!r})"))
        except RecursionError:
            self.refused.append(EvidenceRefused(place, "it is nested deeper than anything in a pack"))
        else:
            if said:
                self.held.append(said)


def verify(
    raw: bytes,
    *,
    trusted: Collection[str] = (),
    heads_document: bytes | None = None,
    release: Path | None = None,
    recompute: Recompute | None = None,
) -> Verdict:
    """Verify everything in the archive.

    It never raises for what is in it.

    ``trusted``: public keys in hex, of which one must answer for the pack. ``heads_document``: signed heads
    of the ledger that were kept elsewhere. ``release``: a folder with the release's files. ``recompute``:
    converts plans that are not pure.
    """
    verdict = Verdict()
    with verdict.look("archive", "The archive is whole."):
        verdict.files = dict(archive.unpacked(raw))
    if not verdict.holds:
        return verdict
    members: dict[str, bytes] = verdict.files
    for name in (MANIFEST, SIGNATURE):
        if name not in members:
            verdict.refused.append(EvidenceRefused(name, "the pack lacks it"))
            return verdict
    with verdict.look(SIGNATURE, ""):
        verdict.certificate = signatures.check(members[MANIFEST], members[SIGNATURE], trusted)
    manifest = _read(verdict, MANIFEST)
    if not isinstance(manifest, dict):
        return verdict
    with verdict.look(MANIFEST, ""):
        _signed(verdict, manifest, trusted)
    with verdict.look(MANIFEST, ""):
        _check_members(verdict, manifest, members)
    if verdict.holds:
        _contents(verdict, manifest, heads_document, trusted, release, recompute)
    return verdict


def _signed(verdict: Verdict, manifest: Mapping[str, Any], trusted: Collection[str]) -> None:
    """Note whose word the pack is, and that the key might sign on its day."""
    if (manifest["kind"], manifest["version"]) != (KIND, VERSION):
        raise EvidenceRefused(MANIFEST, "it is of another kind or version than this client verifies")
    if verdict.certificate is None:
        return
    signatures.check_day(verdict.certificate, manifest["made_on"])
    name = signatures.key_id(verdict.certificate.issuer)
    if trusted:
        verdict.held.append(f"It is signed under the key {name}, which you trust.")
    else:
        verdict.open.append(
            f"Whose key {name} is: you named none with --key. Ask the service's operator for its public key, "
            "by another way than you got the pack."
        )


def _check_members(verdict: Verdict, manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> None:
    """Name every file that is missing, too many or changed."""
    listed = {each["name"]: each for each in manifest["files"]}
    expected = EVERY | {LEDGER} if manifest["edition"] == "ledger" else EVERY
    for name in sorted((expected | set(listed)) - set(members)):
        verdict.refused.append(EvidenceRefused(name, "the pack lacks it"))
    for name in sorted(set(members) - set(listed) - {MANIFEST, SIGNATURE}):
        verdict.refused.append(EvidenceRefused(name, "the manifest does not name it: it was added"))
    for name in sorted(expected - set(listed)):
        verdict.refused.append(EvidenceRefused(MANIFEST, f"it does not name {name}"))
    for name in sorted(set(listed) & set(members)):
        if hashlib.sha256(members[name]).hexdigest() != listed[name]["sha256"]:
            verdict.refused.append(EvidenceRefused(name, "it was changed: its SHA-256 is another"))
    if verdict.holds:
        verdict.held.append(f"All {len(listed)} files have the digests that are signed.")


def _contents(
    verdict: Verdict,
    manifest: Mapping[str, Any],
    heads_document: bytes | None,
    trusted: Collection[str],
    release: Path | None,
    recompute: Recompute | None,
) -> None:
    """Check that the files agree with one another."""
    members: dict[str, bytes] = verdict.files
    read = {name: _read(verdict, name) for name in (PLAN, TRANSCRIPT, CHARGE, REPORT, ARTIFACTS)}
    if not verdict.holds:
        return
    plan, transcript, charge, report = read[PLAN], read[TRANSCRIPT], read[CHARGE], read[REPORT]
    with verdict.look(PLAN, "Plan, report and charge are of one job."):
        _check_job(manifest, plan, charge, report)
    with verdict.look(TRANSCRIPT, ""):
        _compose(verdict, plan, transcript, charge, report, recompute)
    with verdict.look(ARTIFACTS, "The release's files are those that were charged, by digest."):
        _check_artifacts(members, read[ARTIFACTS], charge, report)
    ledger = _read(verdict, LEDGER) if LEDGER in members else None
    if ledger is not None:
        with verdict.look(LEDGER, ""):
            count = chain.check(charge, ledger)
            verdict.held.append(
                f"The chain holds over {count} entries, from the reservation to the head that is signed."
            )
    else:
        verdict.open.append(
            "The ledger's chain: this edition tells its head, not its entries: ask a curator or an auditor."
        )
    if heads_document is not None:
        with verdict.look("heads", ""):
            said, found = heads.compare(heads_document, trusted, charge, ledger)
            (verdict.held if found else verdict.open).append(said)
    if release is not None:
        with verdict.look(ARTIFACTS, ""):
            count = _check_release(release, read[ARTIFACTS])
            verdict.held.append(f"All {count} files of the release have the digests that were charged.")
    else:
        verdict.open.append("The release's own files: name their folder with --release.")


def _read(verdict: Verdict, name: str) -> Any:
    """Parse a member; None, and a refusal, where it is no JSON."""
    value = None
    with verdict.look(name, ""):
        value = json.loads(verdict.files[name])
    return value


def _check_job(
    manifest: Mapping[str, Any], plan: Mapping[str, Any], charge: Mapping[str, Any], report: Mapping[str, Any]
) -> None:
    told = report["provenance"]
    for name, job in ((CHARGE, charge["job_id"]), (REPORT, told["job_id"])):
        if job != manifest["job_id"]:
            raise EvidenceRefused(name, f"it is of the job {job}, the manifest of {manifest['job_id']}")
    digest = composition.plan_digest(plan)
    if not digest == told["plan_digest"] == charge["plan_digest"]:
        raise EvidenceRefused(PLAN, "it is not the plan that was reserved: its digest is another")


def _compose(
    verdict: Verdict,
    plan: Mapping[str, Any],
    transcript: Sequence[Mapping[str, Any]],
    charge: Mapping[str, Any],
    report: Mapping[str, Any],
    recompute: Recompute | None,
) -> None:
    """The transcript lies within the plan, whose cost is what was charged and is reported."""
    unread = report["guarantee"]["kind"] == "unread"
    if bool(transcript) == unread or len(transcript) != report["transcript"]["operations"]:
        raise EvidenceRefused(TRANSCRIPT, "it has another number of lines than the report")
    if unread or not plan["allotments"]:
        if not unread or plan["allotments"] or any(charge["amounts"].values()):
            raise EvidenceRefused(PLAN, "only a plan without reads, at no charge, has read nothing")
        _check_epsilon(charge, report, 0)
        verdict.held.append("The plan has no reads, none was recorded, and nothing was charged.")
        return
    if any(composition.unprotected(each["event"]) for each in plan["allotments"]):
        if any(charge["amounts"].values()) or report["guarantee"]["kind"] != "none":
            raise EvidenceRefused(CHARGE, "a plan without a guarantee has an epsilon")
        verdict.held.append("The plan hands the graph out: there is no guarantee, and none is stated.")
        return
    cells = composition.cells_of(plan)
    if cells is not None and charge["filter"] == "basic":
        composition.check_within(cells, transcript)
        total, amounts = composition.amounts_of(plan, cells)
        _check_amounts(charge, amounts)
        _check_epsilon(charge, report, total)
        verdict.held.append(
            f"The transcript's {len(transcript)} reads lie within the plan, whose cost is what was charged."
        )
        return
    found = None if recompute is None else recompute(plan, transcript, charge)
    if found is None:
        verdict.open.append(
            "The arithmetic: the engine converts this plan: pip install 'graphveil[engine]', then verify."
        )
        return
    _check_epsilon(charge, report, found)
    verdict.held.append(
        f"The transcript's {len(transcript)} reads lie within the plan, whose cost is what was charged, as "
        "the engine computes it."
    )


def _check_amounts(charge: Mapping[str, Any], amounts: Mapping[str, int]) -> None:
    """Returns where exactly these were charged; nothing for a further sample of a model that was paid for."""
    expected = {} if charge["sample_of"] else {name: each for name, each in amounts.items() if each}
    if {name: each for name, each in charge["amounts"].items() if each} != expected:
        raise EvidenceRefused(CHARGE, "other amounts were charged than the plan comes to")


def _check_epsilon(charge: Mapping[str, Any], report: Mapping[str, Any], nano_epsilon: int) -> None:
    """Returns where the report prints that epsilon; of a stream's snapshot no less than it."""
    printed = Decimal(report["guarantee"]["epsilon"]) * composition.NANO
    if printed != nano_epsilon if charge["stream_id"] is None else printed < nano_epsilon:
        raise EvidenceRefused(REPORT, "it prints another epsilon than the plan comes to")


def _check_artifacts(
    members: Mapping[str, bytes],
    artifacts: Mapping[str, Any],
    charge: Mapping[str, Any],
    report: Mapping[str, Any],
) -> None:
    listed = {each["name"]: each["sha256"] for each in artifacts["items"]}
    if listed != charge["digests"]:
        raise EvidenceRefused(ARTIFACTS, "it lists other files or digests than the charge")
    for each in report["provenance"]["artifacts"]:
        if listed.get(each["name"]) != each["sha256"]:
            raise EvidenceRefused(REPORT, f"it names another digest of {each['name']} than the charge")
    if hashlib.sha256(members[REPORT]).hexdigest() != listed.get(STORED_REPORT):
        raise EvidenceRefused(REPORT, "it is not the report that was charged: its digest is another")


def _check_release(folder: Path, artifacts: Mapping[str, Any]) -> int:
    """Count the files of the folder that are the release's; EvidenceRefused where one is not as charged."""
    if not folder.is_dir():
        raise ClientError(f"{folder} is no folder")
    for each in artifacts["items"]:
        name = Path(each["name"])
        path = folder / name
        if each["name"] == STORED_REPORT and not path.exists():
            continue  # it is in the pack
        if name.is_absolute() or ".." in name.parts or not path.is_file():
            raise EvidenceRefused(each["name"], f"it is not in {folder}")
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
        if digest.hexdigest() != each["sha256"]:
            raise EvidenceRefused(each["name"], f"the file in {folder} has another digest")
    return len(artifacts["items"])
