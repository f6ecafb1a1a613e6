"""Links whose frames, windows and batches are small, so that most bodies go in several frames and
are above what a consumer is granted.

The sizes are a part of the links' protocol, or nobody's to set. With the real ones a body that is
large for them is larger than anything that a simulated world can have much of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from types import ModuleType
from typing import NamedTuple

from reference_broker.cluster.link import frame, frame_decoder, lanes, sending_lane
from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.cluster.queues import (
    attached_consumer,
    lane_output,
    message_octets,
    octet_reader,
    sent_publishes,
)
from reference_broker.core.remote import attachment

SMALL_CHANCE = 1 / 3
"""Of seeds."""

_WINDOW_LANES = (Lane.PUBLISH, Lane.DELIVER)


class LinkSizes(NamedTuple):
    """The octets of everything that a link cuts, bounds or joins."""

    frame_bytes: int
    window_bytes: int
    """Of the lanes of publishes and of deliveries."""
    lane_bytes: int
    """That wait in a lane."""
    publishes_bytes: int
    """That wait in front of one, before publishers do."""
    batch_bytes: int
    consumer_bytes: int
    """That a consumer is granted."""

    @property
    def paddings(self) -> tuple[int, ...]:
        """The sizes of bodies that such links are made for."""
        frame_bytes, consumer_bytes = self.frame_bytes, self.consumer_bytes
        return (20, frame_bytes, 3 * frame_bytes + 7, 2 * consumer_bytes, 30_000)


def link_sizes_of(seed: int) -> LinkSizes | None:
    """The small ones that a seed has; ``None`` where its links are as they are."""
    random = Random(f"links/{seed}")
    if random.random() >= SMALL_CHANCE:
        return None
    return LinkSizes(
        random.choice((1_024, 2_048, 4_096)),
        random.choice((8_192, 16_384, 65_536)),
        random.choice((4_096, 16_384)),
        random.choice((8_192, 65_536)),
        random.choice((1_024, 4_096)),
        random.choice((1_000, 4_000, 20_000)),
    )


@contextmanager
def small_links(sizes: LinkSizes | None) -> Iterator[None]:
    """All links of this process have these sizes, for the time of the block."""
    if sizes is None:
        yield
        return
    usual = [(module, name, getattr(module, name)) for module, name in _PLACES]
    windows = {lane: WINDOWS[lane] for lane in _WINDOW_LANES}
    for (module, name), field in _PLACES.items():
        setattr(module, name, getattr(sizes, field))
    WINDOWS.update(dict.fromkeys(_WINDOW_LANES, sizes.window_bytes))
    try:
        yield
    finally:
        WINDOWS.update(windows)
        for module, name, value in usual:
            setattr(module, name, value)


_PLACES: dict[tuple[ModuleType, str], str] = {
    (frame, "FRAME_PAYLOAD_MAX"): "frame_bytes",
    (frame_decoder, "FRAME_PAYLOAD_MAX"): "frame_bytes",
    (octet_reader, "FRAME_PAYLOAD_MAX"): "frame_bytes",
    (sending_lane, "FRAME_PAYLOAD_MAX"): "frame_bytes",
    (sending_lane, "WAITING_BYTES_MAX"): "lane_bytes",
    (lanes, "WAITING_BYTES_MAX"): "lane_bytes",
    (lanes, "QUANTUM_BYTES"): "batch_bytes",
    (lane_output, "BATCH_BYTES"): "batch_bytes",
    (message_octets, "RUN_BYTES"): "batch_bytes",
    (attached_consumer, "RUN_BYTES"): "batch_bytes",
    (sent_publishes, "WAITING_BYTES_MAX"): "publishes_bytes",
    (attachment, "WINDOW_BYTES"): "consumer_bytes",
}
"""Everything that has a size, and the size."""
