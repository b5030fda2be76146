"""A reader of the feed in a process of its own, killed again and again, that goes on where it was."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.change_replica import Replica

Json = dict[str, Any]


@dataclass
class FeedReader:
    """`bookprint changes --follow`, and the file that it writes."""

    url: str
    file: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0

    def start(self) -> None:
        """Go on behind the last whole line."""
        items = self.items()
        self.file.write_bytes(b"".join(json.dumps(item).encode() + b"\n" for item in items))
        after = ["--after", items[-1]["cursor"]] if items else []
        with self.file.open("ab") as lines:
            command = [sys.executable, "-m", "app.cli", "changes", "--follow", "--url", self.url, *after]
            self.process = subprocess.Popen(command, stdout=lines, stderr=subprocess.DEVNULL)
        self.starts += 1

    def kill(self) -> None:
        """Kill the process, wherever it is."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def items(self) -> list[Json]:
        """The whole lines that were written."""
        if not self.file.exists():
            return []
        *lines, _ = self.file.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines]

    def replica(self) -> Replica:
        """What a client knows that applies them in their order."""
        replica = Replica()
        for item in self.items():
            replica.apply(item)
        return replica

    async def keep_alive(self) -> None:
        """Start the process again when it ended by itself, as it does where no service answers."""
        while True:
            if self.process is None or self.process.poll() is not None:
                await asyncio.to_thread(self.start)
            await asyncio.sleep(0.2)
