"""Typed clients for Bookprint's HTTP interface, for threads and for asyncio.

    with Client("http://127.0.0.1:8000") as client:
        book = client.send(calls.post_book({"text": text}))
        for near in client.items(calls.near_duplicates(book["id"])):
            ...

`calls` contains a function for each operation. `answers` contains the types of the service's answers. Both
clients send calls, follow pages, wait and retry.
"""

from bookprint_client import answers as answers, calls as calls
from bookprint_client.clients import AsyncClient as AsyncClient, Client as Client
from bookprint_client.exchange import (
    ClientError as ClientError,
    Interrupted as Interrupted,
    InvalidUrl as InvalidUrl,
    NoService as NoService,
    Refused as Refused,
)
