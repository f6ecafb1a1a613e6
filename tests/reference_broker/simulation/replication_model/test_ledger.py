from __future__ import annotations

import pytest

from reference_broker.simulation.replication_model.key import Copy
from reference_broker.simulation.replication_model.ledger import Ledger, Op, Violation

A, B = Copy(0, 0), Copy(1, 0)
LOG = [Op(1, 0), Op(1, 1), Op(1, 2)]


@pytest.fixture
def ledger() -> Ledger:
    """One in which the first two operations are committed."""
    ledger = Ledger()
    ledger.elected(1, A, [])
    ledger.commit(LOG, 2)
    return ledger


def test_what_has_all_that_was_committed_is_fine(ledger: Ledger) -> None:
    ledger.commit(LOG, 1)
    ledger.commit(LOG, 3)
    ledger.elected(2, B, LOG)
    ledger.stays([*LOG, Op(2, 0)])
    assert ledger.committed == LOG


def test_a_leader_without_it_is_found(ledger: Ledger) -> None:
    with pytest.raises(Violation, match="a leader lacks"):
        ledger.elected(2, B, LOG[:1])


def test_a_member_without_it_is_found(ledger: Ledger) -> None:
    with pytest.raises(Violation, match="a member"):
        ledger.stays([Op(1, 0), Op(2, 0)])


def test_another_history_is_found(ledger: Ledger) -> None:
    with pytest.raises(Violation, match="two histories"):
        ledger.commit([Op(1, 0), Op(2, 0)], 2)


def test_two_leaders_of_an_epoch_are_found(ledger: Ledger) -> None:
    with pytest.raises(Violation, match="two leaders"):
        ledger.elected(1, B, LOG)


def test_a_leader_that_falls_behind_its_own_log_is_found(ledger: Ledger) -> None:
    with pytest.raises(Violation, match="or of a later one"):
        ledger.elected(2, B, [*LOG, Op(3, 0)])
