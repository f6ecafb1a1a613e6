"""Archives as the clock needs them, and the one place where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.topology.lot_model import ArchiveModel


class ArchiveFile(Protocol):
    """A file that messages are added to. A message leaves its lot after :meth:`sync`, which
    returns when the file *and its folder* would survive a loss of power.

    Both raise ``OSError`` or :exc:`~mqkit.errors.MqkitError` where that can't be had (a full disk,
    a folder that is not ours); the messages stay in the lot then.
    """

    async def add(self, messages: Sequence[Delivery]) -> None: ...
    async def sync(self) -> None: ...


class Archive(Protocol):
    """Makes a new file for each run."""

    def run(self, lot: str) -> AbstractAsyncContextManager[ArchiveFile]:
        """The file for messages of the queue ``lot``; closed when the block ends. Raises as the
        file does."""
        ...


ArchiveFor: TypeAlias = Callable[[ArchiveModel], Archive]


def archive_for(model: ArchiveModel) -> Archive:
    """The archive that a file's ``archive:`` describes.

    Raises :exc:`~mqkit.errors.ConfigurationError` where archives can't be written.
    """
    raise ConfigurationError(
        f"'archive: {{to: {model.to!r}}}': archives need mqkit.lots.archive, which is not in this"
        " install: leave 'archive' out of 'lots:'"
    )
