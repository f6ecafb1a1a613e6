"""Import of a file's exchanges, queues and bindings: all are checked, then all are declared.

The check is a rehearsal. Everything is declared first in a virtual host that nobody sees, beside
copies of the objects that the file speaks about, by the very code that declares it in the real one
afterwards: what was right there can't be refused here, and an intermediate state is never seen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from reference_broker.core.base.ids import Ids
from reference_broker.core.base.names import RESERVED_PREFIX, cleaned
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.topology_bounds import TopologyBounds
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.task import agreed, at_once
from reference_broker.errors import AmqpError, NotAgreed
from reference_broker.http.definitions.file import (
    MADE_AT_ONCE,
    BindingItem,
    DefinitionsFile,
    ExchangeItem,
    Faults,
    Making,
    QueueItem,
    Steps,
)
from reference_broker.http.request.json_value import json_value

_BindingForm: TypeAlias = tuple[str, bool, str, str, str]
"""A binding in the form that a file has: JSON does not keep all types of its arguments."""

_UNBOUNDED = TopologyBounds(sys.maxsize, sys.maxsize, sys.maxsize)

_Item = TypeVar("_Item", ExchangeItem, QueueItem, BindingItem)


class TopologyImport:
    """One file on its way into ``vhosts``: take the steps of :meth:`rehearse`, ask for
    :attr:`faults`, and take those of :meth:`apply` if there are none; those of :meth:`release` in
    any case. Nothing else may happen to the virtual hosts between the first step of the rehearsal
    and the first one of the import, and nobody declares there from then on. What goes by itself
    between two steps of the import (a queue that expires) is gone: ``overtaken`` names what could
    not be declared for that."""

    def __init__(self, file: DefinitionsFile, vhosts: Mapping[str, VHost]) -> None:
        self._file = file
        self._vhosts = vhosts
        self._stages: dict[str, _Stage] = {}
        self.faults: Faults = []
        self.overtaken: list[str] = []
        self.done = 0
        """The number of items that were taken: they are there now, or can't be any more."""
        self.vhost_names: dict[str, None] = {}
        """The virtual hosts that the items name, whether they are there or not."""

    def rehearse(self) -> Steps:
        """Declare everything in stand-ins."""
        file = self._file
        self.faults += file.faults
        yield from self._each(file.exchanges, _Stage.rehearse_exchange)
        yield from self._each(file.queues, _Stage.rehearse_queue)
        for stage in self._stages_of(file.bindings):
            yield from stage.read_forms()
        yield from self._each(file.bindings, _Stage.rehearse_binding)
        for stage in self._stages.values():
            yield from stage.measure(self.faults)

    def apply(self, vhosts: Mapping[str, VHost]) -> Making:
        """Declare everything: exchanges, queues, bindings. Objects that are there already stay as
        they are. ``vhosts`` are those of before, and in place of stand-ins those that were made
        since."""
        yield from self._declared(self._file.exchanges, vhosts, _declare_exchange)
        yield from self._declared(self._file.queues, vhosts, _declare_queue)
        yield from self._declared(self._file.bindings, vhosts, self._bind)

    def release(self) -> Steps:
        """Let go of the stand-ins, which may be as large as the virtual hosts themselves."""
        for stage in self._stages.values():
            yield from stage.release()

    def _each(self, items: Iterable[_Item], rehearse: Callable[[_Stage, _Item], None]) -> Steps:
        for item in items:
            yield
            self.vhost_names[item.vhost] = None
            stage = self._stage(item.vhost)
            if stage is None:
                self.faults.append(f"{item.label}: there is no vhost {item.vhost!r}")
                continue
            try:
                rehearse(stage, item)
            except AmqpError as error:
                self.faults.append(f"{item.label}: {error.reply_text}")

    def _stage(self, vhost: str) -> _Stage | None:
        stage = self._stages.get(vhost)
        if stage is None and vhost in self._vhosts:
            stage = self._stages[vhost] = _Stage(self._vhosts[vhost])
        return stage

    def _stages_of(self, bindings: Iterable[BindingItem]) -> list[_Stage]:
        """The stages of bindings with arguments."""
        names = dict.fromkeys(binding.vhost for binding in bindings if binding.arguments)
        return [stage for name in names if (stage := self._stage(name)) is not None]

    def _declared(
        self,
        items: Iterable[_Item],
        vhosts: Mapping[str, VHost],
        declare: Callable[[VHost, _Item], None],
    ) -> Making:
        each = (self._one(item, vhosts.get(item.vhost), declare) for item in items)
        return at_once(each, MADE_AT_ONCE)

    def _one(
        self, item: _Item, vhost: VHost | None, declare: Callable[[VHost, _Item], None]
    ) -> Making:
        try:
            if vhost is None:
                self.overtaken.append(f"{item.label}: there is no vhost {item.vhost!r}")
            else:
                yield from agreed(partial(declare, vhost, item))
        except NotAgreed:
            raise
        except AmqpError as error:
            self.overtaken.append(f"{item.label}: {error.reply_text}")
        self.done += 1
        yield None

    def _bind(self, vhost: VHost, item: BindingItem) -> None:
        if not self._stages[item.vhost].has_in_other_types(item):
            _bind(vhost, item)


