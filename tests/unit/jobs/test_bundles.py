"""What a child leaves behind is believed in nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput, PlanExceeded, PrivacyViolation, UnmeteredFit
from core.jobs.models import ArtifactRole
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.units import Unit
from core.reports.build import guarantee_part
from core.settings import Settings
from core.workflows.releases.bundles import (
    MAX_MANIFEST_BYTES,
    ReleaseFile,
    check_report,
    check_transcript,
    checked_files,
)
from tests.support.report_parts import public_part, relation

SETTINGS = Settings(max_release_bytes=1000, max_release_files=8)
FILES = {
    "release/nodes.parquet": "artifact",
    "release/edges.parquet": "artifact",
    "release/schema.json": "artifact",
    "release/public.json": "report",
    "private/alignment.parquet": "private",
    "private/model/cells.parquet": "private",
}


def line(out: Path, name: str, role: str) -> dict[str, Any]:
    content = (out / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {
        "name": name,
        "role": role,
        "media_type": "application/json",
        "size_bytes": len(content),
        "sha256": digest,
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A bundle as it should be."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    rewrite(tmp_path, lambda lines: lines)
    return tmp_path


def rewrite(out: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    lines = [line(out, name, role) for name, role in FILES.items()]
    (out / "manifest.json").write_text(json.dumps(change(lines)))


def test_a_sound_bundle_is_taken_and_released_files_lose_their_folder(out: Path) -> None:
    names = {file.name: str(file.role) for file in checked_files(out, SETTINGS)}
    assert names == {name.removeprefix("release/"): role for name, role in FILES.items()}


BAD_MANIFESTS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "digest": lambda lines: [lines[0] | {"sha256": "0" * 64}, *lines[1:]],
    "size": lambda lines: [lines[0] | {"size_bytes": 1}, *lines[1:]],
    "role": lambda lines: [*lines[:-1], lines[-1] | {"role": "artifact"}],
    "private report": lambda lines: [*lines[:4], lines[4] | {"role": "report"}, *lines[5:]],
    "curator": lambda lines: [lines[0] | {"role": "curator"}, *lines[1:]],
    "missing": lambda lines: lines[1:],
    "twice": lambda lines: [lines[0], *lines],
    "unnamed": lambda lines: lines[:-1],
    "escape": lambda lines: [*lines, lines[0] | {"name": "release/../../etc/passwd"}],
    "absolute": lambda lines: [*lines, lines[0] | {"name": "/etc/passwd"}],
    "hidden": lambda lines: [*lines, lines[0] | {"name": "release/.hidden"}],
    "media type": lambda lines: [lines[0] | {"media_type": "text/html\nX: y"}, *lines[1:]],
    "extra member": lambda lines: [lines[0] | {"more": 1}, *lines[1:]],
    "negative": lambda lines: [lines[0] | {"size_bytes": -1}, *lines[1:]],
    "too large": lambda lines: [lines[0] | {"size_bytes": 10**9}, *lines[1:]],
    "no list": lambda lines: {"files": lines},
}


@pytest.mark.parametrize("case", BAD_MANIFESTS)
def test_a_bundle_that_is_not_what_its_manifest_says_is_refused(case: str, out: Path) -> None:
    rewrite(out, BAD_MANIFESTS[case])
    with pytest.raises(InvalidInput):
        checked_files(out, SETTINGS)


def test_links_and_stray_files_are_refused(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("secret") / "edges"
    secret.write_text("release/nodes.parquet")
    (out / "release/nodes.parquet").unlink()
    (out / "release/nodes.parquet").symlink_to(secret)
    with pytest.raises(InvalidInput):
        checked_files(out, SETTINGS)
    (out / "release/nodes.parquet").unlink()
    (out / "release/nodes.parquet").write_text("release/nodes.parquet")
    checked_files(out, SETTINGS)
    (out / "stray").write_text("x")
    with pytest.raises(InvalidInput):
        checked_files(out, SETTINGS)


def test_no_manifest_no_release(out: Path) -> None:
    (out / "manifest.json").unlink()
    with pytest.raises(InvalidInput):
        checked_files(out, SETTINGS)


def test_a_manifest_without_measure_is_not_read(out: Path) -> None:
    with (out / "manifest.json").open("ab") as manifest:
        manifest.write(b" " * MAX_MANIFEST_BYTES)
    with pytest.raises(InvalidInput):
        checked_files(out, SETTINGS)


PLAN = PrivacyPlan("psgraph", Unit.EDGE, None, 1, (Allotment("edge", None, Pure(1000, "laplace"), "count"),))


def entry(sequence: int, nano_epsilon: int) -> TranscriptEntry:
    return TranscriptEntry(sequence, "edge", None, Pure(nano_epsilon, "laplace"), "count")


def test_a_transcript_within_the_reserved_plan_gives_its_guarantee() -> None:
    found = check_transcript(PLAN.to_json(), PLAN.digest(), "pure", 0, [entry(0, 400), entry(1, 600)])
    assert found.nano_epsilon == 1000


@pytest.mark.parametrize(
    ("digest", "kind", "transcript", "error"),
    [
        (PLAN.digest(), "pure", [], UnmeteredFit),
        (PLAN.digest(), "pure", [entry(0, 600), entry(1, 600)], PlanExceeded),
        ("0" * 64, "pure", [entry(0, 400)], PrivacyViolation),
        (PLAN.digest(), "none", [entry(0, 400)], PrivacyViolation),
        (PLAN.digest(), "pure", [entry(1, 400)], InvalidInput),
    ],
)
def test_any_other_transcript_is_refused(
    digest: str, kind: str, transcript: list[TranscriptEntry], error: type[Exception]
) -> None:
    with pytest.raises(error):
        check_transcript(PLAN.to_json(), digest, kind, 0, transcript)


@pytest.mark.parametrize(
    ("told", "declared"), [("patient", "patient"), ("ward", "patient"), (None, "patient")]
)
def test_a_report_names_the_protected_type_that_the_schema_declares(
    told: str | None, declared: str, tmp_path: Path
) -> None:
    read = Allotment(WHOLE_GRAPH, None, Pure(1000, "laplace"), "count")
    plan = PrivacyPlan("projection", Unit.NODE, None, 1, (read,))
    transcript = [TranscriptEntry(0, WHOLE_GRAPH, None, Pure(1000, "laplace"), "count")]
    promise = check_transcript(plan.to_json(), plan.digest(), "pure", 0, transcript)
    part = public_part(
        [relation("has", None, 4)],
        promise=guarantee_part(promise, "proven", None, told).model_dump(mode="json"),
    )
    path = tmp_path / "public.json"
    path.write_text(part.model_dump_json())
    file = ReleaseFile("public.json", ArtifactRole.REPORT, "application/json", path.stat().st_size, "", path)

    def check() -> None:
        provenance = part.provenance
        check_report(
            [file],
            job_id=provenance.job_id,
            plan_digest=provenance.plan_digest,
            guarantee=promise,
            transcript=transcript,
            protected_type=declared,
        )

    if told == declared:
        check()
    else:
        with pytest.raises(InvalidInput, match="another guarantee"):
            check()
