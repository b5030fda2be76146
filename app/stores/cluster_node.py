"""One master of a Redis cluster: many commands, one round trip."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import AuthenticationError, ResponseError
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import TimeoutError as ConnectionTimeout

from app.core.errors import Unavailable
from app.stores.topology import Address

Connect = Callable[[Address], AbstractConnection]


class NodeLost(Unavailable):
    """A node of the cluster does not answer."""

    def __init__(self, address: Address) -> None:
        super().__init__(
            f"The band index (Redis) cannot be reached: node {address} does not answer. "
            "Try again in a moment."
        )


class ClusterNode:
    """A node and the connections to it that are free.

    The pipelines and pools of redis-py look up metrics, callbacks and time limits for every single answer;
    200 reads took 4 ms with them and take 1.4 ms so.
    """

    def __init__(self, address: Address, connect: Connect) -> None:
        self.address = address
        self._connect = connect
        self._free: list[AbstractConnection] = []
        self._closed = False

    async def execute(self, commands: Sequence[Sequence[Any]], seconds: float) -> list[Any]:
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
            return await self._execute(self._connect(self.address), commands, seconds)
        except AuthenticationError as exc:
            raise Unavailable(f"Redis node {self.address} refuses: {exc}", retry_after=5) from exc
        except (ConnectionLost, ConnectionTimeout, OSError) as exc:
            raise NodeLost(self.address) from exc

    async def close(self) -> None:
        """Close all connections; those in use when they are free."""
        self._closed = True
        await self._hang_up()

    async def _execute(
        self, connection: AbstractConnection, commands: Sequence[Sequence[Any]], seconds: float
    ) -> list[Any]:
        answers: list[Any] = []
        try:
            async with asyncio.timeout(seconds):
                await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
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
