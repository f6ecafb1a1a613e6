"""The watch of a client, made of its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.drift.book import DriftBook, DriftStats
from mqkit.drift.event import Drift
from mqkit.drift.management_look import ManagementLook
from mqkit.drift.policies import PolicyBaseline
from mqkit.drift.watch import DriftWatch, WatchOptions
from mqkit.program_hook import ProgramHooks
from mqkit.topology.cache import TopologyCache
from mqkit.topology.throwaway import OpenChannel

if TYPE_CHECKING:
    from mqkit.settings import Settings


def drift_watch(
    settings: Settings,
    cache: TopologyCache,
    open_channel: OpenChannel,
    hooks: ProgramHooks[Drift],
    stats: DriftStats,
) -> DriftWatch:
    """The watch of a client with these settings; it looks once it runs, and is connected."""
    options = WatchOptions(settings.drift_every_s, settings.drift_rate)
    watch = DriftWatch(cache, open_channel, DriftBook(hooks, stats), options)
    if settings.management_url is not None:
        url = settings.management_url.get_secret_value()
        policies = PolicyBaseline()
        vhost = settings.endpoints[0].vhost
        watch.look_with(ManagementLook(url, vhost, watch, (policies.drifts,)))
    return watch
