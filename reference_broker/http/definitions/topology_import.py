"""Import of a file's exchanges, queues and bindings: all are checked, then all are declared.

The check is a rehearsal. Everything is declared first in a virtual host that nobody sees, beside
copies of the objects that the file speaks about, by the very code that declares it in the real one
afterwards: what was right there can't be refused here, and an intermediate state is never seen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.moment import Moment
from reference_broker.core.base.names import cleaned
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.topology_bounds import TopologyBounds
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import AmqpError
from reference_broker.http.definitions.file import (
    BindingItem,
    DefinitionsFile,
    ExchangeItem,
    Faults,
    QueueItem,
)
from reference_broker.http.request.json_value import json_value

_BindingForm: TypeAlias = tuple[str, bool, str, str, str]
"""A binding in the form that a file has: JSON does not keep all types of its arguments."""

_UNBOUNDED = TopologyBounds(sys.maxsize, sys.maxsize, sys.maxsize)

_Item = TypeVar("_Item", ExchangeItem, QueueItem, BindingItem)


class TopologyImport:
    """One file on its way into ``vhosts``: ask for :attr:`faults`, and call :meth:`apply` if there
    are none. Nothing else may happen to the virtual hosts in between."""

    def __init__(self, file: DefinitionsFile, vhosts: Mapping[str, VHost]) -> None:
        self._file = file
        self._stages = {name: _Stage(vhost) for name, vhost in vhosts.items()}
        self.faults: Faults = list(file.faults)
        self._rehearse(file.exchanges, _Stage.rehearse_exchange)
        self._rehearse(file.queues, _Stage.rehearse_queue)
        self._rehearse(file.bindings, _Stage.rehearse_binding)
        for stage in self._stages.values():
            self.faults += stage.faults_of_size()

    def apply(self, vhosts: Mapping[str, VHost]) -> None:
        """Declare everything: exchanges, queues, bindings. Objects that are there already stay as
        they are. ``vhosts`` are those of before, and in place of stand-ins those that were made
        since."""
        for exchange in self._file.exchanges:
            _declare_exchange(vhosts[exchange.vhost], exchange)
        for queue in self._file.queues:
            _declare_queue(vhosts[queue.vhost], queue)
        for binding in self._file.bindings:
            if not self._stages[binding.vhost].has_in_other_types(binding):
                _bind(vhosts[binding.vhost], binding)

    def _rehearse(self, items: Iterable[_Item], rehearse: Callable[[_Stage, _Item], None]) -> None:
        for item in items:
            stage = self._stages.get(item.vhost)
            if stage is None:
                self.faults.append(f"{item.label}: there is no vhost {item.vhost!r}")
                continue
            try:
                rehearse(stage, item)
            except AmqpError as error:
                self.faults.append(f"{item.label}: {error.reply_text}")


class _Stage:
    """A virtual host and its stand-in. The stand-in has what the file declares, and of the ``real``
    one's objects those that the file names."""

    def __init__(self, real: VHost) -> None:
        self.real = real
        self._stand_in = VHost(
            real.name,
            journal=MemoryJournal(),
            moment=Moment(),
            deadlines=Deadlines(),
            ids=Ids(0),
            bounds=_UNBOUNDED,
        )
        self._forms = {
            _form(binding)
            for exchange in real.exchanges.values()
            for binding in exchange.bindings.values()
            if binding.arguments
        }

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

    def faults_of_size(self) -> Faults:
        """A fault for each bound of the virtual host that the new objects would cross."""
        real, bounds = self.real, self.real.bounds
        bindings = sum(len(exchange.bindings) for exchange in real.exchanges.values())
        for exchange in self._stand_in.exchanges.values():
            known = (
                real.exchanges[exchange.name].bindings if exchange.name in real.exchanges else {}
            )
            bindings += sum(identity not in known for identity in exchange.bindings)
        counts = (
            ("queues", len({**real.queues, **self._stand_in.queues}), bounds.max_queues),
            (
                "exchanges",
                len({**real.exchanges, **self._stand_in.exchanges}),
                bounds.max_exchanges,
            ),
            ("bindings", bindings, bounds.max_bindings),
        )
        return [
            f"vhost {real.name!r}: it would have {count} {kind}, and {most} is the most"
            for kind, count, most in counts
            if count > most
        ]

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
