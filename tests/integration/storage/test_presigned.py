"""Signed addresses, on a server that checks them, do what they were signed for and nothing else."""

from __future__ import annotations

import os
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from core.errors import InvalidInput
from core.storage.presigned import Credentials, Presigner
from core.storage.store import open_store
from deploy.local.storage import BUCKET
from tests.support.patience import PATIENCE_SECONDS
from tests.support.seaweed import Seen

pytestmark = pytest.mark.extras

PART = bytes(5 * 2**20)
"""As small as S3 takes a part that is not the last."""


@pytest.fixture
def presigner(prefix: str) -> Presigner:
    found = open_store(f"s3://{BUCKET}/{prefix}").presigner
    assert found is not None
    return found


def address(presigner: Presigner, seconds: int = 60) -> str:
    return presigner.download("a/b.csv", file_name="b.csv", media_type="text/csv", seconds=seconds)


def put(url: str, data: bytes) -> str:
    """The part is there; its ETag."""
    return httpx.put(url, content=data).raise_for_status().headers["ETag"]


def test_a_file_is_read_under_its_name_and_type(presigner: Presigner, seen: Seen) -> None:
    seen.put("a/b.csv", b"source,target\n")
    answer = httpx.get(address(presigner))
    assert (answer.status_code, answer.content) == (200, b"source,target\n")
    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="b.csv"'


def test_an_address_opens_one_object_in_one_way_for_a_while(presigner: Presigner, seen: Seen) -> None:
    seen.put("a/b.csv", b"1")
    seen.put("a/c.csv", b"2")
    url = address(presigner)
    assert httpx.get(url).status_code == 200
    unsigned = urlsplit(url)._replace(query="").geturl()
    signature = parse_qs(urlsplit(url).query)["X-Amz-Signature"][0]
    for refused in (
        unsigned,
        url.replace("b.csv?", "c.csv?"),
        url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"),
        url.replace("b.csv%22", "c.csv%22"),
        url.replace(signature, "0" * len(signature)),
    ):
        assert refused != url
        assert httpx.get(refused).status_code == 403, refused
    assert httpx.put(url, content=b"3").status_code == 403
    assert httpx.delete(url).status_code == 403
    assert seen.objects() == {"a/b.csv": b"1", "a/c.csv": b"2"}


def test_an_address_ends(presigner: Presigner, seen: Seen) -> None:
    seen.put("a/b.csv", b"1")
    url = address(presigner, seconds=1)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while httpx.get(url).status_code != 403:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_who_signs_with_another_secret_opens_nothing(prefix: str, seen: Seen) -> None:
    seen.put("a/b.csv", b"1")
    other = open_store(
        f"s3://{BUCKET}/{prefix}", credentials=Credentials(os.environ["AWS_ACCESS_KEY_ID"], "another")
    ).presigner
    assert other is not None
    assert httpx.get(address(other)).status_code == 403


def test_parts_become_an_object(presigner: Presigner, seen: Seen) -> None:
    upload = presigner.begin("x")
    assert seen.unfinished() == ["x"]
    pieces = [PART, PART[::-1], b"three"]
    urls = presigner.parts("x", upload, sum(map(len, pieces)), part_bytes=len(PART), seconds=600)
    etags = [put(url, piece) for url, piece in zip(urls, pieces, strict=True)]
    with pytest.raises(InvalidInput) as wrong:
        presigner.complete("x", upload, [etags[0], '"0123456789abcdef0123456789abcdef"', etags[2]])
    assert wrong.value.members["field"] == "etags"
    presigner.complete("x", upload, etags)
    assert (seen.objects(), seen.unfinished()) == ({"x": b"".join(pieces)}, [])


def test_a_part_goes_to_its_own_place_alone(presigner: Presigner, seen: Seen) -> None:
    upload, other = presigner.begin("x"), presigner.begin("y")
    url = presigner.parts("x", upload, 1, part_bytes=1, seconds=600)[0]
    assert httpx.put(url, content=b"more").status_code == 403  # another length than was signed
    for refused in (
        url.replace("partNumber=1", "partNumber=2"),
        url.replace(upload, other),
        url.replace("/x?", "/y?"),
    ):
        assert refused != url
        assert httpx.put(refused, content=b"1").status_code == 403
    assert httpx.get(url).status_code == 403
    presigner.abort("y", other)
    presigner.complete("x", upload, [put(url, b"1")])
    assert seen.objects() == {"x": b"1"}


def test_an_aborted_upload_leaves_nothing(presigner: Presigner, seen: Seen) -> None:
    upload = presigner.begin("x")
    put(presigner.parts("x", upload, 3, part_bytes=3, seconds=600)[0], b"one")
    presigner.abort("x", upload)
    presigner.abort("x", upload)
    with pytest.raises(InvalidInput, match="put them again"):
        presigner.complete("x", upload, ['"0123456789abcdef0123456789abcdef"'])
    assert (seen.objects(), seen.unfinished()) == ({}, [])
