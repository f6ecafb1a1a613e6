"""The offset of a stream source: the name of a batch. Pure.

A queue has no positions, so an offset can't be one. It says which batch it is the end of: a number
that follows the start's, a random key of its own (so that a batch planned twice is two batches),
and the number of messages that its partitions share. Spark logs it before a partition is read, and
gives it again after a restart: all names of files follow from it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mqkit.errors import ConfigurationError

KEY_OCTETS = 8

_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Offset:
    """The end of batch ``batch``; :data:`START` is where a query without a checkpoint begins."""

    batch: int
    key: str
    messages: int
    partitions: int

    @property
    def name(self) -> str:
        """The folder name of the batch; names sort in the order of the batches."""
        return f"{self.batch:012d}-{self.key}"

    def shares(self) -> list[int]:
        """The most messages that each partition takes: as even as can be."""
        if not self.partitions:
            return []
        each, more = divmod(self.messages, self.partitions)
        return [each + (index < more) for index in range(self.partitions)]

    def next(self, number: int, messages: int, partitions: int) -> Offset:
        """A new batch, which is not the same twice. ``number`` is more than this one's."""
        assert number > self.batch
        return Offset(number, secrets.token_hex(KEY_OCTETS), messages, partitions)

    def to_json(self) -> dict[str, Any]:
        """The offset as Spark logs it."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Offset:
        """The reverse of :meth:`to_json`. Raises :exc:`~mqkit.errors.ConfigurationError` for an
        offset of another source: its key becomes the name of a file."""
        names = ("batch", "messages", "partitions")
        numbers = [given.get(name) for name in names]
        key = given.get("key")
        whole = [each for each in numbers if type(each) is int and each >= 0]
        if len(whole) < len(names) or not isinstance(key, str):
            raise _foreign(given)
        batch, messages, partitions = whole
        if batch and not (_KEY.fullmatch(key) and partitions):
            raise _foreign(given)
        return cls(batch, key, messages, partitions)


START = Offset(0, "", 0, 0)


def _foreign(given: Mapping[str, Any]) -> ConfigurationError:
    return ConfigurationError(
        f"the checkpoint has an offset that is not of this source: {str(dict(given))[:100]}"
    )
