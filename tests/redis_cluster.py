"""A Redis cluster of three real masters on the loopback interface, formed in about two seconds."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock

import pytest
import redis
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from app.embedded.processes import end, plain_environment, spawn
from app.embedded.valkey import binary
from tests.servers import scratch_folder
from tests.waiting import eventually

Operator = Redis | RedisCluster
"""A server or a cluster, as one sees it from outside Bookprint."""

_ON_CLUSTER = pytest.param("cluster", marks=pytest.mark.slow)
on_cluster_too = pytest.mark.parametrize("index_url", ["server", _ON_CLUSTER], indirect=True)
"""Marks tests whose commands or epochs go another way where keys lie on several nodes; slow ones there."""

SLOTS = 16384
_MASTERS = 3


class Master:
    """One node: a server process and a client for the operator."""

    def __init__(self, folder: Path, port: int, bus_port: int) -> None:
        self.folder = folder
        self.port = port
        self.bus_port = bus_port
        self.client = redis.Redis(port=port, protocol=2)
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        self.start()

    def start(self) -> None:
        """Start the server, empty unless it has saved its data, and wait until it answers."""
        settings = {
            "bind": "127.0.0.1",
            "port": self.port,
            "cluster-port": self.bus_port,
            "cluster-enabled": "yes",
            "cluster-node-timeout": 1000,
            "save": "",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        with (self.folder / "log").open("ab") as log:
            self._process = spawn(
                [os.environ.get("BOOKPRINT_TEST_CLUSTER_SERVER") or binary(), *options],
                folder=self.folder,
                environment=plain_environment(),
                death_signal=signal.SIGTERM,
                output=log,
            )
        assert eventually(lambda: _answers(self.client))

    def kill(self) -> None:
        """End the server without warning."""
        assert self._process is not None
        end(self._process, ())

    def meet(self, other: "Master") -> None:
        """Make this node known to another one."""
        self.call("MEET", "127.0.0.1", other.port, other.bus_port)

    def give(self, key: bytes, taker: "Master") -> None:
        """Move one key of a slot that is on its way to another node."""
        self.client.migrate("127.0.0.1", taker.port, key, 0, 5000)

    def count_keys(self, slot: int) -> int:
        """The keys of a slot that are here."""
        return int(self.call("COUNTKEYSINSLOT", slot))

    @cached_property
    def name(self) -> str:
        """The node's id in the cluster."""
        return str(self.call("MYID"))

    def call(self, *command: str | int) -> str:
        """The answer to a CLUSTER command."""
        answer = self.client.execute_command("CLUSTER", *command)
        return answer.decode() if isinstance(answer, bytes) else str(answer)


class Cluster:
    """Three masters, each of which serves a third of the slots."""

    def __init__(self, masters: list[Master]) -> None:
        self.masters = masters
        self._ending = Lock()

    @property
    def url(self) -> str:
        """For REDIS_URL."""
        return f"redis+cluster://127.0.0.1:{self.masters[0].port}"

    def form(self) -> None:
        """Make one cluster of the masters."""
        bounds = [SLOTS * place // _MASTERS for place in range(_MASTERS + 1)]
        for place, master in enumerate(self.masters):
            master.call("SET-CONFIG-EPOCH", place + 1)
            master.call("ADDSLOTSRANGE", bounds[place], bounds[place + 1] - 1)
        for master in self.masters:
            for other in self.masters:
                if other is not master:
                    master.meet(other)
        self.wait_until_well()

    def wait_until_well(self) -> None:
        """Return when every master finds the cluster complete."""
        assert eventually(lambda: all(self._is_well(master) for master in self.masters))

    @contextmanager
    def replica(self, master: Master) -> Iterator[Master]:
        """One more node, a replica of this master that is up to date."""
        replica = Master(master.folder.with_name("replica"), *_free_ports(2))
        try:
            for other in self.masters:
                replica.meet(other)
            assert eventually(lambda: replica.call("NODES").count("master") > _MASTERS)
            replica.call("REPLICATE", master.name)
            assert eventually(lambda: replica.client.info("replication").get("master_link_status") == "up")
            assert eventually(lambda: all("slave" in other.call("NODES") for other in self.masters))
            yield replica
        finally:
            replica.kill()

    def flush(self) -> None:
        """Delete everything."""
        for master in self.masters:
            master.client.flushall()

    def owner(self, slot: int) -> Master:
        """The master that holds the keys of a slot, which must have some and be on no move."""
        [owner] = [master for master in self.masters if master.count_keys(slot)]
        return owner

    def open_slot(self, slot: int, giver: Master, taker: Master) -> list[bytes]:
        """Begin the move of a slot; returns its keys, of which none has moved."""
        taker.call("SETSLOT", slot, "IMPORTING", giver.name)
        giver.call("SETSLOT", slot, "MIGRATING", taker.name)
        keys: list[bytes] = giver.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10_000)
        return keys

    def end_move(self, slot: int, taker: Master) -> None:
        """End the move of a slot of which the others hold no key any more; returns when all masters know.

        One move ends after the other. Of two that end at once both takers claim the same epoch of the
        configuration, and then it can happen that no master serves a slot.
        """
        with self._ending:
            self._assign(slot, taker)
            assert eventually(self._agrees)

    def hand_over(self, slots: range, giver: Master, taker: Master) -> None:
        """Have another master serve slots, whose keys are lost: what an operator should not do."""
        for slot in slots:
            for key in self.open_slot(slot, giver, taker):
                giver.client.delete(key)
            self._assign(slot, taker)

    def _assign(self, slot: int, taker: Master) -> None:
        for master in (taker, *(m for m in self.masters if m is not taker)):
            master.call("SETSLOT", slot, "NODE", taker.name)

    def _agrees(self) -> bool:
        """Whether all masters name the same slots and epochs of the configuration, no epoch twice."""
        views = []
        for master in self.masters:
            # id, address, flags, master, ping, pong, epoch, link, slots; those in brackets are on a move
            lines = [line.split() for line in master.call("NODES").splitlines()]
            views.append({(line[0], line[6], *(w for w in line[8:] if w[0] != "[")) for line in lines})
        epochs = {epoch for _, epoch, *_ in views[0]}
        return views.count(views[0]) == len(views) and len(epochs) == len(self.masters)

    @staticmethod
    def _is_well(master: Master) -> bool:
        lines = master.client.execute_command("CLUSTER", "INFO")
        info = lines if isinstance(lines, dict) else dict(line.split(":") for line in lines.decode().split())
        return (
            info["cluster_state"] == "ok"
            and int(info["cluster_slots_ok"]) == SLOTS
            and int(info["cluster_known_nodes"]) == _MASTERS
        )


def operator_of(url: str) -> Operator:
    """A client of redis-py for a REDIS_URL."""
    kind = RedisCluster if "+cluster" in url else Redis
    return kind.from_url(url.replace("+cluster", ""))


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A new, empty cluster, whose processes end with the context."""
    with scratch_folder() as folder, ExitStack() as running:
        masters = []
        ports = iter(_free_ports(2 * _MASTERS))
        for place in range(_MASTERS):
            masters.append(Master(folder / str(place), next(ports), next(ports)))
            running.callback(masters[-1].kill)
        if not masters[0].client.info("cluster")["cluster_enabled"]:
            pytest.skip("this Redis server was built without support for clusters")
        cluster = Cluster(masters)
        cluster.form()
        yield cluster


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
