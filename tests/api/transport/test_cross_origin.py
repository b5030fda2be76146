"""What pages of other sites can do in a browser."""

from collections.abc import AsyncIterator

import pytest
from httpx import AsyncClient, Response

from app.settings import Settings
from app.stores.postgres.connections import SQL, open_database
from tests.api.access.key_holders import with_keys
from tests.api.conftest import asking, started
from tests.api.example_requests import ExampleRequest, example_requests, make_present, operations
from tests.secret_search import ADMIN_KEY

FOREIGN = "https://attacker.example"
HERE = "http://127.0.0.1:3333"
PUBLIC, TRUSTED = "https://books.example.org", "https://catalog.example.org"
REBOUND = {"Host": "attacker.example:8000"}

# The headers that browsers send.
FOREIGN_PAGES = {
    "a page of another site": {"Origin": FOREIGN, "Sec-Fetch-Site": "cross-site"},
    "a browser without Fetch Metadata": {"Origin": FOREIGN},
    "a page in a sandbox": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "the same in an older browser": {"Origin": "null"},
    "a script or picture of another site": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    "one of another port here": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
}
FOREIGN_HOSTS = {
    "a name that leads here": REBOUND,
    "a page from there": REBOUND | {"Origin": f"http://{REBOUND['Host']}", "Sec-Fetch-Site": "same-origin"},
    "the unspecified address": {"Host": "0.0.0.0:8000"},
    "a name that begins like this one": {"Host": "localhost.attacker.example"},
}
FRIENDS = {
    "a program": {},
    "a page of this service": {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
    "a form of such a page, under its policy": {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
    "the address bar": {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
    "another spelling": {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"},
    "IPv6": {"Host": "[::1]:8000", "Origin": "http://[::1]:8000"},
    "the public address": {"Host": "books.example.org", "Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"},
    "a proxy that names no host": {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"},
    "a configured origin": {"Origin": TRUSTED, "Sec-Fetch-Site": "cross-site"},
}
REFUSALS = {403, 415, 421}


@pytest.fixture(scope="module")
async def client(module_database_url: str, module_redis_url: str) -> AsyncIterator[AsyncClient]:
    """A client of a service without keys that has a public address and names an origin."""
    settings = Settings(
        database_url=module_database_url,
        redis_url=module_redis_url,
        public_url=f"{PUBLIC}/library/",
        cors_origins=TRUSTED,
    )
    async with started(settings) as app, asking(app) as client:
        yield client


@pytest.fixture(scope="module")
async def present(client: AsyncClient) -> dict[str, str]:
    return await make_present(client, 1)


async def stored(database_url: str) -> dict[str, str]:
    """A digest of each table."""
    names = SQL("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    digests = {}
    async with open_database(database_url, 1) as database:
        for table in await database.rows(names):
            rows = f"SELECT row::text AS text FROM {table['name']} row"
            [row] = await database.rows(
                SQL(f"SELECT md5(string_agg(text, ' ' ORDER BY text)) FROM ({rows}) all_rows")
            )
            digests[table["name"]] = row["md5"]
    return digests


async def sent(
    client: AsyncClient, example: ExampleRequest, present: dict[str, str], headers: dict[str, str]
) -> Response:
    request = example.on(client, present)
    request.headers.update(headers)
    return await client.send(request)


def is_readable(answer: Response) -> bool:
    """Whether a page of another origin may read it."""
    allowed = "access-control-allow-origin" in answer.headers
    return allowed or answer.headers["cross-origin-resource-policy"] != "same-origin"


@pytest.mark.parametrize("name", FOREIGN_PAGES | FOREIGN_HOSTS)
async def test_whatever_a_foreign_page_asks_is_refused(
    name: str, client: AsyncClient, present: dict[str, str], module_database_url: str
) -> None:
    headers, status = (FOREIGN_HOSTS[name], 421) if name in FOREIGN_HOSTS else (FOREIGN_PAGES[name], 403)
    before = await stored(module_database_url)
    assert before["books"]

    # One of each kind asks all, and the others a few.
    asks_all = name in (next(iter(FOREIGN_PAGES)), next(iter(FOREIGN_HOSTS)))
    for example in example_requests()[:: 1 if asks_all else 7]:
        answer = await sent(client, example, present, headers)
        assert answer.status_code == status, (str(example), answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert not is_readable(answer)
        untyped = example.on(client, present)
        untyped.headers.update(headers)
        untyped.headers.pop("content-type", None)
        assert (await client.send(untyped)).status_code == status

    assert await stored(module_database_url) == before


async def test_a_foreign_page_learns_from_no_preflight_that_it_may_ask(client: AsyncClient) -> None:
    for method, path in operations():
        asked = {"Origin": FOREIGN, "Access-Control-Request-Method": method}
        answer = await client.options(path, headers=asked)
        assert answer.status_code == 403
        assert not is_readable(answer)


async def test_links_of_other_sites_lead_here_and_show_them_nothing(
    client: AsyncClient, present: dict[str, str]
) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await client.get("/docs", headers=followed)).status_code == 200
    for example in example_requests():
        answer = await sent(client, example, present, followed)
        assert (answer.status_code == 403) == (example.method != "GET")
        assert not is_readable(answer), (str(example), answer.headers)


@pytest.mark.parametrize("name", FRIENDS)
async def test_programs_and_pages_of_this_service_may_ask_everything(name: str, client: AsyncClient) -> None:
    own = await make_present(client, 2 + list(FRIENDS).index(name))
    for example in example_requests()[:: 1 if name in ("a program", "a configured origin") else 7]:
        answer = await sent(client, example, own, FRIENDS[name])
        assert answer.status_code not in REFUSALS, (str(example), answer.text)


async def test_pages_of_this_machine_may_read_what_is_open_and_do_nothing_else(client: AsyncClient) -> None:
    for origin in (HERE, "http://localhost:3333", "https://[::1]", TRUSTED):
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        assert (await client.options("/reconcile", headers=asked)).status_code == 200
        for path in ("/reconcile", "/reconcile/properties", "/changes/collection"):
            answer = await client.get(path, headers={"Origin": origin})
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == origin
            assert "Origin" in answer.headers["vary"]
    for path in ("/v1/books", "/reconciled"):
        assert (await client.get(path, headers={"Origin": HERE})).status_code == 403
    posted = await client.post("/v1/books", json={"text": "x"}, headers={"Origin": HERE})
    assert posted.status_code == 403
    assert "BOOKPRINT_CORS_ORIGINS" in posted.json()["detail"]


async def test_pages_of_configured_origins_may_ask_and_read(client: AsyncClient) -> None:
    asked = {"Origin": TRUSTED, "Access-Control-Request-Method": "PATCH"}
    for answer in (
        await client.options("/v1/books", headers=asked),
        await client.get("/v1/books", headers={"Origin": TRUSTED}),
    ):
        assert answer.headers.get_list("access-control-allow-origin") == [TRUSTED]


@pytest.mark.parametrize("path", ["/v1/books", "/v1/lookups", "/reconcile"])
async def test_a_body_without_a_content_type_is_refused(path: str, client: AsyncClient) -> None:
    for content in (b'{"text": "a book"}', _in_pieces()):
        answer = await client.post(path, content=content)
        assert answer.status_code == 415
        assert "application/json" in answer.json()["detail"]


async def _in_pieces() -> AsyncIterator[bytes]:
    yield b'{"text": "a book"}'


async def test_with_keys_hosts_and_pages_are_not_looked_at(
    module_database_url: str, module_redis_url: str
) -> None:
    key, other = {"X-API-Key": ADMIN_KEY}, {"Origin": FOREIGN, **REBOUND}
    asked = {
        "Origin": FOREIGN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    settings = with_keys(module_database_url, module_redis_url)
    async with started(settings) as app, asking(app) as client:
        preflight = await client.options("/reconcile/preview/x", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert preflight.headers["access-control-allow-headers"] == "authorization,content-type"
        for path in ("/reconcile", "/changes/collection"):
            for headers, status in ((other, 401), (other | key, 200)):
                answer = await client.get(path, headers=headers)
                assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, "*")
        posted = await client.post("/v1/books", content=b'{"text": "keys"}', headers=key | other)
        assert posted.status_code == 201
        assert not is_readable(posted)
