"""Requests that arrive while an earlier one is under way, answered together by the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Batcher(Generic[Request, Answer]):
    """Calls a function for one batch of requests at a time; a lone request is answered at once."""

    def __init__(
        self, answer: Callable[[Sequence[Request]], Awaitable[Sequence[Answer]]], largest: int
    ) -> None:
        """`answer` gets at most `largest` requests, and answers them in their order."""
        self._answer = answer
        self._largest = largest
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._busy = False
        self._task: asyncio.Task[None] | None = None

    async def ask(self, request: Request) -> Answer:
        """The answer to one request; raises what answering its batch raised."""
        if self._busy:
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting.append((request, future))
            return await future
        self._busy = True
        try:
            [answer] = await self._answer([request])
            return answer
        finally:
            if self._waiting:
                self._task = asyncio.create_task(self._answer_waiting())
            else:
                self._busy = False

    async def _answer_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
                try:
                    answers = await self._answer([request for request, _ in batch])
                except Exception as exc:
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(exc)
                else:
                    for (_, future), answer in zip(batch, answers, strict=True):
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._busy = False
            for _, future in self._waiting:
                future.cancel()
            self._waiting = []
