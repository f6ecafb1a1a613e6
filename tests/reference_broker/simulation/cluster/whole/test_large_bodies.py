"""Bodies that are large for the links: what is planted into the way that they go is found, each
fault by a law that it breaks, within a few of the seeds whose links are small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pytest

from reference_broker.cluster.link import frame
from reference_broker.cluster.link.assembly import Assembly, Message
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.queues.attached_consumer import AttachedConsumer
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.origin_session import OriginSession
from reference_broker.core.remote import attachment
from reference_broker.core.remote.attachment import Attachment
from reference_broker.simulation.cluster.link_sizes import link_sizes_of
from reference_broker.simulation.cluster.world import ClusterWorld

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = [seed for seed in range(80) if link_sizes_of(seed) is not None]

Patch = pytest.MonkeyPatch


def _octets_are_never_granted_anew(patch: Patch) -> None:
    def once(self: Attachment, messages: int) -> None:
        self._granted = messages
        self._granted_bytes = attachment.WINDOW_BYTES
        self._queue.home.grant(self.number, messages, self._granted_bytes)

    patch.setattr(Attachment, "_send_grant", once)


def _the_octets_of_a_run_are_not_counted_as_come(patch: Patch) -> None:
    """So who has got them is not granted any others for them."""
    hand_out = Attachment._hand_out_run

    def uncounted(self: Attachment) -> int:
        before = self._delivered_bytes
        count = hand_out(self)
        self._delivered_bytes = before
        return count

    patch.setattr(Attachment, "_hand_out_run", uncounted)


def _credit_is_given_back_for_the_first_frame_of_a_message(patch: Patch) -> None:
    consumed = Link.consumed
    patch.setattr(
        Link,
        "consumed",
        lambda self, lane, kind, payload: consumed(
            self, lane, kind, payload[: frame.FRAME_PAYLOAD_MAX]
        ),
    )


def _who_waits_for_room_in_a_lane_is_not_told(patch: Patch) -> None:
    patch.setattr(LaneOutput, "_room_has_come", lambda self: None)


def _a_consumer_that_starved_is_not_fed(patch: Patch) -> None:
    patch.setattr(OriginSession, "starve", lambda self, consumer: None)


def _the_frames_of_a_message_are_taken_the_other_way_round(patch: Patch) -> None:
    take = Assembly.take

    def turned(self: Assembly, taken: Any) -> Message | None:
        message, size = take(self, taken), frame.FRAME_PAYLOAD_MAX
        if message is None or len(message.payload) < 3 * size or message.lane is Lane.ASK:
            return message
        octets = bytes(message.payload)
        first, *middle, last = (octets[at : at + size] for at in range(0, len(octets), size))
        return message._replace(payload=memoryview(b"".join((first, *reversed(middle), last))))

    patch.setattr(Assembly, "take", turned)


def _a_home_takes_no_octets_for_a_grant(patch: Patch) -> None:
    """A window that is spent once stays so, whatever is granted anew."""
    grant = AttachedConsumer.grant

    def of_messages(self: AttachedConsumer, messages: int, octets: int) -> None:
        spent = self._octets_left if self._octets_sent else octets
        grant(self, messages, octets)
        self._octets_left = spent

    patch.setattr(AttachedConsumer, "grant", of_messages)


PLANTED: dict[Callable[[Patch], None], str] = {
    _octets_are_never_granted_anew: "with room for them got none",
    _the_octets_of_a_run_are_not_counted_as_come: "with room for them got none",
    _a_home_takes_no_octets_for_a_grant: "with room for them got none",
    _credit_is_given_back_for_the_first_frame_of_a_message: "is not answered|got none|octets",
    _who_waits_for_room_in_a_lane_is_not_told: "is not answered|got none|for an answer of",
    _a_consumer_that_starved_is_not_fed: "with room for them got none",
    _the_frames_of_a_message_are_taken_the_other_way_round: "was never published",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_it_is_found(
    plant: Callable[[Patch], None],
    monkeypatch: Patch,
    found_in: Callable[[Collection[int], str], None],
) -> None:
    plant(monkeypatch)
    found_in(SEEDS, PLANTED[plant])


def test_large_bodies_go_over_links() -> None:
    counts = Counter[str]()
    for seed in SEEDS[:10]:
        result = ClusterWorld(seed).run()
        assert result.failure is None, f"seed {seed}: {result.failure}"
        counts += result.counts
    assert counts["small links"] == 10
    assert counts["bodies in several frames"] > 500
    assert counts["bodies above a consumer's octets"] > 300