class _Stage:
    """A virtual host and its stand-in. The stand-in has what the file declares, and of the ``real``
    one's objects those that the file names."""

    def __init__(self, real: VHost) -> None:
        self.real = real
        self._stand_in = VHost(real.name, VHostParts(MemoryJournal(), Ids(0)), bounds=_UNBOUNDED)
        self._forms: set[_BindingForm] = set()

    def read_forms(self) -> Steps:
        """Note the bindings with arguments that there are."""
        for exchange in list(self.real.exchanges.values()):
            for binding in list(exchange.bindings.values()):
                if binding.arguments:
                    self._forms.add(_form(binding))
                yield
            yield

    def rehearse_exchange(self, item: ExchangeItem) -> None:
        self._bring_exchange(item.name)
        _declare_exchange(self._stand_in, item)

    def rehearse_queue(self, item: QueueItem) -> None:
        self._bring_queue(item.name)
        _declare_queue(self._stand_in, item)

    def rehearse_binding(self, item: BindingItem) -> None:
        self._bring_exchange(item.source)
        if item.destination_is_queue:
            self._bring_queue(item.destination)
        else:
            self._bring_exchange(item.destination)
        if not self.has_in_other_types(item):
            _bind(self._stand_in, item)

    def has_in_other_types(self, item: BindingItem) -> bool:
        """True if the binding is there, but for types of arguments that JSON doesn't have: an
        export of this broker must not double it."""
        return bool(item.arguments) and _form(item) in self._forms

    def measure(self, faults: Faults) -> Steps:
        """Adds a fault for each bound of the virtual host that the new objects would cross."""
        real, bounds = self.real, self.real.bounds
        bindings = 0
        for exchange in list(real.exchanges.values()):
            bindings += len(exchange.bindings)
            yield
        for exchange in self._stand_in.exchanges.values():
            known = (
                real.exchanges[exchange.name].bindings if exchange.name in real.exchanges else {}
            )
            for identity in exchange.bindings:
                bindings += identity not in known
                yield
        counts = (
            ("queues", len({**real.queues, **self._stand_in.queues}), bounds.max_queues),
            (
                "exchanges",
                len({**real.exchanges, **self._stand_in.exchanges}),
                bounds.max_exchanges,
            ),
            ("bindings", bindings, bounds.max_bindings),
        )
        faults += [
            f"vhost {real.name!r}: it would have {count} {kind}, and {most} is the most"
            for kind, count, most in counts
            if count > most
        ]

    def release(self) -> Steps:
        """Delete what was rehearsed: all of it at once would be a long turn."""
        for queue in list(self._stand_in.queues.values()):
            self._stand_in.delete_queue(queue.name, owner=queue.owner)
            yield
        for exchange in list(self._stand_in.exchanges.values()):
            if not exchange.name.startswith(RESERVED_PREFIX) and exchange.name:
                self._stand_in.delete_exchange(exchange.name)
            yield

    def _bring_exchange(self, name: str) -> None:
        found = self.real.exchanges.get(cleaned(name))
        if found is not None and found.name not in self._stand_in.exchanges:
            self._stand_in.declare_exchange(
                found.name,
                found.type,
                durable=found.durable,
                auto_delete=found.auto_delete,
                internal=found.internal,
                arguments=found.arguments,
            )

    def _bring_queue(self, name: str) -> None:
        found = self.real.queues.get(cleaned(name))
        if found is not None and found.name not in self._stand_in.queues:
            self._stand_in.declare_queue(
                found.name,
                durable=found.durable,
                exclusive=found.owner is not None,
                auto_delete=found.auto_delete,
                arguments=found.arguments,
                owner=found.owner,
            )


def _declare_exchange(vhost: VHost, item: ExchangeItem) -> None:
    vhost.declare_exchange(
        item.name,
        item.type,
        durable=item.durable,
        auto_delete=item.auto_delete,
        internal=item.internal,
        arguments=item.arguments,
    )


def _declare_queue(vhost: VHost, item: QueueItem) -> None:
    vhost.declare_queue(
        item.name, durable=item.durable, auto_delete=item.auto_delete, arguments=item.arguments
    )


def _bind(vhost: VHost, item: BindingItem) -> None:
    vhost.bind(
        item.source,
        item.destination,
        item.key,
        item.arguments,
        destination_is_queue=item.destination_is_queue,
    )


def _form(binding: Binding | BindingItem) -> _BindingForm:
    arguments: dict[str, Any] = json_value(binding.arguments)
    return (
        cleaned(binding.source),
        binding.destination_is_queue,
        cleaned(binding.destination),
        binding.key,
        json.dumps(arguments, sort_keys=True),
    )
