"""The longest way that a message can take through the tiers and lots of its queue. Pure."""

from __future__ import annotations

from mqkit.retry.policy import RetryPolicy
from mqkit.topology.model import Topology


def longest_way_ms(topology: Topology, queue: str) -> int:
    """The milliseconds from the first delivery on ``queue`` to the last that the topology makes by
    itself: all tiers, and again after each replay by the clock; or the time until a lot is
    archived, from where a person may restore it, if that is longer.

    Waiting in the queue itself is not in it, nor what a person sends back later.
    """
    model = topology.queue(queue)
    if model is None or model.retry is None:
        return 0
    tiers_ms = _tiers_ms(model.retry)
    lot = next((lot for lot in topology.lots if lot.name == model.parking_lot), None)
    if lot is None:
        return tiers_ms
    replays_ms = 0
    if lot.replay is not None:
        replays_ms = lot.replay.at_most * (lot.replay.every_ms + tiers_ms)
    archived_ms = 0 if lot.archive is None else lot.archive.after_ms
    return tiers_ms + max(replays_ms, archived_ms)


def _tiers_ms(policy: RetryPolicy) -> int:
    """The longest sum of waiting times: failures of several kinds take from several lists, but have
    one count, so each place takes the longest of its place."""
    own = [rule.response for rule in policy.errors if isinstance(rule.response, tuple)]
    lists = [policy.after, *own]
    places = max(map(len, lists))
    total = sum(max(each[place] for each in lists if place < len(each)) for place in range(places))
    if policy.growth is not None and policy.growth.jitter:
        total = int(total * (1 + policy.growth.jitter))
    if policy.give_up_after_ms is not None:
        total = min(total, policy.give_up_after_ms)
    return total
