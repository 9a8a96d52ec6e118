"""Where a dataset's sealed objects lie. All of them share one prefix, so that archiving finds every one."""

from __future__ import annotations


def prefix(dataset_id: str) -> str:
    """Below it lies everything of the dataset, and nothing else."""
    return f"datasets/{dataset_id}"


def upload_key(dataset_id: str, version_id: str, token: str) -> str:
    """Name one uploaded file. The token makes it the upload's own, so that a failed one deletes only
    itself."""
    return f"{prefix(dataset_id)}/{version_id}/upload-{token}"


def arrival_key(dataset_id: str, version_id: str, token: str) -> str:
    """Name one file as its sender left it. It is in the bucket, not yet sealed, which the worker does
    first."""
    return f"{prefix(dataset_id)}/{version_id}/arrival-{token}"


def arrived(object_key: str) -> str | None:
    """Read the token of a file that is not yet sealed. None for any other object."""
    kind, _, token = object_key.rsplit("/", 1)[-1].partition("-")
    return token if kind == "arrival" else None


def graph_key(dataset_id: str, version_id: str, attempt: int) -> str:
    """Name the canonical graph that one attempt at validation stored."""
    return f"{prefix(dataset_id)}/{version_id}/graph-{attempt}"


def nodes_key(dataset_id: str, version_id: str, attempt: int) -> str:
    """Name the node list of one attempt. It read it off the edges, when none was uploaded."""
    return f"{prefix(dataset_id)}/{version_id}/nodes-{attempt}"


def links_upload_key(dataset_id: str, list_id: str) -> str:
    """Name a list of sensitive links as it was uploaded."""
    return f"{prefix(dataset_id)}/sensitive/{list_id}/upload"


def links_key(dataset_id: str, list_id: str, attempt: int) -> str:
    """Name the list that one attempt at checking it stored."""
    return f"{prefix(dataset_id)}/sensitive/{list_id}/list-{attempt}"


def snapshot_key(dataset_id: str, stream_id: str, step: int, number: int) -> str:
    """Name the canonical form of one snapshot. It is one of a live stream; ``number`` counts its
    resendings."""
    return f"{prefix(dataset_id)}/streams/{stream_id}/{step}-{number}"


def derived(object_key: str) -> bool:
    """Tell whether the object is a derived node list. It was read off the edges."""
    return object_key.rsplit("/", 1)[-1].startswith("nodes-")
