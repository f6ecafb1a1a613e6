"""``mqkit lots run``, with an archive that is as plain as can be: a file of JSON lines, synced."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mqkit.lots.clock import archiving
from mqkit.message import Delivery
from mqkit.topology.lot_model import ArchiveModel
from mqkit_cli.__main__ import main


class PlainFile:
    """One line a message: its id."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def add(self, messages: Sequence[Delivery]) -> None:
        lines = "".join(json.dumps({"message_id": one.message_id}) + "\n" for one in messages)
        os.write(self._descriptor, lines.encode())

    async def sync(self) -> None:
        os.fsync(self._descriptor)


class PlainArchive:
    """A file for each run, in the folder of the model's path."""

    def __init__(self, model: ArchiveModel, vhost: str) -> None:
        self._folder = Path(model.to).parent

    @asynccontextmanager
    async def run(self, lot: str) -> AsyncIterator[PlainFile]:
        path = self._folder / f"{secrets.token_hex(8)}.jsonl"
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            yield PlainFile(descriptor)
        finally:
            os.close(descriptor)


if __name__ == "__main__":
    archiving.archive_for = PlainArchive
    main()
