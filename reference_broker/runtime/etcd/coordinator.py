"""The coordinator over etcd: transactions, reads, watches and leases for a node's core.

[T] A transaction goes to another member only if it certainly was not carried out before: proposed
twice, it would be told of as lost when it was won.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from reference_broker.cluster.coordinator import (
    InDoubt,
    LeaseKeeper,
    LeaseListener,
    News,
    Outcome,
    Page,
    Transaction,
    Unread,
    Watch,
)
from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.failures import GatewayFailure, outcome_of, unread_of
from reference_broker.runtime.etcd.fields import BadAnswer
from reference_broker.runtime.etcd.inputs import Inputs, Step
from reference_broker.runtime.etcd.lease_thread import LeaseThread
from reference_broker.runtime.etcd.pages import page_of, page_request
from reference_broker.runtime.etcd.request_counts import RequestCount, sum_of
from reference_broker.runtime.etcd.tls_context import tls_context
from reference_broker.runtime.etcd.transactions import transaction_outcome, transaction_request
from reference_broker.runtime.etcd.watch import EtcdWatch
from reference_broker.runtime.etcd.watch_silence import COMPARE_EVERY_S
from reference_broker.runtime.process.loop_beat import LoopBeat

PROPOSE_TIMEOUT_S = 3.0
"""Seconds for a transaction at one member. A new leader of etcd is there after 1 to 2 s; what a
member had handed on to the old one gets lost, and it answers after 7 s that it does not know."""

READ_TIMEOUT_S = 3.0
"""Seconds for a read at one member: a page of 1,000 rows takes 0.1 s, and it waits for a leader as
a transaction does."""

_OF_OURS = "an error of the client of etcd; see the log"

_log = logging.getLogger(__name__)


class EtcdCoordinator:
    """The :class:`~reference_broker.cluster.coordinator.Coordinator` of a node. All methods are for
    the event loop in which it is made; ``as_input`` runs a step as an input of the core. Raises
    :exc:`BadConfiguration` for files that can't be used. :meth:`close` it in the end.

    Leases are kept while ``beat`` is one of a loop that goes round. ``compare_every_s`` is a third
    of the time after which a silent watch is ended.
    """

    def __init__(
        self,
        config: EtcdConfig,
        as_input: Callable[[Step], None],
        beat: LoopBeat,
        *,
        compare_every_s: float = COMPARE_EVERY_S,
    ) -> None:
        self._config = config
        self._tls = tls_context(config)
        self._beat = beat
        self._compare_every_s = compare_every_s
        self._inputs = Inputs(asyncio.get_running_loop(), as_input)
        self._client = EtcdClient(config, self._tls)
        self._tasks: set[asyncio.Task[None]] = set()
        self._leases: list[LeaseThread] = []

    def propose(self, transaction: Transaction, answer: Callable[[Outcome], None]) -> None:
        """Have ``transaction`` carried out."""
        self._start(self._propose(transaction, answer))

    def read(
        self,
        prefix: str,
        answer: Callable[[Page | Unread], None],
        *,
        after: str = "",
        revision: int = 0,
    ) -> None:
        """Read a page of the rows whose keys begin with ``prefix``."""
        self._start(self._read(prefix, after, revision, answer))

    def watch(self, prefix: str, after: int, tell: Callable[[News], None]) -> Watch:
        """Tell of every transaction after revision ``after`` that changes a key under
        ``prefix``."""
        watch = EtcdWatch(self._client, self._inputs, prefix, after, tell, self._compare_every_s)
        self._remember(watch.task)
        return watch

    def keep_lease(self, ttl_s: int, listener: LeaseListener) -> LeaseKeeper:
        """Have a lease of ``ttl_s`` seconds kept, on a thread of its own. etcd grants no less than
        2 s."""
        keeper = LeaseThread(ttl_s, listener, self._config, self._tls, self._inputs, self._beat)
        self._leases.append(keeper)
        return keeper

    @property
    def lease_remaining_s(self) -> float:
        """Seconds until the lease runs out, if etcd does not answer by then; 0 without one."""
        return max((each.remaining_s for each in self._leases), default=0.0)

    @property
    def request_counts(self) -> Mapping[str, RequestCount]:
        """The requests so far, those of the lease included, by kind."""
        return sum_of([self._client.counts, *(each.counts for each in self._leases)])

    async def close(self) -> None:
        """Answer nothing more, tell nothing more, close the connections. Leases that were released
        are given back before that, others run out. Idempotent."""
        self._inputs.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(lease.close() for lease in self._leases))
        await self._client.close()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._remember(asyncio.get_running_loop().create_task(work))

    def _remember(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _propose(self, transaction: Transaction, answer: Callable[[Outcome], None]) -> None:
        outcome: Outcome
        try:
            told = await self._client.ask(
                "/v3/kv/txn",
                transaction_request(transaction),
                PROPOSE_TIMEOUT_S,
                repeatable=False,
            )
            outcome = transaction_outcome(told)
        except GatewayFailure as failure:
            outcome = outcome_of(failure)
        except BadAnswer as error:
            outcome = InDoubt(f"etcd: {error}")
        except Exception:  # noqa: BLE001 - whoever waits hears of it, whatever it is
            _log.exception("a transaction is in doubt")
            outcome = InDoubt(_OF_OURS)
        self._inputs.give(partial(answer, outcome))

    async def _read(
        self, prefix: str, after: str, revision: int, answer: Callable[[Page | Unread], None]
    ) -> None:
        page: Page | Unread
        try:
            request = page_request(prefix, after, revision)
            told = await self._client.ask("/v3/kv/range", request, READ_TIMEOUT_S)
            page = page_of(told, revision, self._client.ahead_s)
        except GatewayFailure as failure:
            page = unread_of(failure)
        except BadAnswer as error:
            page = Unread(f"etcd: {error}")
        except Exception:  # noqa: BLE001 - whoever waits hears of it, whatever it is
            _log.exception("a read failed")
            page = Unread(_OF_OURS)
        self._inputs.give(partial(answer, page))
