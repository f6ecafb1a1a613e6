"""A consumer's side of another node's queue that notes what it is told, for tests of homes.

taker = NotingTaker()
number = home.attach(queue.id, Terms("tag", False, False, b""), taker)
...
assert taker.told == ["attached", (1, False, b"body")]
"""

from __future__ import annotations

from collections.abc import Sequence

from mqkit.wire import Properties, encode_header, encode_table
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Terms
from reference_broker.errors import ChannelException


class NotingTaker:
    """A :class:`~reference_broker.core.remote.ports.Taker`. ``told`` has its calls in order:
    ``"attached"``, ``"detached"``, ``"gone"``, an error, or a delivery as its lease number, whether
    it is redelivered, and the body. ``contents`` are of the deliveries."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.contents: list[Content] = []

    @property
    def numbers(self) -> list[int]:
        """The leases of all deliveries."""
        return [each[0] for each in self.told if isinstance(each, tuple)]

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of all deliveries."""
        return [bytes(content.body) for content in self.contents]

    def attached(self) -> None:
        self.told.append("attached")

    def refused(self, error: ChannelException) -> None:
        self.told.append(error)

    def deliver(self, number: int, redelivered: bool, content: Content) -> None:
        self.told.append((number, redelivered, bytes(content.body)))
        self.contents.append(content)

    def deliver_run(self, first: int, contents: Sequence[Content]) -> None:
        for number, content in enumerate(contents, first):
            self.deliver(number, False, content)

    def detached(self) -> None:
        self.told.append("detached")

    def gone(self) -> None:
        self.told.append("gone")


def message(body: bytes = b"body", *, route: bytes = b"\x00\x01q", **properties: object) -> Content:
    """A message with these properties (``delivery_mode=2``)."""
    return Content(route, encode_header(len(body), Properties(**properties)), body)  # type: ignore[arg-type]


def terms(*, no_ack: bool = False, exclusive: bool = False, **arguments: object) -> Terms:
    """The terms of a consumer; ``x_priority=1`` is an argument."""
    table = {key.replace("_", "-"): value for key, value in arguments.items()}
    return Terms("tag", no_ack, exclusive, encode_table(table)[4:])
