"""A live broker as a topology file: text that validates, and that plans as nothing to do. Pure.

Retry tiers and parking lots are folded back into ``retry:``, and what delays add into ``delays:``
(:mod:`~mqkit.topology.exporting.delay_fold`), where the declarations are exactly those that the
file would compile to; whatever is not, is written out as plain queues and raw arguments. Each
candidate is proved by compiling it again.

A broker knows the tiers of a retry policy, and not its rules: an export says ``after`` with all of
them, which declares the same, but is no policy to retry by where the file had rules or jitter. A
file that is given for comparison (``like``) is believed where its policy is what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.policy import RetryPolicy
from mqkit.topology.compile import compile_exchange, compile_queues
from mqkit.topology.exporting.delay_fold import fold_delays
from mqkit.topology.exporting.emit import emit, emit_operator_policies
from mqkit.topology.exporting.live_policies import live_policies
from mqkit.topology.exporting.order import in_order
from mqkit.topology.exporting.own_fold import OwnPolicies
from mqkit.topology.file.read import MAX_LENGTH, MAX_PRIORITY, check
from mqkit.topology.file.section import MAX_SHORT_STRING_BYTES
from mqkit.topology.model import (
    Bind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)
from mqkit.topology.planning.diff import canonical
from mqkit.topology.policy.own import own_name
from mqkit.topology.snapshot import Snapshot


def export(snapshot: Snapshot, like: Topology | None = None) -> str:
    """``snapshot`` as YAML text; ``like`` as in :func:`to_topology`.

    A broker may hold what mqkit refuses (a ring of bindings, say): then the faults stand at the top
    of the text as comments, and ``validate`` will report them again. So does what this user may not
    see. Exclusive queues are left out: they belong to a connection. Operator policies, which no
    file sets, stand at the end as comments.
    """
    text = emit(to_topology(snapshot, like))
    _, faults = check(text)
    refused = (" ".join(f"{fault.path}: {fault.message}".split()) for fault in faults)
    remarks = [
        *(f"this export is not complete: {what}" for what in snapshot.unseen),
        *(f"mqkit refuses this: {fault}" for fault in refused),
    ]
    head = "".join(f"# {remark}\n" for remark in remarks)
    return head + text + emit_operator_policies(in_order(snapshot).operator_policies)


_LIMITS = ("x-max-length", "x-max-length-bytes")


@dataclass(frozen=True, slots=True)
class _Broker:
    """The live queues, those that are bound to an exchange, the file that gives names, and
    the policies of queues of their own."""

    queues: Mapping[str, Queue]
    bound: frozenset[str]
    like: Topology
    owns: OwnPolicies


def to_topology(snapshot: Snapshot, like: Topology | None = None) -> Topology:
    """The model that compiles to what ``snapshot`` has.

    ``like`` is a topology that the broker was made from, or something like it: its policies, and
    the names that they give to lots and tiers, are folded back where they are what is there.
    """
    snapshot, delays = fold_delays(in_order(snapshot))
    queues = {
        entry.queue.name: entry.queue for entry in snapshot.queues if not entry.queue.exclusive
    }
    private = {entry.queue.name for entry in snapshot.queues if entry.queue.exclusive}
    bindings = [
        binding
        for binding in snapshot.bindings
        if binding.to_exchange or binding.destination not in private
    ]
    bound = {binding.destination for binding in bindings if not binding.to_exchange}
    broker = _Broker(queues, frozenset(bound), like or Topology(), OwnPolicies(snapshot.policies))
    models = {name: _fold(queue, broker) for name, queue in queues.items()}
    folded = {part for model in models.values() for part in _parts(model, broker)}
    for name, model in models.items():
        parts = _parts(model, broker)
        # A tier that somebody bound to an exchange has to be written out, with the binding.
        if parts & bound or any(models[part].retry for part in parts):
            folded -= parts
            models[name] = _fold(queues[name], broker, retry=False)
    topology = Topology(
        tuple(
            replace(
                _exchange(exchange),
                bind=_binds(bindings, exchange.name, to_exchange=True),
                delays=delays.get(exchange.name, ()),
            )
            for exchange in snapshot.exchanges
        ),
        tuple(
            replace(model, bind=_binds(bindings, name, to_exchange=False))
            for name, model in models.items()
            if name not in folded
        ),
        snapshot.vhost,
    )
    in_queues = {own_name(model.name) for model in topology.queues if model.via_policy}
    policies = tuple(it for it in snapshot.policies if it.name not in in_queues)
    return _with_externals(replace(topology, policies=policies))


def _fold(queue: Queue, broker: _Broker, *, retry: bool = True) -> QueueModel:
    """The model that compiles to what is there: with a retry policy if it may have one and all its
    queues are there, by the model's keys where they say it, else by raw arguments."""
    said = broker.like.queue(queue.name)
    policies = live_policies(queue.name, broker.queues, said.retry if said else None)
    return next(
        (
            model
            for policy in (*(policies if retry else ()), None)
            for form in broker.owns.forms(queue)
            for candidate in _candidates(form.queue, policy)
            for model in (replace(candidate, via_policy=form.via_policy),)
            if _is_whole(model, queue, broker) and broker.owns.proves(model)
        ),
        _raw(queue),
    )


