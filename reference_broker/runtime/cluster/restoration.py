"""Restoring the metadata of a cluster in a real etcd: the steps of
:mod:`~reference_broker.cluster.definitions.restoring`, driven."""

from __future__ import annotations

import asyncio

from reference_broker.cluster.coordinator import Transaction
from reference_broker.cluster.definitions.restoring import Restored, restoring
from reference_broker.cluster.membership.folder_copy import CopiedMetadata
from reference_broker.cluster.membership.joining import Answer, Lookup, TryAgain
from reference_broker.errors import ClusterRefused
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.coordinator import EtcdCoordinator
from reference_broker.runtime.process.loop_beat import LoopBeat


async def restore_metadata(config: EtcdConfig, cluster: str, copied: CopiedMetadata) -> Restored:
    """Have etcd have the metadata of ``cluster`` as a folder has ``copied`` it. All nodes have to
    be stopped. It may be called again, whatever it ended at.

    Raises :exc:`ClusterRefused` where it can't be done, need not be, or etcd does not answer, and
    :exc:`BadConfiguration`."""
    loop = asyncio.get_running_loop()
    beat = LoopBeat(loop.call_later)
    try:
        coordinator = EtcdCoordinator(config, lambda step: step(), beat)
        try:
            return await _driven(coordinator, cluster, copied)
        finally:
            await coordinator.close()
    finally:
        beat.stop()


async def _driven(coordinator: EtcdCoordinator, cluster: str, copied: CopiedMetadata) -> Restored:
    steps = restoring(cluster, copied)
    answer: Answer = None
    while True:
        try:
            asked = steps.send(answer)
        except StopIteration as end:
            restored: Restored = end.value
            return restored
        except TryAgain as error:
            raise ClusterRefused(
                f"the metadata is not restored, or not as a whole: {error}. Run it again"
            ) from None
        came: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if isinstance(asked, Lookup):
            coordinator.read(
                asked.prefix, came.set_result, after=asked.after, revision=asked.revision
            )
        elif isinstance(asked, Transaction):
            coordinator.propose(asked, came.set_result)
        answer = await came
