"""The metrics of a node's links. The connections of their heartbeats are not counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.mesh import Mesh
from reference_broker.runtime.cluster.metrics.family import Family, counter, gauge, of_peer

_LANES = tuple(lane for lane in Lane if lane is not Lane.REPLICATION)
"""Nothing is replicated yet."""

_WAITING_LANES = tuple(lane for lane in _LANES if lane in WINDOWS)
"""Control has no credit, and never waits for it."""


def link_families(
    mesh: Mesh, peers: Sequence[str], in_front: Callable[[Link, Lane], int]
) -> Iterator[Family]:
    """Of the links with ``peers``. ``in_front`` are the octets that wait in front of a lane."""
    links = mesh.links
    yield gauge(
        "link_up",
        "1 while there is a link with the peer, else 0",
        [(of_peer(peer), int(peer in links)) for peer in peers],
    )
    heard = mesh.last_heard
    yield gauge(
        "link_round_trip_seconds",
        "Seconds of the last heartbeat's way to the peer and back; absent without a link",
        [(of_peer(peer), heard[peer].round_trip_s) for peer in peers if peer in heard],
    )
    yield counter(
        "links_lost_total",
        "Total number of links with the peer that were open and have ended",
        [(of_peer(peer), mesh.past_links.number(peer)) for peer in peers],
    )
    yield gauge(
        "link_waiting_bytes",
        "Bytes that wait to be sent to the peer, with 256 for each message",
        [
            (_labels(peer, lane), links[peer].waiting_bytes(lane) + in_front(links[peer], lane))
            for peer, lane in product(peers, _WAITING_LANES)
            if peer in links
        ],
    )
    yield from _traffic(mesh, peers)


def _traffic(mesh: Mesh, peers: Sequence[str]) -> Iterator[Family]:
    frames, octets, stalls = [], [], []
    for peer in peers:
        link = mesh.links.get(peer)
        counts = mesh.past_links.counts_with(peer, None if link is None else link.counts)
        for lane in _LANES:
            for way, numbers, sizes in (
                ("sent", counts.sent_frames, counts.sent_octets),
                ("received", counts.received_frames, counts.received_octets),
            ):
                labels = _labels(peer, lane, direction=way)
                frames.append((labels, numbers[lane]))
                octets.append((labels, sizes[lane]))
        stalls += [(_labels(peer, lane), counts.stalls[lane]) for lane in _WAITING_LANES]
    yield counter("link_frames_total", "Total number of frames of links", frames)
    yield counter("link_bytes_total", "Total bytes of frames of links, before TLS", octets)
    text = "Total number of times that a lane waited because its receiver was behind"
    yield counter("link_credit_stalls_total", text, stalls)


def _labels(peer: str, lane: Lane, **more: str) -> dict[str, str]:
    return {**of_peer(peer), "lane": lane.name.lower(), **more}
