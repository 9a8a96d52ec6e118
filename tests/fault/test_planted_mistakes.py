"""What looks for violations finds them: each of these mistakes, and nothing where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from core.settings import Settings
from tests.support.cuts import Wired, wired
from tests.support.planted import MISTAKES
from tests.support.postgres import PostgresCluster
from tests.support.proxy import wire
from tests.support.world import open_world

pytestmark = pytest.mark.default


@pytest.fixture
def scene(
    postgres_cluster: PostgresCluster, fault_settings: Settings
) -> Callable[[], AbstractContextManager[Wired]]:
    """Opens a service on a database that may be spoiled."""

    @contextmanager
    def opened() -> Iterator[Wired]:
        name = postgres_cluster.create()
        settings = fault_settings.model_copy(update={"database_url": postgres_cluster.address(name)})
        world = open_world(settings)
        with wire(settings.database_url) as made, wired(world, made) as here:
            yield here
        world.close()
        postgres_cluster.drop(name)

    return opened


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_none_where_there_is_none(
    name: str, scene: Callable[[], AbstractContextManager[Wired]]
) -> None:
    with scene() as here:
        if MISTAKES[name].part != "connection cut":  # test_cut_connection.py shows it without a mistake
            assert MISTAKES[name].look(here) == []
        assert MISTAKES[name].found(here) != []
