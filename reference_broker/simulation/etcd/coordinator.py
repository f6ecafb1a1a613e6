"""The port to etcd, for one process of one node, and the faults between the two."""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    TRANSACTION_BYTES_MAX,
    InDoubt,
    LeaseListener,
    News,
    Outcome,
    Page,
    Refused,
    Transaction,
    Unread,
)
from reference_broker.simulation.etcd.bounds import octets
from reference_broker.simulation.etcd.inbox import AsInput, Inbox, at_once
from reference_broker.simulation.etcd.keeping import SimulatedKeeper
from reference_broker.simulation.etcd.line import Cut, Line
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.etcd.watching import SimulatedWatch


class SimulatedCoordinator:
    """A :class:`~reference_broker.cluster.coordinator.Coordinator` over a simulated etcd.

    Whoever plays faults calls the verbs: :meth:`cut` and :meth:`heal`, :meth:`silence_watches` and
    :meth:`lose_watches`, :meth:`pause` and :meth:`resume`. Call :meth:`close` when the process is
    killed: what it has asked for may still be carried out, and its lease runs out by itself.
    """

    def __init__(
        self, server: EtcdServer, node: str, page_rows: int, as_input: AsInput = at_once
    ) -> None:
        self.node = node
        self._server = server
        self._page_rows = page_rows
        self._inbox = Inbox(server.clock, as_input)
        self._line = Line(server, self._inbox)
        self._watches: list[SimulatedWatch] = []

    def propose(self, transaction: Transaction, answer: Callable[[Outcome], None]) -> None:
        """Have ``transaction`` carried out. Raises :class:`ValueError` for one that breaks the
        port's bounds, which a client of etcd need not take."""
        compares, changes = transaction
        keys = [change.key for change in changes]
        if max(len(compares), len(changes)) > CHANGES_MAX:
            raise ValueError(f"{len(compares)} compares and {len(changes)} changes are too many")
        if len(dict.fromkeys(keys)) < len(keys):
            raise ValueError(f"a key is in two of the changes {keys}")
        if octets(transaction) > TRANSACTION_BYTES_MAX:
            raise ValueError(f"{octets(transaction)} octets are too many")

        def failed(reason: str, in_doubt: bool) -> None:
            self._server.counts["in doubt" if in_doubt else "refused on the way"] += 1
            answer(InDoubt(reason) if in_doubt else Refused(reason))

        self._line.ask(lambda: self._server.transact(transaction), answer, failed)

    def read(
        self,
        prefix: str,
        answer: Callable[[Page | Unread], None],
        *,
        after: str = "",
        revision: int = 0,
    ) -> None:
        """Read a page, as it is when etcd gets to it."""
        self._line.ask(
            lambda: self._server.store.read(
                prefix, after=after, revision=revision, limit=self._page_rows
            ),
            answer,
            lambda reason, in_doubt: answer(Unread(reason)),
        )

    def watch(self, prefix: str, after: int, tell: Callable[[News], None]) -> SimulatedWatch:
        """Watch what is under ``prefix``."""
        watch = SimulatedWatch(self._server, self._line, self._inbox, prefix, after, tell)
        self._watches = [other for other in self._watches if not other.over]
        self._watches.append(watch)
        if self._line.cut is Cut.SILENT:
            watch.fall_silent()
        return watch

    def keep_lease(self, ttl_s: int, listener: LeaseListener) -> SimulatedKeeper:
        """Have a lease, and keep it."""
        return SimulatedKeeper(self._server, self._line, self._inbox, ttl_s, listener)

    @property
    def closed(self) -> bool:
        """True once the process is gone."""
        return self._inbox.closed

    def cut(self, cut: Cut) -> None:
        """Be cut off from etcd."""
        self._line.break_off(cut)
        if cut is Cut.SILENT:
            self.silence_watches()
        else:
            self.lose_watches()

    def heal(self) -> None:
        """Be cut off no longer."""
        self._line.heal()
        for watch in self._watches:
            watch.speak()

    def silence_watches(self) -> None:
        """Have all watches say nothing more, as at a member of etcd that is cut off from the
        others. They are ended for that, unless it heals before."""
        for watch in self._watches:
            watch.fall_silent()

    def lose_watches(self) -> None:
        """End all watches: their connection was reset."""
        for watch in self._watches:
            watch.end("connection was reset")

    def pause(self) -> None:
        """Stand still: be told nothing, and renew nothing."""
        self._inbox.pause()

    def resume(self) -> None:
        """Go on, and be told all that has come meanwhile."""
        self._inbox.resume()

    def close(self) -> None:
        """Be gone: be told nothing more. Idempotent."""
        self._inbox.close()
        for watch in self._watches:
            watch.close()
