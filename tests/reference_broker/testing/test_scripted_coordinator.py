"""scripted_coordinator: it answers nothing by itself, and everything once."""

from __future__ import annotations

from typing import Any

from reference_broker.cluster.coordinator import Outcome, Page, Progressed, Put, Transaction, Won
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator


def test_a_proposal_waits_for_its_answer() -> None:
    etcd, outcomes = ScriptedCoordinator(), list[Outcome]()
    transaction = Transaction((), (Put("k", b"v"),))
    etcd.propose(transaction, outcomes.append)
    assert outcomes == []
    assert etcd.answer(Won(3)) == transaction
    assert outcomes == [Won(3)]
    assert not etcd.asked


def test_a_read_waits_for_its_page() -> None:
    etcd, pages = ScriptedCoordinator(), list[Any]()
    etcd.read("/p/", pages.append, after="/p/a", revision=4)
    read = etcd.answer_read(Page((), 4, False))
    assert (read.prefix, read.after, read.revision) == ("/p/", "/p/a", 4)
    assert pages == [Page((), 4, False)]


def test_a_watch_and_a_lease_are_the_tests_own() -> None:
    etcd, news = ScriptedCoordinator(), list[Any]()
    etcd.watch("/p/", 5, news.append).close()
    assert (etcd.watches[0].after, etcd.watches[0].is_closed) == (5, True)
    etcd.watches[0].tell(Progressed(6))
    assert news == [Progressed(6)]

    class Listener:
        def lease_granted(self, lease: int) -> None:
            news.append(lease)

        def lease_ended(self, lease: int) -> None:
            news.append(-lease)

    etcd.keep_lease(5, Listener()).release()
    etcd.leases[0].listener.lease_granted(7)
    assert (news[-1], etcd.leases[0].ttl_s, etcd.leases[0].is_released) == (7, 5, True)
