"""Definitions in the journal: what is defined is a record, and holds once it is on disk."""

from __future__ import annotations

from reference_broker.core.channel.confirms import ConfirmLedger
from reference_broker.core.journal.definition_store import Change, JournalDefinitions
from reference_broker.testing.recording_journal import RecordingJournal


def test_what_is_defined_is_in_the_journal_and_waits_for_its_disk() -> None:
    journal = RecordingJournal()
    definitions, ledger = JournalDefinitions(journal), ConfirmLedger(journal)
    assert ledger.is_over(definitions.wait())
    definitions.agree((Change("queue/%2F/q", b"wanted"), Change("exchange/%2F/x", None)))
    definitions.forget("queue/%2F/old")
    assert journal.records == [
        ("define", "queue/%2F/q", b"wanted"),
        ("define", "exchange/%2F/x", None),
        ("define", "queue/%2F/old", None),
    ]
    wait = definitions.wait()
    assert (wait.position, wait.marks, ledger.is_over(wait)) == (journal.tail, (), False)
    journal.synced = journal.tail
    assert ledger.is_over(wait)
