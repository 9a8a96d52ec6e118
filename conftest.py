"""Fixtures every test may request, beside a method or in ``tests``. Nothing starts until it is requested."""

from __future__ import annotations

import gc
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from httpx._transports import default as transports

sys.path.insert(0, str(Path(__file__).resolve().parent))  # importlib mode leaves the path alone

from core.db.session import Database
from core.identity.models import Role
from core.identity.service import Principal
from core.settings import Settings
from tests.support import postgres, redis
from tests.support.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from core.workflows.common.context import Services

# A busy machine is no fault of an answer: httpx's own five seconds end no test.
for _limit in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _limit, PATIENCE_SECONDS)

# Every client would read the machine's certificates anew: most of what a call costs.
transports.create_ssl_context = cache(transports.create_ssl_context)

# A busy machine is no fault of an example: neither its time nor that of making it fails a test.
hypothesis.settings.register_profile(
    "suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("suite")

pytest_plugins = [
    "tests.support.compiled",
    "tests.support.halved",
    "tests.support.costs",
    "tests.support.groups",
]

NOISE, LOOKS = ("tests/audit", "tests/contract", "tests/unit/methods", "tests/unit/privacy", "papers"), 3
EVERY = 10_000, 10, 10
"""Objects, and collections of the generation below, between two collections of garbage."""
LONG = (
    "tests/property/test_ledger_machine.py",
    "tests/audit",
    "tests/integration/",
    "tests/contract",
    "papers",
    "tests/fault",
    "tests/unit/kernels",
    "tests/unit/test_",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Imports and collected tests last: nothing looks for garbage among them, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.get_freeze_count = lambda: 1  # some are: to count them each time something loads takes long
        gc.set_threshold(*EVERY)
        gc.enable()


class FromTheEnd(pytest.Dir):
    """A folder that is collected from its last file to its first."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield what is in it, the last first."""
        return reversed([*super().collect()])


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Of two workers one begins at the end: each finds half of the modules rewritten by the other."""
    odd = os.environ.get("PYTEST_XDIST_WORKER", "").endswith(tuple("13579"))
    return FromTheEnd.from_parent(parent, path=path) if odd and not (path / "__init__.py").exists() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What mechanisms give is looked at again before it fails: noise has no seed, and some day misses.

    A figure that is out of bounds three times in a row is a bug. Errors and time-outs fail at once, and so
    does every test of services, where a failure now and then is a race.

    Long files come first, those that compute in turn with those that wait: the last ones to end are short.
    """
    again = pytest.mark.flaky(reruns=LOOKS - 1, only_rerun=["AssertionError"])
    files = {path: path.relative_to(config.rootpath).as_posix() for path in {item.path for item in items}}
    for item in items:
        if files[item.path].startswith(NOISE):
            item.add_marker(again)
    turns = _turns(files)
    items.sort(key=lambda item: (turns[item.path], files[item.path]))


def _turns(files: dict[Path, str]) -> dict[Path, tuple[int, int]]:
    """The place of each file: the first of every long folder, then the second ones, at last the others."""
    counted: Counter[str] = Counter()
    turns = {}
    for path, name in sorted(files.items()):
        folder = next((long for long in LONG if name.startswith(long)), None)
        turns[path] = (len(files), 0) if folder is None else (counted[folder], LONG.index(folder))
        counted.update(() if folder is None else (folder,))
    return turns


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.PostgresCluster]:
    """One PostgreSQL 18 for the session, with a migrated template database."""
    with postgres.cluster() as running:
        yield running


@pytest.fixture(scope="session")
def postgres_url(postgres_cluster: postgres.PostgresCluster) -> Iterator[str]:
    """A migrated database that the whole session shares."""
    name = postgres_cluster.create()
    yield postgres_cluster.address(name)
    postgres_cluster.drop(name)


@pytest.fixture
def database_url(postgres_cluster: postgres.PostgresCluster) -> Iterator[str]:
    """A migrated database of the test's own."""
    name = postgres_cluster.lend()
    yield postgres_cluster.address(name)
    postgres_cluster.take_back(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Transactions on a database of the test's own."""
    opened = Database(database_url)
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def module_database(postgres_cluster: postgres.PostgresCluster) -> Iterator[Database]:
    """Transactions on a database that the tests of one module share."""
    name = postgres_cluster.lend()
    opened = Database(postgres_cluster.address(name))
    yield opened
    opened.dispose()
    postgres_cluster.take_back(name)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """One Redis for the session."""
    with redis.server() as url:
        yield url


@pytest.fixture
def settings(database_url: str, redis_url: str, tmp_path: Path) -> Settings:
    """Settings of a complete service on the test's own database, storage, keys and work folder."""
    objects, work = tmp_path / "objects", tmp_path / "work"
    objects.mkdir()
    work.mkdir()
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        storage_url=objects.as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        work_folder=work,
    )


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    """What every workflow takes first, opened on the test's settings."""
    from core.workflows.common.context import open_services

    opened = open_services(settings)
    yield opened
    opened.close()


@pytest.fixture
def principal() -> Principal:
    """A caller of the tenant ``acme`` who may register, upload and request."""
    return Principal(
        tenant="acme", key_id="key_test", name="test", roles=frozenset({Role.CURATOR, Role.REQUESTER})
    )
