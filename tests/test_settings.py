"""Settings, and the secrets among them."""

import os

import pytest

from app.settings import Settings, forget_secrets


@pytest.mark.parametrize(
    ("url", "complete"),
    [
        ("postgresql://a@host/books", "postgresql+psycopg://a@host/books?password=x%2F%40"),
        ("postgresql:///books?host=/run", "postgresql+psycopg:///books?host=/run&password=x%2F%40"),
        ("postgresql://a:b@host/books", "postgresql+psycopg://a:b@host/books"),
        ("postgresql://host/books?password=b", "postgresql+psycopg://host/books?password=b"),
    ],
)
def test_the_password_of_the_environment_stands_in_for_one_in_the_url(
    url: str, complete: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("PGPASSWORD", "x/@")
    assert Settings().database_url == complete


def test_secrets_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKPRINT_KEY", "a key")
    monkeypatch.setenv("BOOKPRINT_TEXTS", "none")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    forgotten = forget_secrets()
    assert forgotten["BOOKPRINT_KEY"] == "a key"
    assert "BOOKPRINT_KEY" not in os.environ
    assert Settings().texts == "none"
