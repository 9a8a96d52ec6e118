"""A small S3-speaking server on a socket: enough of the protocol for the object store, kept in memory."""

from __future__ import annotations

import hashlib
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

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
        if self.bucket.failing:
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

    def plain(self, key: str, body: bytes) -> None:
        objects = self.bucket.objects
        source = self.headers.get("x-amz-copy-source")
        if self.command == "PUT" and source is not None:
            copied = objects.get(unquote(source).lstrip("/").partition("/")[2])
            if copied is None:
                return self.missing()
            objects[key] = copied
            return self.answer(200, b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>")
        if self.command == "PUT":
            objects[key] = body
            return self.answer(200, etag=body)
        if self.command == "DELETE":
            objects.pop(key, None)
            return self.answer(204)
        if key not in objects:
            return self.missing()
        return self.answer(200, objects[key], etag=objects[key])

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
            uploads.pop(upload)
            return self.answer(204)
        pieces = uploads.pop(upload)
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

    def answer(self, status: int, body: bytes = b"", *, etag: bytes = b"") -> None:
        self.send_response(status)
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
