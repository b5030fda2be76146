"""A typed client of the HTTP interface, for threads and for asyncio.

    with Client("http://127.0.0.1:8000") as client:
        book = client.send(calls.post_book({"text": text}))
        for near in client.items(calls.near_duplicates(book["id"])):
            ...

`calls` has a function for each operation. Both clients send calls, follow their pages, wait and try again.
"""

from app.client import calls
from app.client.asynchronous import AsyncClient
from app.client.errors import ClientError, Interrupted, InvalidUrl, NoService, Refused
from app.client.synchronous import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Interrupted",
    "InvalidUrl",
    "NoService",
    "Refused",
    "calls",
]
