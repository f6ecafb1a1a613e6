"""The ledger of one channel: the deliveries that a client was given, and the answers that it was
promised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fuzz.machine.line import Line
from mqkit.wire.methods import BasicAck, BasicNack, BasicReject


class Delivery(NamedTuple):
    """A message that the client holds."""

    line: Line
    number: int


class Subscription(NamedTuple):
    """A consumer."""

    line: Line
    no_ack: bool


class Publish(NamedTuple):
    """A message that the client sends, and where it goes once all of it is there."""

    number: int
    exchange: str
    routing_key: str


class HeldPublish(NamedTuple):
    """A message that waits for tx.commit."""

    number: int
    lines: tuple[Line, ...]


@dataclass(slots=True)
class ChannelLedger:
    """One channel, from channel.open to its end."""

    unacked: dict[int, Delivery] = field(default_factory=dict)
    consumers: dict[str, Subscription] = field(default_factory=dict)
    highest_tag: int = 0
    getting: Subscription | None = None
    confirming: bool = False
    published: int = 0
    unconfirmed: dict[int, int] = field(default_factory=dict)
    """Number by the sequence number of the publish."""
    transacting: bool = False
    held_publishes: list[HeldPublish] = field(default_factory=list)
    held_settlements: list[tuple[dict[int, Delivery], bool]] = field(default_factory=list)
    """Deliveries that tx.commit settles, and whether for good."""
    coming: Publish | None = None
    frames: list[bytes] = field(default_factory=list)
    """The frames of the message that is ``coming`` which are not sent yet."""

    def outstanding(self) -> list[Delivery]:
        """All unacked deliveries, those that wait for a commit included."""
        held = [each for settled, _ in self.held_settlements for each in settled.values()]
        return [*self.unacked.values(), *held]

    def accepts(self, tag: int, multiple: bool) -> bool:
        """Is there anything to settle with that tag? Else the broker has to close the channel."""
        return tag in self.unacked or (multiple and tag == 0)

    def settle(self, settlement: BasicAck | BasicNack | BasicReject) -> None:
        """The client settles, with a tag that is accepted."""
        tag = settlement.delivery_tag
        multiple = not isinstance(settlement, BasicReject) and settlement.multiple
        tags = [each for each in self.unacked if each == tag or (multiple and each < tag)]
        if multiple and tag == 0:
            tags = list(self.unacked)
        settled = {each: self.unacked.pop(each) for each in tags}
        for_good = isinstance(settlement, BasicAck) or not settlement.requeue
        if self.transacting:
            self.held_settlements.append((settled, for_good))
        elif for_good:
            for delivery in settled.values():
                delivery.line.settle(delivery.number)

    def commit(self) -> None:
        """Apply what is held: messages first."""
        for number, lines in self.held_publishes:
            for line in lines:
                line.arrive(number)
        for settled, for_good in self.held_settlements:
            for delivery in settled.values() if for_good else ():
                delivery.line.settle(delivery.number)
        self.held_publishes, self.held_settlements = [], []

    def roll_back(self) -> None:
        """Forget what is held: deliveries are the client's again, under their tags."""
        for settled, _ in self.held_settlements:
            self.unacked |= settled
        self.unacked = dict(sorted(self.unacked.items()))
        self.held_publishes, self.held_settlements = [], []

    def confirm(self, tag: int, multiple: bool) -> None:
        """The broker confirms. No publish is confirmed twice, and none that was not sent."""
        tags = [each for each in self.unconfirmed if each == tag or (multiple and each <= tag)]
        assert tags, f"confirm {tag} ({multiple=}) for none of {list(self.unconfirmed)}"
        for each in tags:
            del self.unconfirmed[each]
