"""link_sizes: small links are those of a seed, and of its run alone."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link import credit, frame, frame_decoder, sending_lane
from reference_broker.cluster.link.frame import cut
from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.simulation.cluster.link_sizes import _PLACES, link_sizes_of, small_links


def test_a_share_of_the_seeds_has_small_links() -> None:
    small = [seed for seed in range(300) if link_sizes_of(seed) is not None]
    assert 80 < len(small) < 120
    assert link_sizes_of(small[0]) == link_sizes_of(small[0])


def test_they_are_small_within_the_block_alone() -> None:
    sizes = next(filter(None, map(link_sizes_of, range(100))))
    before = [getattr(module, name) for module, name in _PLACES], dict(WINDOWS)

    def play() -> None:
        with small_links(sizes):
            assert len(list(cut([bytes(10 * sizes.frame_bytes)], 10 * sizes.frame_bytes))) == 10
            assert credit.SendingCredit(Lane.DELIVER).left == sizes.window_bytes
            raise RuntimeError("the run has failed")

    with pytest.raises(RuntimeError):
        play()
    assert ([getattr(module, name) for module, name in _PLACES], dict(WINDOWS)) == before
    with small_links(None):
        assert ([getattr(module, name) for module, name in _PLACES], dict(WINDOWS)) == before


def test_every_module_that_cuts_by_a_size_has_the_same() -> None:
    sizes = next(filter(None, map(link_sizes_of, range(100))))
    with small_links(sizes):
        names = {module.FRAME_PAYLOAD_MAX for module in (frame, frame_decoder, sending_lane)}
        assert names == {sizes.frame_bytes}
    assert max(sizes.paddings) > sizes.frame_bytes
    assert max(sizes.paddings) > sizes.consumer_bytes
