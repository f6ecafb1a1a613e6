"""``Measure``, by which a consumer's handler is measured."""

from __future__ import annotations

from typing import Protocol

from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.handler import AnyHandler


class Measure(Protocol):
    """Puts a measuring handler in the place of a consumer's own."""

    def handler(self, handler: AnyHandler) -> AnyHandler:
        """``handler``, measured."""
        ...

    def batch_handler(self, handler: AnyBatchHandler) -> AnyBatchHandler:
        """``handler``, measured."""
        ...
