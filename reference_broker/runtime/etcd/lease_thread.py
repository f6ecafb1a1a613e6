"""The thread that keeps a lease, with connections of its own: a turn of the main loop that takes
long, or a slow request, must not cost the node its lease.

[T] Nor must the thread vouch for a loop that hangs: without its beats nothing is renewed.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from functools import partial
from threading import Thread

from reference_broker.cluster.coordinator import LeaseListener
from reference_broker.cluster.lease import Grant, Lease, LeaseState, Renew, Request
from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.failures import GatewayFailure
from reference_broker.runtime.etcd.fields import BadAnswer, Message, integer, part
from reference_broker.runtime.etcd.inputs import Inputs, Step
from reference_broker.runtime.etcd.request_counts import RequestCounts
from reference_broker.runtime.process.loop_beat import LoopBeat

_log = logging.getLogger(__name__)


class LeaseThread:
    """Keeps one lease. All methods are for the main loop's thread."""

    def __init__(
        self,
        ttl_s: int,
        listener: LeaseListener,
        config: EtcdConfig,
        tls: ssl.SSLContext | None,
        inputs: Inputs,
        beat: LoopBeat,
    ) -> None:
        self._listener = listener
        self._inputs = inputs
        self._beat = beat
        self._clock = beat.clock
        self._released = False
        self._client = EtcdClient(config, tls)
        self._lease = Lease(ttl_s, self, beat.clock())
        self._failing = False
        self._loop = asyncio.new_event_loop()
        self._woken = asyncio.Event()
        self._keeping = self._loop.create_task(self._keep())
        self._thread = Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    @property
    def remaining_s(self) -> float:
        """Seconds until the lease runs out, if etcd does not answer by then; 0 without one."""
        return max(0.0, self._lease.ends_at - self._clock())

    @property
    def counts(self) -> RequestCounts:
        """Of the thread's requests."""
        return self._client.counts

    @property
    def answered_at(self) -> float:
        """See :class:`~reference_broker.cluster.coordinator.LeaseKeeper`."""
        return self._lease.answered_at

    def release(self) -> None:
        """Give the lease back: its keys go now. The listener is told nothing more. Idempotent."""
        if not self._released:
            self._released = True
            self._call(self._release_on_thread)

    async def close(self) -> None:
        """End the thread, after giving back a lease that was released; another one runs out by
        itself. Idempotent."""
        if not self._released:
            self._released = True
            self._call(self._keeping.cancel)
        await asyncio.to_thread(self._thread.join)

    def _call(self, step: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(step)
        except RuntimeError:
            pass  # the thread has ended

    # On the thread

    def lease_granted(self, lease: int) -> None:
        self._tell(partial(self._listener.lease_granted, lease))

    def lease_ended(self, lease: int) -> None:
        self._tell(partial(self._listener.lease_ended, lease))

    def _tell(self, step: Step) -> None:
        self._inputs.give_from_thread(partial(self._unless_released, step))

    def _unless_released(self, step: Step) -> None:
        if not self._released:
            step()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._keeping)
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.run_until_complete(self._client.close())
            self._loop.close()

    async def _keep(self) -> None:
        while True:
            request = self._lease.tick(self._clock(), self._beat.at)
            if request is not None:
                await self._carry_out(request)
            elif self._lease.state is LeaseState.OVER:
                return
            else:
                await self._pause(self._lease.next_at - self._clock())

    async def _pause(self, seconds: float) -> None:
        self._woken.clear()
        try:
            await asyncio.wait_for(self._woken.wait(), max(0.0, seconds))
        except TimeoutError:
            pass

    def _release_on_thread(self) -> None:
        self._lease.release()
        self._woken.set()

    async def _carry_out(self, request: Request) -> None:
        try:
            await self._ask(request)
        except (GatewayFailure, BadAnswer) as error:
            if not self._failing:
                _log.warning("the lease in etcd is not kept: %s", error)
            self._failing = True
            self._lease.failed(self._clock())
        except Exception:  # noqa: BLE001 - whatever it is, a node without its lease is lost
            _log.exception("the lease in etcd is not kept, for an error of ours")
            self._lease.failed(self._clock())
        else:
            if self._failing:
                _log.info("the lease in etcd is kept again")
            self._failing = False

    async def _ask(self, request: Request) -> None:
        within_s = self._lease.answer_within_s
        if isinstance(request, Grant):
            body = {"TTL": str(request.ttl_s)}
            answer = await self._client.ask("/v3/lease/grant", body, within_s)
            self._lease.granted(_lease_of(answer), integer(answer, "TTL"))
        elif isinstance(request, Renew):
            body = {"ID": str(request.lease)}
            answer = await self._client.ask("/v3/lease/keepalive", body, within_s)
            # One answer of a stream, whose end is the request's.
            self._lease.renewed(integer(part(answer, "result"), "TTL"))
        else:
            await self._client.ask("/v3/lease/revoke", {"ID": str(request.lease)}, within_s)


def _lease_of(answer: Message) -> int:
    lease = integer(answer, "ID")
    if not lease:
        raise BadAnswer("it granted no lease")
    return lease
