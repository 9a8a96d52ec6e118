"""Signed addresses that end. Whoever holds one reads or writes one S3 object without a key.

The bytes then pass between the caller and the bucket, and the service carries none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from core.errors import InvalidInput, StorageError

if TYPE_CHECKING:
    from botocore.client import BaseClient

MAX_PARTS = 10_000
"""How many parts one S3 upload may have."""


@dataclass(frozen=True)
class Credentials:
    """Who asks the S3 storage. The secret is not shown."""

    access_key_id: str | None
    secret_access_key: str | None = field(repr=False)


class Presigner:
    """Signs addresses of one bucket. ``endpoint`` is what callers reach it under, where that is another one
    than the service's own (``AWS_ENDPOINT_URL``). Safe to share between threads.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str | None,
        endpoint: str | None,
        credentials: Credentials | None = None,
    ) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._credentials = credentials

    def download(self, key: str, *, file_name: str, media_type: str, seconds: int) -> str:
        """Sign an address where the object can be read. It is read under that name and type for so many
        seconds."""
        shown = {
            "ResponseContentDisposition": f'attachment; filename="{file_name}"',
            "ResponseContentType": media_type,
        }
        return self._signed("get_object", seconds, **self._object(key), **shown)

    def begin(self, key: str) -> str:
        """Begin a multipart upload of the object; its id."""
        with _failures():
            return str(self._own.create_multipart_upload(**self._object(key))["UploadId"])

    def parts(self, key: str, upload_id: str, size_bytes: int, *, part_bytes: int, seconds: int) -> list[str]:
        """Sign an address for each part of the object. There it can be put for so many seconds.

        The length is signed: a part is ``part_bytes`` long, the last one what is left, and no other length
        is taken there.
        """
        return [
            self._signed(
                "upload_part",
                seconds,
                **self._object(key),
                UploadId=upload_id,
                PartNumber=number,
                ContentLength=min(part_bytes, size_bytes - begin),
            )
            for number, begin in enumerate(range(0, size_bytes, part_bytes), start=1)
        ]

    def complete(self, key: str, upload_id: str, etags: Sequence[str]) -> None:
        """Join the parts in order to the object. InvalidInput (``etags``) when they are not what was put."""
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, start=1)]
        with _failures(refused="the parts are not the ones that were put; put them again"):
            self._own.complete_multipart_upload(
                **self._object(key), UploadId=upload_id, MultipartUpload={"Parts": parts}
            )

    def abort(self, key: str, upload_id: str) -> None:
        """Remove all of the upload. It goes whether it was under way or not."""
        from botocore.exceptions import ClientError

        with _failures():
            try:
                self._own.abort_multipart_upload(**self._object(key), UploadId=upload_id)
            except ClientError as error:
                if error.response["Error"]["Code"] != "NoSuchUpload":
                    raise

    def _object(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": f"{self._prefix}{key}"}

    def _signed(self, operation: str, seconds: int, **parameters: Any) -> str:
        with _failures():
            return str(self._callers.generate_presigned_url(operation, Params=parameters, ExpiresIn=seconds))

    @cached_property
    def _own(self) -> BaseClient:
        return _client(None, self._credentials)

    @cached_property
    def _callers(self) -> BaseClient:
        return _client(self._endpoint, self._credentials) if self._endpoint else self._own


def _client(endpoint: str | None, credentials: Credentials | None) -> BaseClient:
    """Open a client with region, endpoint and, unless given, credentials from the variables that the object
    store takes them from.
    """
    import botocore.session
    from botocore.config import Config

    region = ("region", ["AWS_REGION", "AWS_DEFAULT_REGION"], "us-east-1", None)
    config = Config(
        signature_version="s3v4",
        # By path: not every storage that speaks S3 has a host's name for each bucket.
        s3={"addressing_style": "path"},
        # Only where S3 itself asks for them: other storages refuse the checksums that are sent otherwise.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        connect_timeout=10,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
    )
    session = botocore.session.Session(session_vars={"region": region})
    key = credentials or Credentials(None, None)
    return session.create_client(
        "s3",
        endpoint_url=endpoint,
        config=config,
        aws_access_key_id=key.access_key_id,
        aws_secret_access_key=key.secret_access_key,
    )


@contextmanager
def _failures(refused: str | None = None) -> Iterator[None]:
    """Turn errors of the storage into StorageError; a refusal of the caller's parts into InvalidInput."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        # Some storages know no upload of which no part was put, and after a while each forgets them.
        forgotten = error.response.get("Error", {}).get("Code") == "NoSuchUpload"
        if refused is not None and (status == 400 or forgotten):
            raise InvalidInput(refused, field="etags") from error
        raise StorageError("object storage failed; try again") from error
    except BotoCoreError as error:
        raise StorageError("object storage failed; try again") from error
