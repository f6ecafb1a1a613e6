"""``Failures``, who are told of the messages whose handlers failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mqkit.consumer.settlement import Republish, Settlement
from mqkit.message import Delivery


class Failures(Protocol):
    """Told of the failures of one queue's handler, on the event loop: see
    :class:`~mqkit.consumer.failure_log.FailureLog`, which writes them down."""

    def tell(
        self, deliveries: Sequence[Delivery], raised: BaseException, settlement: Settlement
    ) -> None:
        """The handler raised ``raised`` for all ``deliveries``, and all are going to be settled as
        ``settlement``, the settlement of the first."""
        ...

    def answered(self, question: Delivery, raised: BaseException) -> None:
        """The handler of a call raised ``raised``, which was the answer."""
        ...

    def too_late(self, delivery: Delivery, raised: BaseException) -> None:
        """The message was settled already when its handler raised ``raised``."""
        ...

    def not_confirmed(self, settlement: Republish, why: str) -> None:
        """The broker did not take the message for its tier or parking lot: it is requeued."""
        ...
