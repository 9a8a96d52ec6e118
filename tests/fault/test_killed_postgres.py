"""PostgreSQL is killed while jobs are submitted and published: no promise is lost with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from core.settings import Settings
from tests.support import postgres
from tests.support.cuts import OPERATIONS, Wired, wired
from tests.support.proxy import Moment, wire
from tests.support.servers import Postgres
from tests.support.world import open_world

KILLED = [moment for moment in Moment if moment.kills]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    """A service on a PostgreSQL that no other test needs, whose COMMITs are durable."""
    folder = tmp_path_factory.mktemp("killed")
    with postgres.cluster() as cluster:
        database, server = cluster.create(), Postgres(cluster)
        server.durable(database)
        settings = Settings(
            database_url=cluster.address(database),
            redis_url="redis://127.0.0.1:1/0",  # nobody rings: the tests take the work themselves
            storage_url=(folder / "objects").as_uri(),
            master_key=secrets.token_hex(32),
            fingerprint_key=secrets.token_hex(32),
            work_folder=folder / "work",
        )
        world = open_world(settings)
        with wire(settings.database_url, server) as made, wired(world, made) as opened:
            yield opened
        world.close()


def kill_at(here: Wired, name: str, moment: Moment, numbers: list[int]) -> None:
    for number in numbers:
        fired, flaws = OPERATIONS[name].injected(here, moment, number)
        assert flaws == [], (name, moment, number, flaws)
        assert fired, (name, moment, number)


@pytest.mark.parametrize(
    ("name", "moment"),
    [("submit", Moment.KILLED_DURING_COMMIT), ("run a job", Moment.KILLED_AFTER_COMMIT)],
)
def test_a_postgresql_that_is_killed_spends_nothing_twice_and_loses_nothing(
    here: Wired, name: str, moment: Moment
) -> None:
    # A job's charge stands between its last commit, the publication, and those of its reads.
    length = OPERATIONS[name].length(here, moment)
    kill_at(here, name, moment, [max(1, length - 1)])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moment", KILLED)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_postgresql_may_be_killed_anywhere(here: Wired, name: str, moment: Moment) -> None:
    length = OPERATIONS[name].length(here, moment)
    kill_at(here, name, moment, list(range(1, length + 1, 1 if moment.at_commit else 5)))
