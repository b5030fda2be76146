"""Webhooks: registering them, where they may lead, and what is delivered to them and when."""

import asyncio
import socket
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from httpx import AsyncClient
from standardwebhooks import Webhook as Verifier, WebhookVerificationError

from app.services import webhooks
from app.services.changes import Changes
from app.services.deliveries import Delivery, Patience
from app.services.webhooks import NoWayThere, addresses_of, is_public
from app.settings import Settings
from app.stores.postgres.changes import ChangeFeed
from app.stores.postgres.connections import SQL
from app.stores.postgres.webhooks import WebhookStore
from app.wiring import Services
from tests.api.library import prose
from tests.api.posting import Json, post
from tests.api.test_bad_input import assert_problem
from tests.receiver import receiving

ALLOWED = frozenset({"127.0.0.1", "inside.test"})


@pytest.fixture
def settings(settings: Settings) -> Settings:
    urls = {"database_url": settings.database_url, "redis_url": settings.redis_url}
    return Settings(**urls, webhook_allow_hosts="127.0.0.1, Inside.test")


async def registered(client: AsyncClient, url: str, **fields: Any) -> Json:
    response = await client.post("/v1/webhooks", json={"url": url, **fields})
    assert response.status_code == 201, response.text
    webhook: Json = response.json()
    return webhook


async def read(client: AsyncClient, webhook: Json) -> Json:
    answer: Json = (await client.get(f"/v1/webhooks/{webhook['id']}")).json()
    return answer


def delivering(services: Services, patience: Patience | None = None) -> Delivery:
    """What a worker delivers with."""
    feed = ChangeFeed(services.database)
    return Delivery(WebhookStore(services.database), feed, Changes(feed), ALLOWED, patience)


async def deliver(services: Services, delivery: Delivery | None = None) -> int:
    """What a worker does once; returns to how many webhooks it delivered."""
    delivery = delivery or delivering(services)
    claimed = await delivery.claim()
    await asyncio.gather(*(delivery.deliver(webhook) for webhook in claimed))
    return len(claimed)


async def post_books(client: AsyncClient, count: int) -> list[Json]:
    return [await post(client, text=prose(seed, 60)) for seed in range(count)]


async def test_webhooks_are_listed_in_pages_and_deleted(client: AsyncClient) -> None:
    webhooks = [await registered(client, f"https://93.184.215.14/{n}") for n in range(3)]
    first = (await client.get("/v1/webhooks?limit=2")).json()
    second = (await client.get("/v1/webhooks", params={"cursor": first["next_cursor"]})).json()
    assert [item["id"] for item in first["items"] + second["items"]] == sorted(
        each["id"] for each in webhooks
    )

    assert (await client.delete(f"/v1/webhooks/{webhooks[0]['id']}")).status_code == 204

    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")]:
        assert_problem(await client.request(method, f"/v1/webhooks/{webhooks[0]['id']}{path}"), 404)
    assert_problem(await client.get("/v1/webhooks/none"), 404)


@pytest.mark.parametrize(
    "url",
    [
        *("", "changes", "ftp://93.184.215.14/", "http://", "http://93.184.215.14:0x/", "http://[::1/"),
        *("http://me:secret@93.184.215.14/", "http://93.184.215.14/#part", "https://bücher.example/"),
        *("http://93.184.215.14/a\r\nX-Injected: 1", "http://93.184.215.14/a b", "http://93.184.215.14/\x7f"),
        *("http://no-such-host.invalid/", "http://10.1.2.3/", "http://192.168.0.1/", "http://172.20.0.1/"),
        *("http://169.254.169.254/", "http://localhost/", "http://0/", "http://2130706433/", "http://[::1]/"),
        *("http://[::ffff:10.0.0.1]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://100.64.0.1/"),
        *(
            "http://93.184.215.14:0/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[2002:7f00:1::]/",
            "http://[64:ff9b::a00:1]/",
        ),
    ],
)
async def test_urls_that_lead_nowhere_or_inside_are_refused(client: AsyncClient, url: str) -> None:
    assert_problem(await client.post("/v1/webhooks", json={"url": url}), 422, "url")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[(each, True) for each in ("93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:8.8.8.8")],
        *[
            (each, False)
            for each in (
                *("::", "::ffff:192.168.1.1", "2001:db8::1", "2001::1", "192.0.2.1", "ff02::1"),
                *("192.88.99.1", "3fff::1"),
            )
        ],
    ],
)
def test_addresses_of_special_networks_are_not_public(address: str, public: bool) -> None:
    assert is_public(address) == public


