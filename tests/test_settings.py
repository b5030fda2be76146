"""Settings, and the URLs of servers among them."""

import re
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given, strategies as st
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from app.settings import Settings


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


@given(user=st.text(min_size=1), password=st.text())
def test_every_driver_reads_a_user_and_a_password_alike(user: str, password: str) -> None:
    url = f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@host:1/books"
    read = str(Settings(DATABASE_URL=url).database_url)
    of_sqlalchemy, of_asyncpg = make_url(read), urlsplit(read)
    assert (of_sqlalchemy.username, of_sqlalchemy.password) == (user, password)
    assert (unquote(str(of_asyncpg.username)), unquote(str(of_asyncpg.password))) == (user, password)
    if "\0" not in user + password:  # libpq takes none
        of_libpq = conninfo_to_dict(read.replace("+psycopg", ""))
        assert (of_libpq["user"], of_libpq.get("password", "")) == (user, password)


@pytest.mark.parametrize(
    "password", ["se/cret%", "12/cret", "se@cret", "se?cret", "se#cret", "12?se=cret", "se%2"]
)
@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_a_url_that_can_be_read_in_two_ways_is_refused_without_showing_it(name: str, password: str) -> None:
    scheme = "postgresql" if name == "DATABASE_URL" else "redis"
    with pytest.raises(ValueError, match="percent-encode") as caught:
        Settings(**{name: f"{scheme}://reader:{password}@127.0.0.1/0"})
    assert not {"12", "se", "cret", "reader"} & set(re.split(r"\W+", str(caught.value)))
