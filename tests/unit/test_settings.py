"""Where settings come from, and which of them contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from core import settings
from core.settings import SECRETS_FOLDER, Settings


@pytest.fixture(autouse=True)
def fresh() -> None:
    settings.get_settings.cache_clear()


def test_secrets_stand_in_files_and_the_environment_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "graphveil_master_key").write_text("aa" * 32 + "\n")
    (tmp_path / "graphveil_database_url").write_text("postgresql+psycopg://file@db/graphveil\n")
    monkeypatch.setenv(SECRETS_FOLDER, str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_DATABASE_URL", "postgresql+psycopg://environment@db/graphveil")
    found = settings.get_settings()
    settings.get_settings.cache_clear()
    assert found.master_key.get_secret_value() == "aa" * 32
    assert found.database_url == "postgresql+psycopg://environment@db/graphveil"


def test_without_a_folder_only_the_environment_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(SECRETS_FOLDER, raising=False)
    monkeypatch.setenv("GRAPHVEIL_PORT", "8123")
    assert settings.get_settings().port == 8123
    settings.get_settings.cache_clear()


@pytest.mark.parametrize("name", ["storage_access_key_id", "storage_secret_access_key"])
def test_half_of_the_storage_credentials_is_refused(name: str):
    with pytest.raises(ValidationError, match="set together"):
        Settings(**{name: "x"})


@pytest.mark.parametrize(
    "given", [{}, {"engine_url": "sc://lake:15002"}, {"engine_folder": "s3://lake/kept"}]
)
def test_no_shards_are_drawn_by_an_engine_that_is_not_named(given: dict[str, str]):
    with pytest.raises(ValidationError, match="engine_url and engine_folder"):
        Settings(engine_draws=True, **given)


def test_a_refusal_quotes_no_value():
    """It goes to a log: what is named is the setting, never what it was set to."""
    for given in ({"storage_secret_access_key": "n0t-f0r-logs"}, {"port": "n0t-f0r-logs"}):
        with pytest.raises(ValidationError) as refused:
            Settings(master_key="n0t-f0r-logs", **given)
        assert "n0t-f0r-logs" not in str(refused.value)


def test_settings_show_no_secret():
    """A password in an address is one too."""
    found = Settings(
        database_url="postgresql+psycopg://graphveil:n0t-f0r-logs@db/graphveil",
        redis_url="redis://:n0t-f0r-logs@redis:6379/0",
        master_key="n0t-f0r-logs",
    )
    assert "n0t-f0r-logs" not in f"{found!r} {found}"
