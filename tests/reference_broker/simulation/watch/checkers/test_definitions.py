from __future__ import annotations

import pytest

from reference_broker.simulation.events import definitions
from reference_broker.simulation.events.definitions import Declaration, Definitions
from reference_broker.simulation.events.events import BitRot, Removal, RemovalKind
from reference_broker.simulation.watch.checkers import DefinitionsChecker, Violation

QUEUE = definitions.queue("q", {}, durable=True)
THERE: Definitions = {QUEUE.key: QUEUE}


def checker(*, answered: bool = True) -> DefinitionsChecker:
    """A checker that was told of a declaration."""
    made = DefinitionsChecker()
    declaration = Declaration(QUEUE)
    made.declaration_sent(declaration)
    if answered:
        made.declared(declaration)
    return made


def test_a_declaration_that_was_answered_holds() -> None:
    checker().definitions_found(THERE)
    checker().definitions_seen(THERE)
    for look in (checker().definitions_found, checker().definitions_seen):
        with pytest.raises(Violation, match="definitions: queue 'q' is gone"):
            look({})
    checker(answered=False).definitions_found({})


def test_a_deletion_that_was_answered_holds_and_a_purge_deletes_nothing() -> None:
    told = checker()
    for kind in (RemovalKind.PURGE, RemovalKind.DELETE):
        told.definitions_seen(THERE)
        removal = Removal(kind, "q", 1, 1)
        told.removal_sent(removal)
        told.removed(removal)
    told.definitions_seen({})
    with pytest.raises(Violation, match="definitions"):
        told.definitions_found(THERE)


@pytest.mark.parametrize("rebuilt", [{}, {QUEUE.key: QUEUE._replace(value=(True, ()))}])
def test_the_disk_has_what_the_broker_has(rebuilt: Definitions) -> None:
    DefinitionsChecker().definitions_compared(THERE, THERE, "footers")
    for ours, found in ((THERE, rebuilt), (rebuilt, THERE)):
        with pytest.raises(Violation, match="in a rebuild from footers"):
            DefinitionsChecker().definitions_compared(ours, found, "footers")


def test_a_flipped_bit_excuses_what_it_may_have_damaged() -> None:
    told = checker()
    told.bit_flipped(BitRot("file", (1,), speaks=False, defines=False, stamp=1))
    with pytest.raises(Violation, match="definitions"):
        told.definitions_found({})
    told.bit_flipped(BitRot("file", (), speaks=False, defines=True, stamp=2))
    told.definitions_found({})
