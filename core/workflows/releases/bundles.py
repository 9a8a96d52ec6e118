"""Checks of what a child process left behind. They come before anything of it is staged. Nothing is
believed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from core.errors import InvalidInput, PrivacyViolation
from core.graphs.schema import Derived
from core.graphs.schema.partable import Part
from core.jobs.models import ArtifactRole
from core.privacy.accounting.guarantee import Guarantee, guarantee_of
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing.declarations import FILE as DECLARATIONS
from core.reports.build import guarantee_part
from core.reports.model import PublicPart
from core.settings import Settings

NAME = re.compile(r"(release|private)(/[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)+")
EDGES = "edges.parquet"
REQUIRED = frozenset({"nodes.parquet", EDGES, "schema.json", "public.json", "private/alignment.parquet"})
DECLARED = REQUIRED - {"private/alignment.parquet"} | {DECLARATIONS}
"""What a graph from declarations has: no node of it stands for one of the original."""
REPORT = "public.json"
MAX_NAME_CHARACTERS = 128
MAX_REPORT_BYTES = 64 * 2**20
MAX_MANIFEST_BYTES = 2**20


@dataclass(frozen=True)
class ReleaseFile:
    """One checked file. ``name`` is the artifact's: released files lose the folder ``release/``. Of a part
    that lies in the storage nothing is at the ``path``."""

    name: str
    role: ArtifactRole
    media_type: str
    size_bytes: int
    sha256: str
    path: Path


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)]
    role: ArtifactRole
    media_type: Annotated[
        str, Field(pattern=r"^[a-z]+/[A-Za-z0-9.+-]+(; ?charset=[a-z0-9-]+)?$", max_length=128)
    ]
    size_bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


_MANIFEST = TypeAdapter(list[_Line])


def checked_files(
    out: Path,
    settings: Settings,
    parts: Mapping[str, Part] | None = None,
    required: frozenset[str] = REQUIRED,
) -> list[ReleaseFile]:
    """List every file of the bundle. Size and digest are as its manifest says; InvalidInput for anything
    else.

    ``parts``: what was told of the files that hold its edges, where those are in parts: they lie in the
    storage already, and the manifest names them so. ``required``: what must be there. Neither a link,
    nor a file the manifest does not name, nor a name or role of the child's own invention.
    """
    manifest = out / "manifest.json"
    # Nothing that the child left is trusted: neither that this is a file, nor that it is small.
    if manifest.is_symlink() or not manifest.is_file() or manifest.stat().st_size > MAX_MANIFEST_BYTES:
        raise InvalidInput("the bundle has no manifest of a manifest's size")
    try:
        lines = _MANIFEST.validate_json(manifest.read_bytes())
    except ValidationError as error:
        raise InvalidInput("the manifest is malformed") from error
    # By what it claims, before any of it is read; each claim is checked below.
    if (
        len(lines) > settings.max_release_files + len(parts or ())
        or sum(line.size_bytes for line in lines) > settings.max_release_bytes
    ):
        raise InvalidInput("the bundle is larger than a release may be")
    stored = {f"release/{name}": part for name, part in (parts or {}).items()}
    files = [_checked_file(out, line, stored.get(line.name)) for line in lines]
    names = [file.name for file in files]
    required = required if parts is None else required - {EDGES} | set(parts)
    if len(set(names)) != len(names) or not set(names) >= required:
        raise InvalidInput("the bundle is incomplete, or names a file twice")
    # A link counts as a file, wherever it leads, so that none is passed over.
    found = {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    if found != {line.name for line in lines} - set(stored) | {"manifest.json"}:
        raise InvalidInput("the bundle holds other files than its manifest names")
    return files


def _checked_file(out: Path, line: _Line, stored: Part | None) -> ReleaseFile:
    if not NAME.fullmatch(line.name):
        raise InvalidInput("a file of the bundle has no plain name")
    folder, _, rest = line.name.partition("/")
    name = rest if folder == "release" else line.name
    # The role decides who may read a file: it follows from its folder, not from the child's word.
    if line.role is not _role(folder, name):
        raise InvalidInput("a file of the bundle has another role than its place")
    path = out / line.name
    if stored is not None:
        if (line.size_bytes, line.sha256) != (stored.bytes, stored.sha256):
            raise InvalidInput("the manifest names other parts than were drawn")
        return ReleaseFile(name, line.role, line.media_type, line.size_bytes, line.sha256, path)
    if path.is_symlink() or not path.is_file() or path.stat().st_size != line.size_bytes:
        raise InvalidInput("a file of the bundle is missing, or has another size")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != line.sha256:
            raise InvalidInput("a file of the bundle has another digest")
    return ReleaseFile(name, line.role, line.media_type, line.size_bytes, line.sha256, path)


def _role(folder: str, name: str) -> ArtifactRole:
    if folder == "private":
        return ArtifactRole.PRIVATE
    return ArtifactRole.REPORT if name == REPORT else ArtifactRole.ARTIFACT


def check_transcript(
    plan_json: dict[str, Any],
    plan_digest: str,
    kind: str,
    delta_atto: int,
    transcript: Sequence[TranscriptEntry],
    stream_nano_epsilon: int | None = None,
) -> Guarantee:
    """Compute the guarantee of the reserved plan. The durable transcript stays within it.

    ``stream_nano_epsilon``: of a window of the live stream that the release is a snapshot of.
    Raises PrivacyViolation: the plan is not the one reserved, it was exceeded, or nothing was metered.
    """
    plan = PrivacyPlan.from_json(plan_json)
    if plan.digest() != plan_digest or str(plan.kind) != kind:
        raise PrivacyViolation("the stored plan is not the one that was reserved")
    guarantee = guarantee_of(plan, transcript, delta_atto, stream_nano_epsilon)
    if str(guarantee.kind) != kind:
        raise PrivacyViolation("the transcript says another kind of guarantee than the plan")
    return guarantee


def check_report(
    files: Sequence[ReleaseFile],
    *,
    job_id: str,
    plan_digest: str,
    guarantee: Guarantee,
    transcript: Sequence[TranscriptEntry],
    protected_type: str | None,
    derived: Sequence[Derived] = (),
) -> None:
    """Check that the public report fits job and plan. It speaks of these, and prints this guarantee;
    InvalidInput otherwise.

    ``protected_type``: the one that the dataset's schema declares, if any. ``derived``: what of that schema
    was read off the data.
    """
    report = next(file for file in files if file.role is ArtifactRole.REPORT)
    if report.size_bytes > MAX_REPORT_BYTES:
        raise InvalidInput("the report is larger than a report may be")
    try:
        part = PublicPart.model_validate_json(report.path.read_bytes())
    except ValidationError as error:
        raise InvalidInput("the report is malformed") from error
    if (part.provenance.job_id, part.provenance.plan_digest) != (job_id, plan_digest):
        raise InvalidInput("the report speaks of another job or plan")
    declared = part.guarantee
    if declared != guarantee_part(guarantee, declared.assurance, declared.claimed, protected_type, derived):
        raise InvalidInput("the report prints another guarantee than its transcript supports")
    if part.transcript.operations != len(transcript):
        raise InvalidInput("the report leaves operations out")
