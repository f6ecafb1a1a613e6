"""Which resolved targets of publishes are remembered: few for any channel, many for who needs many.

A publisher that goes through ten thousand routing keys in turn is slow when each is routed anew,
and thousands of channels must not hold ten thousand targets each. So a channel has some places of
its own, and more while the broker has any; without a place it forgets all it has, and begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.base.limits import CHANNEL_TARGETS_MAX, SHARED_TARGETS_MAX

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.hot_path.publish import PublishTarget


class TargetMemory:
    """The places that all channels of a broker share."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken = 0
        """Shared places in use."""

    def remember(self, channel: Channel, arguments: bytes, target: PublishTarget) -> None:
        """Keep ``target`` for further publishes with these method arguments."""
        targets = channel.targets
        if len(targets) >= CHANNEL_TARGETS_MAX:
            if self.taken >= SHARED_TARGETS_MAX:
                self.forget(channel)
            else:
                self.taken += 1
        targets[arguments] = target

    def forget(self, channel: Channel) -> None:
        """A channel's targets mean nothing any more, or make room. Idempotent."""
        self.taken -= max(0, len(channel.targets) - CHANNEL_TARGETS_MAX)
        channel.targets.clear()
