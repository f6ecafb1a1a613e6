"""Bugs in work that is done in portions."""

from __future__ import annotations

import pytest

from mutants.mutant import mutant
from mutants.worlds import in_portions
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.publish_target import PublishTarget
from reference_broker.core.hot_path import publish
from reference_broker.core.queue.fan_out import FanOut, all_of


@mutant("durability", worlds=in_portions, showed_at=8)
def half_a_fan_out_confirmed(patch: pytest.MonkeyPatch) -> None:
    """It is when its first queues have it."""

    def early(channel: Channel, target: PublishTarget, fan_out: FanOut) -> None:
        tail = channel.vhost.journal.tail
        channel.perform(all_of(fan_out), None, publish.PUBLISH_IDS)
        if channel.confirms is not None:
            channel.confirms.published += 1
        publish._note_published(channel, 1, tail)

    patch.setattr(publish, "_publish_in_portions", early)
