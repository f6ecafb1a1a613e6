"""Confirms as a count: everything up to which publish the broker has taken over."""

from __future__ import annotations

import struct

ACK_FRAME = struct.Struct(">BHIHHQBB")
"""basic.ack as a whole frame: the only thing a publisher's socket receives during a run."""
BASIC_ACK = (60, 80)


class ConfirmCounter:
    """Fed with what a publisher's socket received. ``confirmed`` publishes have no gap below."""

    def __init__(self) -> None:
        self.confirmed = 0
        self._tail = b""
        self._ahead: set[int] = set()

    def feed(self, received: bytes) -> None:
        """Count acks, multiple or single, in any order and in any pieces.

        Raises :exc:`ConnectionError` for anything else: a nack, a closed channel.
        """
        data = self._tail + received
        whole = len(data) - len(data) % ACK_FRAME.size
        for _, _, _, class_id, method_id, tag, multiple, _ in ACK_FRAME.iter_unpack(data[:whole]):
            if (class_id, method_id) != BASIC_ACK:
                raise ConnectionError(f"expected basic.ack, got method {class_id}.{method_id}")
            self._confirm(tag, bool(multiple))
        self._tail = data[whole:]

    def _confirm(self, tag: int, multiple: bool) -> None:
        if multiple:
            self.confirmed = max(self.confirmed, tag)
            if self._ahead:
                self._ahead = {ahead for ahead in self._ahead if ahead > self.confirmed}
        else:
            self._ahead.add(tag)
        while self.confirmed + 1 in self._ahead:
            self.confirmed += 1
            self._ahead.discard(self.confirmed)
