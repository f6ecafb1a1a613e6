"""The definition store: the core's port to where definitions are kept (virtual hosts, users,
exchanges, queues, bindings, policies), by :mod:`definition_keys`.

A broker on its own has them in its log, with the messages. The nodes of a cluster agree on them.
What belongs to a queue's messages, as delivery counts do, is not a definition, and is in the log
wherever definitions are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from reference_broker.core.journal.journal import Journal
from reference_broker.core.journal.watermark import Wait


class Change(NamedTuple):
    """A definition that is made, changed or deleted: ``value`` is ``None`` then.

    ``speaks_of`` are the keys of other definitions that have to be there for it, as a binding's two
    ends have to; ``with_node`` is true for an object that ends with the node that has it, as an
    exclusive queue does.
    """

    key: str
    value: bytes | None
    speaks_of: tuple[str, ...] = ()
    with_node: bool = False


class DefinitionStore(Protocol):
    """The keeper of definitions.

    Where they are ``shared``, other nodes define, too; so objects that end with a connection or a
    restart are definitions as well, and it is the store that has objects made and ended.
    """

    @property
    def shared(self) -> bool:
        """False for a broker on its own."""
        ...

    def agree(self, changes: Iterable[Change]) -> None:
        """Keep all of these changes, or none. To be called when the checks have passed and nothing
        was changed; when it returns, make in memory what it is about.

        Raises :exc:`~reference_broker.core.work.until.NotYet` where they are shared: the request is
        handled again, from its checks, when the others have been asked. By then the object is
        there, or gone, if they have agreed. Raises :exc:`AmqpError` for what no store takes.
        """
        ...

    def forget(self, key: str) -> None:
        """Delete the definition of what is gone because something else is: a binding of a queue
        that is deleted. Nobody waits for it, and a restart would do the same."""
        ...

    def retire(self, key: str) -> None:
        """Have an auto-delete exchange be deleted that has lost its last binding with what it led
        to. Where definitions are shared that is later, and not if it is bound again before."""
        ...

    def wait(self) -> Wait:
        """The wait after which a client may be told that everything defined so far holds: hand it
        to :meth:`~reference_broker.core.channel.confirms.ConfirmLedger.promise`."""
        ...

    def wait_for(self, key: str) -> Wait:
        """The wait after which a client who only asked may be told that the definition, which this
        node has, is there: it is there for all nodes then, and need not be on disk."""
        ...


class JournalDefinitions:
    """Definitions in the journal: they hold once it is synced."""

    __slots__ = ("_journal",)

    shared = False

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def agree(self, changes: Iterable[Change]) -> None:
        define = self._journal.define
        for change in changes:
            define(change.key, change.value)

    def forget(self, key: str) -> None:
        self._journal.define(key, None)

    def retire(self, key: str) -> None:
        self._journal.define(key, None)

    def wait(self) -> Wait:
        return Wait(self._journal.tail)

    def wait_for(self, key: str) -> Wait:
        return Wait(0)
