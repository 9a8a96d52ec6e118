"""Evidence packs, verified without a service: any change is named, and what is refused says why."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from core.checks import signed_heads
from core.checks.evidence_keys import VALID_DAYS
from graphveil.cli.app import app
from graphveil.errors import EvidenceRefused
from graphveil.evidence import archive
from graphveil.evidence.composition import plan_digest
from graphveil.evidence.signatures import MANIFEST, SIGNATURE, canonical
from graphveil.evidence.verify import EVERY, Verdict, verify
from tests.support.evidence import DAY, OTHER_SEED, SEED, contents, members, pack, public_key

KEYS = (public_key(),)


def refused(found: Verdict) -> str:
    """Say everything that was refused; nothing may have been."""
    assert not found.holds
    return "; ".join(map(str, found.refused))


@pytest.mark.parametrize("edition", ["public", "ledger"])
def test_a_whole_pack_holds(edition: str):
    found = verify(pack(edition=edition), trusted=KEYS)
    assert found.holds, found.refused
    assert any("2 reads lie within the plan" in each for each in found.held)
    assert any("3 entries" in each for each in found.held) == (edition == "ledger")


def test_the_archive_is_a_zip_and_the_same_each_time():
    made = members()
    raw = archive.packed(made)
    assert raw == archive.packed(dict(reversed(made.items())))
    with zipfile.ZipFile(io.BytesIO(raw)) as opened:
        assert opened.testzip() is None
        assert {name: opened.read(name) for name in opened.namelist()} == made
    assert archive.unpacked(raw) == made


def test_each_changed_byte_of_the_archive_is_refused():
    """All bytes of a pack with small members: headers, names, sizes, list and end included."""
    small = {name: data[:40] for name, data in members().items()}
    raw = archive.packed(small)
    for at in range(len(raw)):
        changed = bytearray(raw)
        changed[at] ^= 0x20
        with pytest.raises(EvidenceRefused) as said:
            archive.unpacked(bytes(changed))
        assert said.value.place, at


@pytest.mark.parametrize("name", sorted({*EVERY, "ledger.json", MANIFEST, SIGNATURE}))
def test_a_changed_byte_in_a_member_names_it(name: str):
    made = members()
    data = bytearray(made[name])
    data[len(data) // 2] ^= 1
    whole = archive.packed(made | {name: bytes(data)})  # the archive itself is in order again
    assert name in refused(verify(whole, trusted=KEYS))
    raw = bytearray(archive.packed(made))
    at = bytes(raw).index(made[name])
    raw[at + len(data) // 2] ^= 1  # and here its checksum is the old one
    assert name in refused(verify(bytes(raw), trusted=KEYS))


def test_every_byte_of_manifest_and_signature_counts():
    made = members()
    for name in (MANIFEST, SIGNATURE):
        for at in range(len(made[name])):
            data = bytearray(made[name])
            data[at] ^= 0x20  # of a hex digit a capital, of a space nothing
            found = verify(archive.packed(made | {name: bytes(data)}), trusted=KEYS)
            assert not found.holds, f"{name}, byte {at}"


def test_a_pack_that_is_cut_off_is_refused_wherever_it_ends():
    raw = pack()
    for length in (*range(0, len(raw), 97), len(raw) - 1):
        told = refused(verify(raw[:length], trusted=KEYS))
        assert "cut off" in told or "begin" in told, length
    assert "follow" in refused(verify(raw + b"\0", trusted=KEYS))


def test_members_that_are_missing_or_too_many_are_named():
    made = members()
    without = {name: data for name, data in made.items() if name != "audits.json"}
    assert "audits.json: the pack lacks it" in refused(verify(archive.packed(without), trusted=KEYS))
    more = archive.packed(made | {"notes.txt": b"hello"})
    assert "notes.txt: the manifest does not name it" in refused(verify(more, trusted=KEYS))
    for name in (MANIFEST, SIGNATURE):
        fewer = {each: data for each, data in made.items() if each != name}
        assert f"{name}: the pack lacks it" in refused(verify(archive.packed(fewer), trusted=KEYS))
    # Whoever signs may not leave a part out either.
    assert "does not name transcript.json" in refused(verify(pack(left_out="transcript.json"), trusted=KEYS))
    assert "ledger.json" in refused(verify(pack(left_out="ledger.json"), trusted=KEYS))


def test_whose_pack_it_is():
    other = pack(seed=OTHER_SEED)
    told = refused(verify(other, trusted=KEYS))
    assert "another service's, or was made before a key was replaced" in told
    assert verify(other, trusted=(*KEYS, public_key(OTHER_SEED))).holds  # a former key that is still trusted
    unknown = verify(other)
    assert unknown.holds
    assert any("Whose key" in each for each in unknown.open)


def test_a_signature_of_another_pack_serves_none():
    made, other = members(), members(edition="public")
    told = refused(verify(archive.packed(made | {SIGNATURE: other[SIGNATURE]}), trusted=KEYS))
    assert "the signature does not hold" in told


def test_a_certificate_by_a_stranger_in_the_name_of_the_trusted():
    made = members(seed=OTHER_SEED)
    told: dict[str, Any] = json.loads(made[SIGNATURE])
    told["certificate"]["issuer"] = public_key()
    forged = json.dumps(told, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    found = refused(verify(archive.packed(made | {SIGNATURE: forged}), trusted=KEYS))
    assert "the certificate was changed" in found


def test_keys_have_their_days():
    late = (DAY + timedelta(days=VALID_DAYS + 1)).isoformat()
    assert "had expired" in refused(verify(pack(made_on=late), trusted=KEYS))
    early = (DAY - timedelta(days=1)).isoformat()
    assert "from 2026-11-27 on only" in refused(verify(pack(made_on=early), trusted=KEYS))
    assert verify(pack(made_on=(DAY + timedelta(days=VALID_DAYS)).isoformat()), trusted=KEYS).holds


def _read_more(held: dict[str, Any]) -> None:
    held["transcript.json"][0]["event"]["nano_epsilon"] += 400_000_001


def _read_elsewhere(held: dict[str, Any]) -> None:
    held["transcript.json"][0]["edge_type"] = "calls"


def _charged_less(held: dict[str, Any]) -> None:
    held["charge.json"]["amounts"]["epsilon"] -= 1


def _other_plan(held: dict[str, Any]) -> None:
    held["plan.json"]["allotments"][0]["event"]["nano_epsilon"] += 1


def _other_job(held: dict[str, Any]) -> None:
    held["charge.json"]["job_id"] = "job_2"


def _other_artifact(held: dict[str, Any]) -> None:
    held["artifacts.json"]["items"][0]["sha256"] = "0" * 64


def _other_report(held: dict[str, Any]) -> None:
    held["report.json"]["guarantee"]["kind"] = "approximate"


def _entry_changed(held: dict[str, Any]) -> None:
    held["ledger.json"]["entries"][2]["amounts"]["epsilon"] = 1


def _entry_gone(held: dict[str, Any]) -> None:
    del held["ledger.json"]["entries"][1]


def _head_moved(held: dict[str, Any]) -> None:
    held["charge.json"]["head"]["hash"] = "0" * 64


def _no_list(held: dict[str, Any]) -> None:
    held["transcript.json"] = {"0": 1}


def _line_gone(held: dict[str, Any]) -> None:
    del held["transcript.json"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_read_more, "more of its cell than the plan allots"),
        (_read_elsewhere, "more of its cell than the plan allots"),
        (_charged_less, "other amounts were charged"),
        (_other_plan, "plan.json: it is not the plan that was reserved"),
        (_other_job, "charge.json: it is of the job job_2"),
        (_other_artifact, "artifacts.json: it lists other files"),
        (_other_report, "report.json: it is not the report that was charged"),
        (_entry_changed, "ledger.json, entry 4: it does not have the hash"),
        (_entry_gone, "ledger.json, entry 4: it does not follow entry 2"),
        (_head_moved, "the chain does not end at the head"),
        (_no_list, "transcript.json"),
        (_line_gone, "another number of lines than the report"),
    ],
)
def test_what_does_not_agree_is_refused_although_it_is_signed(change: Any, said: str):
    assert said in refused(verify(pack(change), trusted=KEYS))


def test_files_of_the_release_are_compared(tmp_path: Path):
    (tmp_path / "edges.parquet").write_bytes(b"edges")
    found = verify(pack(), trusted=KEYS, release=tmp_path)
    assert found.holds
    assert any("files of the release" in each for each in found.held)
    (tmp_path / "edges.parquet").write_bytes(b"other")
    assert "edges.parquet: the file in" in refused(verify(pack(), trusted=KEYS, release=tmp_path))
    (tmp_path / "edges.parquet").unlink()
    assert "edges.parquet: it is not in" in refused(verify(pack(), trusted=KEYS, release=tmp_path))


def heads(sequence: int, digest: str, account: str = "acc_1", seed: str = SEED) -> bytes:
    """Sign heads of one account."""
    row = signed_heads.Head(account, sequence, digest, 1, 0)
    return signed_heads.signed(signed_heads.signing_key(seed), "2026-11-27T00:00:00+00:00", [row], None)


def test_heads_that_were_kept_elsewhere_are_compared():
    chain = contents()["ledger.json"]["entries"]
    found = verify(pack(), trusted=KEYS, heads_document=heads(4, chain[2]["hash"]))
    assert any("agrees with the heads" in each for each in found.held)
    told = refused(verify(pack(), trusted=KEYS, heads_document=heads(3, "0" * 64)))
    assert "entry 3 is another" in told
    for document in (heads(1, "0" * 64), heads(9, "0" * 64), heads(3, "0" * 64, "acc_2")):
        seen = verify(pack(), trusted=KEYS, heads_document=document)
        assert seen.holds
        assert any(each.startswith("The heads of") for each in seen.open)
    stranger = heads(3, chain[1]["hash"], seed=OTHER_SEED)
    assert "which you do not trust" in refused(verify(pack(), trusted=KEYS, heads_document=stranger))
    forged = heads(3, chain[1]["hash"]).replace(b'"sequence":3', b'"sequence":2')
    assert "signature of the heads" in refused(verify(pack(), trusted=KEYS, heads_document=forged))


def test_the_command_says_what_holds_and_exits_by_it(tmp_path: Path):
    path, key = tmp_path / "pack.zip", tmp_path / "key.txt"
    path.write_bytes(pack())
    key.write_text(public_key() + "\n")
    run = CliRunner().invoke(app, ["verify-evidence", str(path), "--key", str(key)])
    assert run.exit_code == 0, run.output
    assert "The pack holds." in run.output
    path.write_bytes(pack()[:-1])
    run = CliRunner().invoke(app, ["--json", "verify-evidence", str(path), "--key", public_key()])
    assert run.exit_code == 1
    assert json.loads(run.output)["refused"][0]["reason"].startswith("it is cut off")
    run = CliRunner().invoke(app, ["verify-evidence", str(path), "--key", "abc"])
    assert run.exit_code == 2


def test_an_older_pack_is_not_taken_for_one_of_this_version():
    made = members()
    manifest = json.loads(made[MANIFEST])
    assert manifest["version"] == 1
    other = copy.deepcopy(manifest) | {"version": 2}
    raw = archive.packed(made | {MANIFEST: json.dumps(other).encode()})
    assert "another kind or version" in refused(verify(raw))


def from_declarations(held: dict[str, Any]) -> None:
    """What a pack holds of a job that has read nothing."""
    held["plan.json"] |= {"method": "declared", "allotments": []}
    digest = plan_digest(held["plan.json"])
    held["transcript.json"].clear()
    report = held["report.json"]
    report["guarantee"] = {"kind": "unread", "epsilon": "0", "delta": "0"}
    report["transcript"]["operations"] = 0
    report["provenance"]["plan_digest"] = held["charge.json"]["plan_digest"] = digest
    held["charge.json"]["amounts"] = {}
    _charged_anew(held)


def _charged_anew(held: dict[str, Any]) -> None:
    files = {each["name"]: each["sha256"] for each in held["artifacts.json"]["items"]}
    files["public.json"] = hashlib.sha256(canonical(held["report.json"])).hexdigest()
    for each in held["artifacts.json"]["items"]:
        each["sha256"] = files[each["name"]]
    held["charge.json"]["digests"] = files


def test_a_pack_of_what_read_nothing_holds():
    found = verify(pack(from_declarations, edition="public"), trusted=KEYS)
    assert found.holds, found.refused
    assert any("nothing was charged" in each for each in found.held)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda held: held["charge.json"]["amounts"].update(epsilon=1), "plan.json"),
        (lambda held: held["report.json"]["guarantee"].update(epsilon="0.5"), "report.json"),
        (lambda held: held["report.json"]["guarantee"].update(kind="pure"), "transcript.json"),
        (lambda held: held["transcript.json"].append({"event": {"kind": "unprotected"}}), "transcript.json"),
    ],
)
def test_a_pack_that_only_says_it_read_nothing_is_refused(change: Any, place: str):
    def changed(held: dict[str, Any]) -> None:
        from_declarations(held)
        change(held)
        _charged_anew(held)

    assert place in refused(verify(pack(changed, edition="public"), trusted=KEYS))


def test_a_plan_with_reads_that_is_told_as_unread_is_refused():
    def changed(held: dict[str, Any]) -> None:
        held["report.json"]["guarantee"]["kind"] = "unread"
        held["report.json"]["transcript"]["operations"] = 0
        held["transcript.json"].clear()
        _charged_anew(held)

    assert "only a plan without reads" in refused(verify(pack(changed, edition="public"), trusted=KEYS))
