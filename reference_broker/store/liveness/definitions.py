"""The definitions in force, by key: the last value written under each key wins.

The values are the caller's own; the store never looks into them.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.store.format import record

EMPTY_SNAPSHOT_BYTES = record.FRAME_BYTES + 1


class Definitions:
    """The map, in the order in which its keys were first defined, and the size of its snapshot."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self.snapshot_bytes = EMPTY_SNAPSHOT_BYTES
        """The size of the DEFINITIONS record if it were written now."""

    @property
    def values(self) -> Mapping[str, bytes]:
        return self._values

    def define(self, key: str, value: bytes | None) -> None:
        """Keep ``value`` under ``key``; ``None`` deletes it (idempotent)."""
        old = self._values.get(key)
        if old is not None:
            self.snapshot_bytes -= record.encoded_definition_bytes(key, old)
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
            self.snapshot_bytes += record.encoded_definition_bytes(key, value)

    def replace(self, values: Mapping[str, bytes]) -> None:
        """A snapshot was read: nothing from before it counts any more."""
        self._values.clear()
        self.snapshot_bytes = EMPTY_SNAPSHOT_BYTES
        for key, value in values.items():
            self.define(key, value)
