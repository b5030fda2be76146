"""One Redis server, alone or in a cluster: many commands, one round trip.

A connection ends with the life of the server that it leads to. So the server tells its run id when a
connection is made, and whatever comes over that connection was read in that life.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import AuthenticationError, ResponseError
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import TimeoutError as ConnectionTimeout

from app.core.errors import Unavailable

Connect = Callable[[], AbstractConnection]


@dataclass(frozen=True, slots=True)
class GetEpoch:
    """Read an epoch; None for one of another life of the server, or from when it served other keys."""

    key: str
    serves: str  # stands for the part of all keys that the server serves


Words = Sequence[Any] | bytes | GetEpoch
"""A command: its words, or the bytes to be sent."""

_RUN_ID = re.compile(rb"run_id:([0-9a-f]+)")


class NodeLost(Unavailable):
    """A server does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The band index (Redis) cannot be reached: {name} does not answer. Try again in a moment."
        )


class _Link(NamedTuple):
    connection: AbstractConnection
    run_id: str


class Node:
    """A node and the connections to it that are free.

    The pipelines and pools of redis-py look up metrics, callbacks and time limits for every single answer;
    200 reads took 4 ms with them and take 1.4 ms so.
    """

    def __init__(self, name: str, connect: Connect) -> None:
        self.name = name
        self._connect = connect
        self._free: list[_Link] = []
        self._closed = False

    async def execute(self, commands: Sequence[Words], seconds: float) -> list[Any]:
        """The answers in order; where the node refuses a command, the error stands in its place.

        Raises `NodeLost` after so many seconds, or at once where there is no connection to be had.
        """
        try:
            async with asyncio.timeout(seconds):
                if self._free:
                    try:
                        return await self._execute(self._free.pop(), commands)
                    except ConnectionLost:
                        # The node has been restarted since, or has hung up on an idle connection.
                        await self._hang_up()
                return await self._execute(await self._linked(), commands)
        except (AuthenticationError, ResponseError) as exc:
            raise Unavailable(f"Redis at {self.name} refuses: {exc}", retry_after=5) from exc
        except (ConnectionLost, ConnectionTimeout, OSError) as exc:
            raise NodeLost(self.name) from exc

    async def close(self) -> None:
        """Close all connections; those in use when they are free."""
        self._closed = True
        await self._hang_up()

    async def _linked(self) -> _Link:
        connection, told = self._connect(), None
        try:
            await connection.send_packed_command(_packed(("INFO", "server")), check_health=False)
            told = _RUN_ID.search(await connection.read_response())
        finally:
            if told is None:
                await connection.disconnect(nowait=True)
        if told is None:
            raise ResponseError("INFO tells no run_id, as Redis and Valkey do.")
        return _Link(connection, told[1].decode())

    async def _execute(self, link: _Link, commands: Sequence[Words]) -> list[Any]:
        connection, answers = link.connection, list[Any]()
        try:
            packed = b"".join(map(_packed, commands))
            await connection.send_packed_command(packed, check_health=False)
            for command in commands:
                try:
                    answer = await connection.read_response()
                except ResponseError as refusal:
                    answers.append(refusal)
                    continue
                if isinstance(command, GetEpoch) and not _is_of(answer, link.run_id, command.serves):
                    answer = None
                answers.append(answer)
            return answers
        finally:
            if len(answers) == len(commands) and not self._closed:
                self._free.append(link)
            else:
                await connection.disconnect(nowait=True)

    async def _hang_up(self) -> None:
        while self._free:
            await self._free.pop().connection.disconnect(nowait=True)


def _packed(command: Words) -> bytes:
    if isinstance(command, bytes):
        return command
    packed: bytes = pack_command(("GET", command.key) if isinstance(command, GetEpoch) else tuple(command))
    return packed


def _is_of(epoch: bytes | None, run_id: str, serves: str) -> bool:
    return epoch is not None and epoch.startswith(f"{run_id}:{serves}:".encode())
