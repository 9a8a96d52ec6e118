"""The app whose operations were collected, over services that run, and a tenant with one of everything."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from core.settings import Settings
from core.workflows.common.context import Services, open_services
from tests.integration.api.conftest import Tenant
from tests.support.postgres import PostgresCluster
from tests.support.stage import COLLECTED, Stage
from worker.process import open_process


@pytest.fixture(scope="session")
def contract_services(
    postgres_cluster: PostgresCluster, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    root = tmp_path_factory.mktemp("contract")
    name = postgres_cluster.create()
    opened = open_services(
        Settings(
            database_url=postgres_cluster.address(name),
            redis_url=redis_url,
            storage_url=root.as_uri(),
            master_key=secrets.token_hex(32),
            fingerprint_key=secrets.token_hex(32),
            head_signing_key=secrets.token_hex(32),
            work_folder=root / "work",
            max_upload_bytes=2**20,
            # What is generated opens more of everything than a tenant needs.
            max_open_streams=100_000,
            max_open_audits=100_000,
            max_open_jobs=100_000,
            max_open_key_jobs=100_000,
            max_webhooks=100_000,
        )
    )
    yield opened
    opened.close()
    postgres_cluster.drop(name)


@pytest.fixture(scope="session")
def app(contract_services: Services) -> FastAPI:
    """The app whose operations were collected, now over services that run."""
    COLLECTED.state.services = contract_services
    return COLLECTED


@pytest.fixture(scope="session")
def http(app: FastAPI) -> Iterator[TestClient]:
    """The app, called without a socket; failures inside it are answers, as they are in production."""
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def stage(http: TestClient, contract_services: Services) -> Stage:
    return Stage(http, contract_services, open_process(contract_services.settings))


@pytest.fixture(scope="session")
def stranger(http: TestClient, contract_services: Services) -> Tenant:
    """Another tenant, which owns nothing."""
    return Tenant(http, contract_services, open_process(contract_services.settings))
