"""A typed client of Bookprint's HTTP interface, for threads and for asyncio.

    with Client("http://127.0.0.1:8000") as client:
        book = client.send(calls.post_book({"text": text}))
        for near in client.items(calls.near_duplicates(book["id"])):
            ...

`calls` has a function for each operation, `answers` the types of what the service answers. Both clients send
calls, follow their pages, wait and try again.
"""

from bookprint_client import answers, calls
from bookprint_client.clients import AsyncClient, Client
from bookprint_client.exchange import ClientError, Interrupted, InvalidUrl, NoService, Refused

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Interrupted",
    "InvalidUrl",
    "NoService",
    "Refused",
    "answers",
    "calls",
]
