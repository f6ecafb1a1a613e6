"""Everything that an application declared, with its exact parameters: declared again after a
reconnect.

The order is always exchanges, queues, bindings. An exclusive queue, and one that the broker
named, gets a fresh name unless it is still there: the connection that owned the old one may still
live at the broker, which would refuse the old name (405 RESOURCE_LOCKED). The program goes on using
the name that it first gave; see :meth:`TopologyCache.current_name`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import BrokerError, ChannelError, ConfigurationError, ConnectionRefused
from mqkit.topology.planning.diff import Key, differences_between, key_of
from mqkit.topology.planning.quarantine import DECLARATION_REFUSED, Quarantined
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel, is_missing

_ORDER = (Exchange, Queue, Binding)


@dataclass(frozen=True, slots=True)
class Redeclared:
    """The result of one pass of declaring: how many objects are declared now, which were refused,
    and which exchanges and queues had not been there, where the pass asked."""

    declared: int
    quarantined: tuple[Quarantined, ...]
    missing: tuple[Exchange | Queue, ...] = ()


@dataclass(slots=True)
class TopologyCache:
    """Add declarations, then :meth:`declare_all` after every connect. Not for several tasks at
    once."""

    _entries: dict[Key, Declaration] = field(default_factory=dict)
    _server_named: set[str] = field(default_factory=set)
    _current_names: dict[str, str] = field(default_factory=dict)
    _quarantine: dict[Key, Quarantined] = field(default_factory=dict)
    _fatal: set[Key] = field(default_factory=set)

    def add(self, declarations: Iterable[Declaration]) -> None:
        """Remember ``declarations``; nothing is sent. What is there already is left as it is.

        Raises :exc:`~mqkit.errors.ConfigurationError`, and adds none of them, if one is there with
        other parameters: the broker would refuse one of the two.
        """
        added: dict[Key, Declaration] = {}
        for declaration in declarations:
            if isinstance(declaration, Queue) and not declaration.name:
                raise ConfigurationError("a queue without a name: add it with add_server_named()")
            key = key_of(declaration)
            known = self._entries.get(key) or added.get(key)
            if known is not None and (found := differences_between(declaration, known)):
                raise ConfigurationError(
                    f"{key[0]} {key[1]!r} is declared twice: {'; '.join(map(str, found))}"
                )
            added.setdefault(key, declaration)
        for key, declaration in added.items():
            self._entries.setdefault(key, declaration)

    def add_server_named(self, name: str, queue: Queue) -> None:
        """Remember a queue that the broker will name. ``name`` is what this program, and the
        bindings that it adds, call it; ``queue.name`` must be empty."""
        if queue.name or not name:
            raise ConfigurationError(
                "a server-named queue has no name but the program's own for it"
            )
        self.add([replace(queue, name=name)])
        self._server_named.add(name)

    def forget(self, declaration: Declaration) -> None:
        """Do not declare it again, nor what is bound to it. Idempotent; nothing is deleted."""
        gone = key_of(declaration)
        for key in [gone, *(key for key in self._entries if _hangs_on(key, gone))]:
            self._entries.pop(key, None)
            self._quarantine.pop(key, None)
            self._fatal.discard(key)
        if isinstance(declaration, Queue):
            self._server_named.discard(declaration.name)
            self._current_names.pop(declaration.name, None)

    def current_name(self, queue: str) -> str:
        """The name that the broker has for ``queue`` now; the same name but for exclusive and
        server-named queues."""
        return self._current_names.get(queue, queue)

    def refusal_of(self, queue: str) -> BrokerError | None:
        """The broker's refusal of the server-named ``queue``, or of a binding to it, at the last
        pass. One that exists and is not bound gets nothing, and nobody else can bind it."""
        if queue not in self._server_named:
            return None
        for refused in self._quarantine.values():
            match refused.declaration:
                case Queue(name=name) | Binding(destination=name, to_exchange=False):
                    if name == queue:
                        return refused.error
        return None

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """Everything remembered, in the order of declaring."""
        return tuple(
            declaration
            for kind in _ORDER
            for declaration in self._entries.values()
            if isinstance(declaration, kind)
        )

    @property
    def declarable(self) -> tuple[Declaration, ...]:
        """:attr:`declarations` without those for which the broker closed the connection."""
        return tuple(item for item in self.declarations if key_of(item) not in self._fatal)

    @property
    def quarantined(self) -> tuple[Quarantined, ...]:
        """The declarations that the broker refused at the last pass."""
        return tuple(self._quarantine.values())

    async def declare_all(
        self, open_channel: OpenChannel, *, ask_first: bool = False
    ) -> Redeclared:
        """Declare everything, in order; what is refused is put aside and the rest goes on. With
        ``ask_first`` each exchange and queue is asked for before, which is one more question each.

        What was put aside is tried again at the next call, since somebody may have repaired it,
        unless the broker closed the whole connection for it. That error, and a lost connection, is
        raised: connect again and call again.
        """
        declared = 0
        missing: list[Exchange | Queue] = []
        async with ThrowAwayChannel(open_channel) as channel:
            for declaration in self.declarations:
                key = key_of(declaration)
                if key in self._fatal:
                    continue
                await channel.ready()
                try:
                    is_new = ask_first and await self._is_missing(declaration, channel)
                    await self._declare(declaration, channel)
                except ChannelError as error:
                    self._quarantine[key] = Quarantined.of(declaration, error)
                except ConnectionRefused as error:
                    if error.reply_code in DECLARATION_REFUSED:
                        self._quarantine[key] = Quarantined.of(declaration, error)
                        self._fatal.add(key)
                    raise
                else:
                    declared += 1
                    self._quarantine.pop(key, None)
                    if is_new and not isinstance(declaration, Binding):
                        missing.append(declaration)
        return Redeclared(declared, self.quarantined, tuple(missing))

    async def _declare(self, declaration: Declaration, channel: ThrowAwayChannel) -> None:
        match declaration:
            case Queue(name=name) if declaration.exclusive or name in self._server_named:
                if await self._is_there(name, channel):
                    return
                fresh = name in self._server_named or name in self._current_names
                asked = replace(declaration, name="") if fresh else declaration
                # Noted before the answer: if the link breaks now, the name may be taken.
                if name not in self._server_named:
                    self._current_names.setdefault(name, name)
                state = await channel.declare(asked)
                assert state is not None
                self._current_names[name] = state.name
            case Binding(destination=name, to_exchange=False):
                await channel.declare(replace(declaration, destination=self.current_name(name)))
            case _:
                await channel.declare(declaration)

    async def _is_missing(self, declaration: Declaration, channel: ThrowAwayChannel) -> bool:
        """True if the broker has no such exchange or queue; false for a queue of this connection
        alone, which nobody else can delete."""
        if isinstance(declaration, Binding) or (
            isinstance(declaration, Queue)
            and (declaration.exclusive or declaration.name in self._server_named)
        ):
            return False
        return await is_missing(declaration, channel)

    async def _is_there(self, name: str, channel: ThrowAwayChannel) -> bool:
        """True if the queue lives on under its current name. Then the connection is the same, and a
        fresh queue beside it would fill up with nobody to read it."""
        current = self._current_names.get(name)
        if current is None:
            return False
        try:
            await channel.run(lambda on: on.declare_queue(Queue(current), passive=True))
        except ChannelError:  # 404: gone; 405: it is the old connection's
            return False
        return True


def _hangs_on(key: Key, gone: Key) -> bool:
    """True if ``key`` is a binding from or to the object ``gone``."""
    if key[0] != "binding":
        return False
    _, source, kind, destination, *_ = key
    return gone in (("exchange", source), (kind, destination))
