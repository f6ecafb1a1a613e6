"""Messages and spool folders for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqkit.message import Delivery, Properties
from mqkit_spark.source.stream.spool.folder import SpoolFolder

Message = Callable[..., Delivery]
Owned = Callable[..., SpoolFolder]


@pytest.fixture
def message() -> Message:
    """Makes a delivery by its id."""

    def make(message_id: str | None, body: bytes = b"body") -> Delivery:
        return Delivery("", "orders", body, Properties(message_id=message_id), 1, False)

    return make


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Owned]:
    """Takes the spool folder of the test; what was not released is so at its end."""
    taken: list[SpoolFolder] = []

    def take(queue: str = "orders", window: int = 1000) -> SpoolFolder:
        folder = SpoolFolder.owned(tmp_path / "spool", queue, window, within_s=0)
        taken.append(folder)
        return folder

    yield take
    for folder in taken:
        folder.release()
