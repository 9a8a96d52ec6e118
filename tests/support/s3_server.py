"""A small S3-speaking server on a socket: enough of the protocol for the object store, kept in memory.

Requests whose signature stands in their address are checked; those that carry it in a header are believed.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

SECRET = "test"
STAMP = "2026-01-01T00:00:00.000Z"
HTTP_STAMP = "Thu, 01 Jan 2026 00:00:00 GMT"


class Bucket:
    """Objects and unfinished multipart uploads."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.failing = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        key = unquote(parts.path).lstrip("/").partition("/")[2]
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.bucket.failing or ("X-Amz-Signature" in query and not self.signed(parts.path, query)):
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif "uploadId" in query or "uploads" in query:
            self.multipart(key, query, body)
        elif "list-type" in query:
            self.listing(query.get("prefix", ""))
        elif "delete" in query:
            self.bulk_delete(body)
        else:
            self.plain(key, body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def signed(self, path: str, query: dict[str, str]) -> bool:
        """Whether the address is signed (Signature Version 4, payload unsigned) and its time not over."""
        date, region, service, kind = query["X-Amz-Credential"].split("/")[1:]
        begun = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        named = query["X-Amz-SignedHeaders"].split(";")
        asked = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
            for name, value in sorted(query.items())
            if name != "X-Amz-Signature"
        )
        headers = "".join(f"{name}:{self.headers[name]}\n" for name in named)
        request = [self.command, path, asked, headers, ";".join(named), "UNSIGNED-PAYLOAD"]
        text = "\n".join(
            [
                "AWS4-HMAC-SHA256",
                query["X-Amz-Date"],
                f"{date}/{region}/{service}/{kind}",
                hashlib.sha256("\n".join(request).encode()).hexdigest(),
            ]
        )
        key = f"AWS4{SECRET}".encode()
        for step in (date, region, service, kind, text):
            key = hmac.digest(key, step.encode(), "sha256")
        live = datetime.now(UTC) < begun + timedelta(seconds=int(query["X-Amz-Expires"]))
        return live and hmac.compare_digest(key.hex(), query["X-Amz-Signature"])

    def plain(self, key: str, body: bytes) -> None:
        objects = self.bucket.objects
        source = self.headers.get("x-amz-copy-source")
        if self.command == "PUT" and source is not None:
            copied = objects.get(unquote(source).lstrip("/").partition("/")[2])
            if copied is None:
                return self.missing()
            objects[key] = copied
            return self.answer(200, b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>")
        if self.command == "PUT" and self.headers.get("if-none-match") == "*" and key in objects:
            return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        if self.command == "PUT":
            objects[key] = body
            return self.answer(200, etag=body)
        if self.command == "DELETE":
            objects.pop(key, None)
            return self.answer(204)
        if key not in objects:
            return self.missing()
        shown = {f"response-{name}": name for name in ("content-type", "content-disposition")}
        return self.answer(200, objects[key], etag=objects[key], shown=shown)

    def multipart(self, key: str, query: dict[str, str], body: bytes) -> None:
        uploads = self.bucket.uploads
        if "uploads" in query:
            upload = f"upload-{len(uploads)}-{key.replace('/', '-')}"
            uploads[upload] = {}
            xml = f"<UploadId>{upload}</UploadId>"
            return self.answer(
                200, f"<InitiateMultipartUploadResult>{xml}</InitiateMultipartUploadResult>".encode()
            )
        upload = query["uploadId"]
        if self.command == "PUT":
            uploads[upload][int(query["partNumber"])] = body
            return self.answer(200, etag=body)
        if self.command == "DELETE":
            if uploads.pop(upload, None) is None:
                return self.answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
            return self.answer(204)
        pieces = uploads.get(upload)
        if pieces is None:
            return self.answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
        named = [
            (element.text or "").strip('"') for element in ET.fromstring(body).iter() if "ETag" in element.tag
        ]
        held = [hashlib.md5(pieces[n], usedforsecurity=False).hexdigest() for n in sorted(pieces)]
        if named != held:
            return self.answer(400, b"<Error><Code>InvalidPart</Code></Error>")
        del uploads[upload]
        self.bucket.objects[key] = b"".join(pieces[number] for number in sorted(pieces))
        xml = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        return self.answer(200, xml.encode())

    def listing(self, prefix: str) -> None:
        lines = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{STAMP}</LastModified>"
            f"<ETag>x</ETag><Size>{len(data)}</Size></Contents>"
            for key, data in sorted(self.bucket.objects.items())
            if key.startswith(prefix)
        ]
        xml = f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(lines)}</ListBucketResult>"
        self.answer(200, xml.encode())

    def bulk_delete(self, body: bytes) -> None:
        keys = [element.text or "" for element in ET.fromstring(body).iter() if element.tag.endswith("Key")]
        for key in keys:
            self.bucket.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self.answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def missing(self) -> None:
        self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def answer(
        self, status: int, body: bytes = b"", *, etag: bytes = b"", shown: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        asked = parse_qs(urlsplit(self.path).query)
        for parameter, header in (shown or {}).items():
            if parameter in asked:
                self.send_header(header, asked[parameter][0])
        self.send_header("content-length", str(len(body)))
        self.send_header("etag", f'"{hashlib.md5(etag, usedforsecurity=False).hexdigest()}"')
        self.send_header("last-modified", HTTP_STAMP)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


@contextmanager
def server() -> Iterator[tuple[str, Bucket]]:
    """The endpoint of a running server, and what it holds."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", bucket
    running.shutdown()
    running.server_close()
    thread.join()


@contextmanager
def bucket_of_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A running server that every store of this test reaches by its environment; what it holds."""
    with server() as (endpoint, bucket):
        reached_by(monkeypatch, endpoint)
        yield bucket


def reached_by(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """The environment leads to the server."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():
        monkeypatch.setenv(name, value)
