"""One Redis server, alone or in a cluster: many commands, one round trip."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import AuthenticationError, ResponseError
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import TimeoutError as ConnectionTimeout

from app.core.errors import Unavailable

Connect = Callable[[], AbstractConnection]

Words = Sequence[Any] | bytes
"""A command: its words, or the bytes to be sent."""


class NodeLost(Unavailable):
    """A server does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The band index (Redis) cannot be reached: {name} does not answer. Try again in a moment."
        )


class Node:
    """A node and the connections to it that are free.

    The pipelines and pools of redis-py look up metrics, callbacks and time limits for every single answer;
    200 reads took 4 ms with them and take 1.4 ms so.
    """

    def __init__(self, name: str, connect: Connect) -> None:
        self.name = name
        self._connect = connect
        self._free: list[AbstractConnection] = []
        self._closed = False

    async def execute(self, commands: Sequence[Words], seconds: float) -> list[Any]:
        """The answers in order; where the node refuses a command, the error stands in its place.

        Raises `NodeLost` after so many seconds, or at once where there is no connection to be had.
        """
        try:
            if self._free:
                try:
                    return await self._execute(self._free.pop(), commands, seconds)
                except ConnectionLost:
                    # The node has been restarted since, or has hung up on an idle connection.
                    await self._hang_up()
            return await self._execute(self._connect(), commands, seconds)
        except AuthenticationError as exc:
            raise Unavailable(f"Redis at {self.name} refuses: {exc}", retry_after=5) from exc
        except (ConnectionLost, ConnectionTimeout, OSError) as exc:
            raise NodeLost(self.name) from exc

    async def close(self) -> None:
        """Close all connections; those in use when they are free."""
        self._closed = True
        await self._hang_up()

    async def _execute(
        self, connection: AbstractConnection, commands: Sequence[Words], seconds: float
    ) -> list[Any]:
        answers: list[Any] = []
        try:
            async with asyncio.timeout(seconds):
                packed = b"".join(
                    command if isinstance(command, bytes) else pack_command(tuple(command))
                    for command in commands
                )
                await connection.send_packed_command(packed, check_health=False)
                for _ in commands:
                    try:
                        answers.append(await connection.read_response())
                    except ResponseError as refusal:
                        answers.append(refusal)
            return answers
        finally:
            if len(answers) == len(commands) and not self._closed:
                self._free.append(connection)
            else:
                await connection.disconnect(nowait=True)

    async def _hang_up(self) -> None:
        while self._free:
            await self._free.pop().disconnect(nowait=True)
