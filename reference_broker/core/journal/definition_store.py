"""The definition store: the core's port to where definitions are kept (virtual hosts, users,
exchanges, queues, bindings, policies), by :mod:`definition_keys`.

A broker on its own has them in its log, with the messages. What belongs to a queue's messages, as
delivery counts do, is not a definition, and is in the log wherever definitions are.
"""

from __future__ import annotations

from typing import Protocol

from reference_broker.core.journal.journal import Journal
from reference_broker.core.journal.watermark import Wait


class DefinitionStore(Protocol):
    """The keeper of definitions."""

    def define(self, key: str, value: bytes | None) -> None:
        """Keep ``value`` under ``key``; ``None`` deletes it."""
        ...

    def wait(self) -> Wait:
        """The wait after which a client may be told that everything defined so far holds: hand it
        to :meth:`~reference_broker.core.channel.confirms.ConfirmLedger.promise`."""
        ...


class JournalDefinitions:
    """Definitions in the journal: they hold once it is synced."""

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def define(self, key: str, value: bytes | None) -> None:
        self._journal.define(key, value)

    def wait(self) -> Wait:
        return Wait(self._journal.tail)
