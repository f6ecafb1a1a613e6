"""Exchanges, queues and bindings of one vhost by name, from a file or from a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.compile import compile_topology
from mqkit.topology.model import Topology
from mqkit.topology.policy.comparing import PolicySet
from mqkit.topology.policy.own import compile_policies
from mqkit.topology.snapshot import LiveQueue, Snapshot
from mqkit.topology.wiring.arguments import arguments_in_force
from mqkit.topology.wiring.parts import Part, parts_by_name, parts_in_file


@dataclass(frozen=True, slots=True)
class Wiring:
    """The objects, with their arguments in force.

    ``external_exchanges`` and ``external_queues`` are in a file by name alone. An exchange that is
    ``bound_besides`` has bindings to queues that the broker has named. ``counts`` is empty for a
    file.
    """

    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    bindings: tuple[Binding, ...] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)
    external_exchanges: frozenset[str] = frozenset()
    external_queues: frozenset[str] = frozenset()
    bound_besides: frozenset[str] = frozenset()
    counts: Mapping[str, LiveQueue] = field(default_factory=dict)
    vhost: str = "/"

    @classmethod
    def of_topology(cls, topology: Topology) -> Wiring:
        """Everything that the file declares or names."""
        policies = PolicySet(compile_policies(topology))
        built = cls._of(compile_topology(topology), policies)
        return replace(
            built,
            parts=parts_in_file(topology),
            external_exchanges=frozenset(it.name for it in topology.exchanges if it.external),
            external_queues=frozenset(it.name for it in topology.queues if it.external),
            vhost=topology.vhost or "/",
        )

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot, parts: Mapping[str, Part] | None = None) -> Wiring:
        """Everything that the broker has. ``parts`` are those that a file names: what it says
        goes before the form of a name. Exclusive queues are their connections' own business."""
        shared = [live for live in snapshot.queues if not live.queue.exclusive]
        private = {live.queue.name for live in snapshot.queues if live.queue.exclusive}
        kept, also = [], set()
        for binding in snapshot.bindings:
            if binding.to_exchange or binding.destination not in private:
                kept.append(binding)
            else:
                also.add(binding.source)
        policies = PolicySet(snapshot.policies, snapshot.operator_policies)
        built = cls._of((*snapshot.exchanges, *(live.queue for live in shared), *kept), policies)
        return replace(
            built,
            parts={**parts_by_name(built.queues), **(parts or {})},
            bound_besides=snapshot.bound_besides | also,
            counts={live.queue.name: live for live in shared},
            vhost=snapshot.vhost,
        )

    @classmethod
    def _of(cls, declarations: Iterable[Declaration], policies: PolicySet) -> Wiring:
        exchanges: dict[str, Exchange] = {}
        queues: dict[str, Queue] = {}
        bindings: list[Binding] = []
        for item in declarations:
            match item:
                case Exchange():
                    exchanges[item.name] = replace(
                        item, arguments=arguments_in_force(item, policies)
                    )
                case Queue():
                    queues[item.name] = replace(item, arguments=arguments_in_force(item, policies))
                case Binding():
                    bindings.append(item)
        return cls(exchanges, queues, tuple(bindings))

    def counted_by(self, snapshot: Snapshot | None) -> Wiring:
        """The same objects, with the counts that a broker has of them."""
        live = () if snapshot is None else snapshot.queues
        return replace(self, counts={it.queue.name: it for it in live})

    def messages_in(self, queue: str) -> int | None:
        """The messages in a live queue; ``None`` where that is not known."""
        live = self.counts.get(queue)
        return None if live is None else live.messages

    def consumers_of(self, queue: str) -> int | None:
        """The consumers of a live queue; ``None`` where that is not known."""
        live = self.counts.get(queue)
        return None if live is None else live.consumers