def _is_whole(model: QueueModel, queue: Queue, broker: _Broker) -> bool:
    parts = compile_queues(model)
    folded = _parts(model, broker)
    return all(
        _same(part, queue if part.name == queue.name else broker.queues.get(part.name))
        if part.name in folded or part.name == queue.name
        else part.name in broker.queues
        for part in parts
    )


def _parts(model: QueueModel, broker: _Broker) -> set[str]:
    """The queues that ``retry:`` of ``model`` stands for. A lot with a name of its own is one of
    them only where nothing but the policy speaks of it: else it is written out, and used as it
    is."""
    parts = {part.name: part for part in compile_queues(model) if part.name != model.name}
    lot = model.parking_lot
    if lot in parts and model.retry is not None and model.retry.names.park is not None:
        is_said = broker.like.queue(lot) is not None or lot in broker.bound
        if is_said or not _same(parts[lot], broker.queues.get(lot)):
            del parts[lot]
    return set(parts)


def _candidates(queue: Queue, retry: RetryPolicy | None) -> Iterator[QueueModel]:
    """Models that may compile to ``queue``, the shortest first."""
    arguments = dict(queue.arguments)
    spoken = QueueModel(
        queue.name,
        durable=queue.durable,
        exclusive=queue.exclusive,
        auto_delete=queue.auto_delete,
        type=_member(QueueType, arguments.pop("x-queue-type", None)),
        max_length=_whole(arguments, "x-max-length", 0, MAX_LENGTH),
        max_length_bytes=_whole(arguments, "x-max-length-bytes", 0, MAX_LENGTH),
        overflow=_member(Overflow, arguments.pop("x-overflow", None)),
        message_ttl_ms=_whole(arguments, "x-message-ttl", 0, MAX_DURATION_MS),
        expires_ms=_whole(arguments, "x-expires", 1, MAX_DURATION_MS),
        max_priority=_whole(arguments, "x-max-priority", 1, MAX_PRIORITY),
        dead_letter=_dead_letter(arguments),
        retry=retry,
        arguments=arguments,
    )
    if retry is not None and retry.parks:
        yield replace(spoken, overflow=None, dead_letter=None)
    if spoken.dead_letter is not None:
        yield replace(spoken, overflow=None)
    if not spoken.is_limited or spoken.overflow is not None:
        yield spoken
    elif retry is not None:
        # A queue that was there before its retry policy may say nothing of overflow.
        limits = {name: queue.arguments[name] for name in _LIMITS if name in queue.arguments}
        yield replace(
            spoken, max_length=None, max_length_bytes=None, arguments={**limits, **arguments}
        )