async def test_a_name_with_one_inner_address_is_refused_unless_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolve(*_: object, **__: object) -> list[Any]:
        found = [("93.184.215.14", 80), ("10.0.0.1", 80)]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)

    with pytest.raises(NoWayThere):
        await addresses_of("both.test", 80, frozenset())
    assert await addresses_of("both.test", 80, {"both.test"}) == ["93.184.215.14", "10.0.0.1"]


async def test_what_is_delivered_is_the_item_of_the_feed_and_is_signed(
    client: AsyncClient, services: Services
) -> None:
    async with receiving() as receiver:
        await post(client, text=prose(99))
        webhook = await registered(client, receiver.url)
        await post_books(client, 3)

        assert await deliver(services) == 1

        feed = (await client.get("/v1/changes")).json()["items"][1:]
        assert [message.item for message in receiver.messages] == feed
        for message in receiver.messages:
            assert Verifier(webhook["secret"]).verify(message.body, message.headers) == message.item
            assert message.headers["webhook-id"] == message.item["cursor"]
            assert message.headers["content-type"] == "application/json"
            assert message.headers["host"] == f"127.0.0.1:{receiver.port}"
        with pytest.raises(WebhookVerificationError):
            Verifier(webhook["secret"]).verify(message.body + b" ", message.headers)
        after = await read(client, webhook)
        assert (after["state"], after["cursor"]) == ("active", feed[-1]["cursor"])
        assert await deliver(services) == 0


async def test_for_a_day_both_secrets_sign(client: AsyncClient, services: Services) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url)
        rotated = (await client.post(f"/v1/webhooks/{webhook['id']}/rotate")).json()
        assert rotated["secret"] != webhook["secret"]
        await post(client, text=prose(1))
        await deliver(services)
        await services.database.rows(SQL("UPDATE webhooks SET former_until = now()"))
        await post(client, text=prose(2))
        await deliver(services)

    first, second = receiver.messages
    for secret in (webhook["secret"], rotated["secret"]):
        Verifier(secret).verify(first.body, first.headers)
    Verifier(rotated["secret"]).verify(second.body, second.headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(webhook["secret"]).verify(second.body, second.headers)


async def test_only_the_types_asked_for_are_delivered(client: AsyncClient, services: Services) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url, types=["book.deleted", "book.deleted"])
        [book, _] = await post_books(client, 2)
        await client.delete(book["links"]["self"])
        await post(client, text=prose(7))
        await deliver(services)

        assert [(each.item["type"], each.item["book_id"]) for each in receiver.messages] == [
            ("book.deleted", book["id"])
        ]
        assert await deliver(services) == 0
        assert (await read(client, webhook))["types"] == ["book.deleted"]


async def test_a_dead_receiver_is_tried_with_growing_waits_and_then_disabled(
    client: AsyncClient, services: Services
) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url)
    books = await post_books(client, 3)

    await deliver(services, delivering(services, Patience(first_wait=timedelta(hours=1))))
    failing = await read(client, webhook)
    assert failing["state"] == "failing"
    assert 'bookprint_webhooks{state="failing"} 1.0' in (await client.get("/metrics")).text
    assert failing["last_error"].startswith("No connection")
    assert failing["next_try_at"] > failing["failing_since"]
    assert await deliver(services) == 0  # not before the time has come

    await services.database.rows(SQL("UPDATE webhooks SET next_try_at = now()"))
    await deliver(services)
    again = await read(client, webhook)
    assert again["failing_since"] == failing["failing_since"]
    assert again["cursor"] == webhook["cursor"]

    three_days = "failing_since = now() - interval '3 days'"
    await services.database.rows(SQL(f"UPDATE webhooks SET next_try_at = now(), {three_days}"))
    await deliver(services)
    disabled = await read(client, webhook)
    assert disabled["state"] == "disabled"
    assert 'bookprint_webhooks{state="disabled"} 1.0' in (await client.get("/metrics")).text
    assert "could not be delivered since" in disabled["disabled_because"]
    assert disabled["next_try_at"] is None
    assert await deliver(services) == 0
    missed = (await client.get("/v1/changes", params={"after": disabled["cursor"]})).json()["items"]
    assert [item["book_id"] for item in missed] == [book["id"] for book in books]


