"""Questions of many requests, asked together.

A round trip costs a process about as much for eight questions as for one. So whatever is asked while one is
under way goes into the next one; what is asked alone goes at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Together(Generic[Question, Answer]):
    """Gathers questions for a function that answers several at once."""

    def __init__(
        self, answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]], most: int
    ) -> None:
        """`answer` gets at most so many questions, and answers them in their order."""
        self._answer = answer
        self._most = most
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._busy = False
        self._others: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """The answer to one question; raises what answering it together with others raised."""
        if self._busy:
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting.append((question, future))
            return await future
        self._busy = True
        try:
            [answer] = await self._answer([question])
            return answer
        finally:
            if self._waiting:
                self._others = asyncio.create_task(self._ask_waiting())
            else:
                self._busy = False

    async def _ask_waiting(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                try:
                    answers = await self._answer([question for question, _ in some])
                except Exception as exc:
                    for _, future in some:
                        if not future.done():
                            future.set_exception(exc)
                else:
                    for (_, future), answer in zip(some, answers, strict=True):
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._busy = False
            for _, future in self._waiting:
                future.cancel()
            self._waiting = []