def _raw(queue: Queue) -> QueueModel:
    return QueueModel(
        queue.name,
        durable=queue.durable,
        exclusive=queue.exclusive,
        auto_delete=queue.auto_delete,
        arguments=queue.arguments,
    )


def _exchange(exchange: Exchange) -> ExchangeModel:
    arguments = dict(exchange.arguments)
    alternate = arguments.pop("alternate-exchange", None)
    raw = ExchangeModel(
        exchange.name,
        type=exchange.type,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
        internal=exchange.internal,
        arguments=exchange.arguments,
    )
    spoken = replace(raw, alternate=alternate, arguments=arguments)
    return spoken if _is_name(alternate) and compile_exchange(spoken) == exchange else raw


def _binds(bindings: Iterable[Binding], name: str, *, to_exchange: bool) -> tuple[Bind, ...]:
    return tuple(
        Bind(binding.source, binding.key, binding.arguments)
        for binding in bindings
        if binding.destination == name and binding.to_exchange is to_exchange
    )


def _with_externals(topology: Topology) -> Topology:
    """Add exchanges and queues that are referred to and missing, as external ones: the file is
    complete then."""
    exchanges = {model.name for model in topology.exchanges}
    queues = {part.name for model in topology.queues for part in compile_queues(model)}
    missing_exchanges: dict[str, None] = {}
    missing_queues: dict[str, None] = {}
    for exchange in topology.exchanges:
        alternate = compile_exchange(exchange).arguments.get("alternate-exchange")
        if _is_name(alternate) and alternate not in exchanges:
            missing_exchanges[alternate] = None
    for queue in topology.queues:
        for part in compile_queues(replace(queue, via_policy=())):
            target = part.arguments.get("x-dead-letter-exchange")
            key = part.arguments.get("x-dead-letter-routing-key")
            if target == "" and _is_name(key) and key not in queues:
                missing_queues[key] = None
            elif _is_name(target) and target not in exchanges:
                missing_exchanges[target] = None
    return replace(
        topology,
        exchanges=(
            *topology.exchanges,
            *(
                ExchangeModel(name, external=True)
                for name in missing_exchanges
                if not name.startswith("amq.")
            ),
        ),
        queues=(
            *topology.queues,
            *(QueueModel(name, external=True) for name in missing_queues),
        ),
    )


def _same(declared: Queue, live: Queue | None) -> bool:
    """Equal to the last argument: stricter than a broker, so that nothing is lost in the file."""
    return (
        live is not None
        and replace(declared, arguments={}) == replace(live, arguments={})
        and canonical(declared.arguments) == canonical(live.arguments)
    )


def _whole(arguments: dict[str, Any], name: str, least: int, most: int) -> int | None:
    """Take the argument out if the model's key can say it."""
    value = arguments.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        return None
    del arguments[name]
    return value


def _member(kind: Any, value: object) -> Any:
    """The member of an enumeration; ``None`` for what it has not (the candidate then fails)."""
    return kind(value) if isinstance(value, str) and value in set(map(str, kind)) else None


def _dead_letter(arguments: dict[str, Any]) -> DeadLetter | None:
    exchange = arguments.get("x-dead-letter-exchange")
    key = arguments.get("x-dead-letter-routing-key")
    if not (exchange == "" or _is_name(exchange)) or not (key in (None, "") or _is_name(key)):
        return None
    arguments.pop("x-dead-letter-exchange")
    arguments.pop("x-dead-letter-routing-key", None)
    return DeadLetter(str(exchange), key)


def _is_name(value: object) -> TypeGuard[str]:
    return (
        isinstance(value, str)
        and value != ""
        and len(value.encode("utf-8", "surrogatepass")) <= MAX_SHORT_STRING_BYTES
    )