def test_waits_grow_to_an_hour() -> None:
    waits = [Patience().wait(failures).total_seconds() for failures in range(1, 16)]

    assert waits[:5] == [1, 2, 4, 8, 16]
    assert waits[-1] == 3600
    assert Patience().wait(10_000) == Patience().longest_wait


async def test_a_receiver_that_is_gone_is_disabled_at_once(client: AsyncClient, services: Services) -> None:
    async with receiving(lambda message: 410) as receiver:
        webhook = await registered(client, receiver.url)
        await post(client, text=prose(1))
        await deliver(services)

        disabled = await read(client, webhook)
        assert (disabled["state"], disabled["disabled_because"]) == (
            "disabled",
            "The receiver answered 410 Gone.",
        )


async def test_redirects_are_not_followed(client: AsyncClient, services: Services) -> None:
    async with receiving(lambda message: 302) as receiver:
        webhook = await registered(client, receiver.url)
        await post(client, text=prose(1))
        await deliver(services)

        assert len(receiver.messages) == 1
        assert "redirects are not followed" in (await read(client, webhook))["last_error"]


async def test_a_receiver_that_does_not_answer_is_given_up(client: AsyncClient, services: Services) -> None:
    async with receiving() as receiver:
        receiver.delay = 120
        webhook = await registered(client, receiver.url)
        await post(client, text=prose(1))
        await deliver(services, delivering(services, Patience(answer=0.2)))

        assert (await read(client, webhook))["last_error"] == "No answer within 0.2 seconds."


async def test_a_name_that_comes_to_lead_inside_is_not_followed(
    client: AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url)
        rebound = f"http://rebound.test:{receiver.port}/"
        await services.database.rows(SQL("UPDATE webhooks SET url = $url"), url=rebound)
        await post(client, text=prose(1))
        asked = []

        async def resolve(host: str, *_: object, **__: object) -> list[Any]:
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)
        await deliver(services)

        assert asked == ["rebound.test"]
        assert receiver.messages == []
        assert "private or special network" in (await read(client, webhook))["last_error"]


async def test_the_connection_goes_to_the_address_that_was_checked(
    client: AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as receiver:
        await registered(client, receiver.url)
        await services.database.rows(
            SQL("UPDATE webhooks SET url = $url"), url=f"http://inside.test:{receiver.port}/x?y=1"
        )
        await post(client, text=prose(1))
        asked = []

        async def resolve(host: str, *_: object, **__: object) -> list[Any]:
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

        monkeypatch.setattr(webhooks.asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)
        await deliver(services)

        [message] = receiver.messages
        assert message.headers["host"] == f"inside.test:{receiver.port}"
        assert [host for host in asked if host == "inside.test"] == ["inside.test"]


async def test_a_webhook_left_behind_the_kept_changes_says_so(
    client: AsyncClient, services: Services
) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url)
        await post_books(client, 3)
        await client.get("/v1/changes")
        await services.database.rows(SQL("UPDATE changes SET at = at - interval '31 days'"))
        await services.changes.sweep()
        await deliver(services)

        assert (await read(client, webhook))["state"] == "disabled"
        assert receiver.messages == []


async def test_two_workers_do_not_deliver_to_one_webhook_at_once(
    client: AsyncClient, services: Services
) -> None:
    async with receiving() as receiver:
        webhook = await registered(client, receiver.url)
        await post_books(client, 5)
        delivery = delivering(services)
        claims = await asyncio.gather(*(delivery.claim() for _ in range(4)))
        [[claimed]] = [claim for claim in claims if claim]
        assert claimed.id == UUID(webhook["id"])
        await delivery.deliver(claimed)

    assert len(receiver.messages) == 5


async def test_a_change_that_is_not_taken_holds_back_those_behind_it(
    client: AsyncClient, services: Services
) -> None:
    async with receiving(lambda message: 500 if len(receiver.messages) == 3 else 204) as receiver:
        webhook = await registered(client, receiver.url)
        books = [book["id"] for book in await post_books(client, 4)]
        delivery = delivering(services, Patience(again=timedelta()))
        await deliver(services, delivery)

        assert [message.item["book_id"] for message in receiver.messages] == books[:3]
        failing = await read(client, webhook)
        assert (failing["state"], failing["cursor"]) == ("failing", receiver.messages[1].item["cursor"])
        await deliver(services, delivery)
        assert [message.item["book_id"] for message in receiver.accepted] == books
