"""Cycles in a topology: ways on which a message would go round, or be dropped for going round.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mqkit.declaration import Queue
from mqkit.topology.compile import owned_queues
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import segment
from mqkit.topology.model import ExchangeModel, QueueModel, Topology

Graph = Mapping[str, tuple[str, ...]]


def find_cycles(graph: Graph) -> list[tuple[str, ...]]:
    """One cycle for each knot of the graph, as the names on it, in the order of the graph.

    Iterative, since a chain may be as long as the file.
    """
    state: dict[str, bool] = {}  # False while on the path, True when done
    cycles: list[tuple[str, ...]] = []
    for start in graph:
        if start in state:
            continue
        path = [start]
        ways = [iter(graph[start])]
        state[start] = False
        while path:
            following = next(ways[-1], None)
            if following is None:
                state[path.pop()] = True
                ways.pop()
            elif following not in state:
                state[following] = False
                path.append(following)
                ways.append(iter(graph.get(following, ())))
            elif not state[following]:
                cycles.append(tuple(path[path.index(following) :]))
    return cycles


def binding_cycles(topology: Topology) -> Iterator[Fault]:
    """Exchanges that are bound to each other in a ring."""
    models = {model.name: model for model in topology.exchanges}
    graph = {name: tuple(bind.source for bind in model.bind) for name, model in models.items()}
    yield from _exchange_faults(
        models, graph, "bind", "a ring of bindings: a message can come back to where it was routed"
    )


def alternate_cycles(topology: Topology) -> Iterator[Fault]:
    """Exchanges that are each other's alternate, directly or over others."""
    models = {model.name: model for model in topology.exchanges}
    graph = {name: _alternate(model) for name, model in models.items()}
    yield from _exchange_faults(
        models,
        graph,
        "alternate",
        "a ring of alternate exchanges: an unroutable message has no end",
    )


def _alternate(model: ExchangeModel) -> tuple[str, ...]:
    name = model.arguments.get("alternate-exchange", model.alternate)
    return () if name is None else (str(name),)


def _exchange_faults(
    models: Mapping[str, ExchangeModel], graph: Graph, key: str, what: str
) -> Iterator[Fault]:
    for cycle in find_cycles(graph):
        first = models[cycle[0]]
        path = f"exchanges.{segment(first.name)}.{key}"
        yield Fault(first.line_of(key), path, f"{what} ({' -> '.join((*cycle, cycle[0]))})")


def dead_letter_cycles(topology: Topology) -> Iterator[Fault]:
    """Rings of queues in which every hop is the broker's own doing (expiry or overflow).

    RabbitMQ drops a message that goes round such a ring, without a word ("Dead Letter Exchanges",
    "automatic dead-letter cycles"). A hop that needs a consumer's rejection breaks the ring, which
    is how hand-made retry queues work: those are no fault.
    """
    queues: dict[str, Queue] = {}
    owners: dict[str, QueueModel] = {}
    # What a policy of its own says is in force like an argument.
    in_force = tuple(replace(model, via_policy=()) for model in topology.queues)
    for model, queue in owned_queues(replace(topology, queues=in_force)):
        queues[queue.name], owners[queue.name] = queue, model
    routes = Routes(topology)
    graph = {
        name: tuple(routes.targets(queue)) if _leaves_by_itself(queue) else ()
        for name, queue in queues.items()
    }
    for cycle in find_cycles(graph):
        owner = owners[cycle[0]]
        yield Fault(
            owner.line_of("dead_letter", "arguments"),
            f"queues.{segment(owner.name)}",
            f"a ring of dead-lettering with no rejection in it ({' -> '.join((*cycle, cycle[0]))}):"
            " RabbitMQ drops a message that goes round; let one hop end in a parking lot",
        )


def _leaves_by_itself(queue: Queue) -> bool:
    return any(
        name in queue.arguments for name in ("x-message-ttl", "x-max-length", "x-max-length-bytes")
    )


class Routes:
    """Which queues a dead-lettered message surely comes to.

    A message that keeps its own routing key is followed only where every key matches, and headers
    exchanges not at all: a ring is refused only when it is certain.
    """

    def __init__(self, topology: Topology) -> None:
        self._types = {name: name.removeprefix("amq.") for name in ("amq.direct", "amq.topic")}
        self._types |= {"amq.fanout": "fanout"}
        self._types |= {model.name: model.type for model in topology.exchanges}
        self._queues = _bindings(topology.queues)
        self._exchanges = _bindings(topology.exchanges)

    def targets(self, queue: Queue) -> Iterator[str]:
        """The queues that ``queue`` dead-letters to."""
        exchange = queue.arguments.get("x-dead-letter-exchange")
        key = queue.arguments.get("x-dead-letter-routing-key")
        key = key if isinstance(key, str) else None
        if exchange == "":
            # Without a key of its own a message keeps the one it came with, not known here.
            if key is not None:
                yield key
        elif isinstance(exchange, str):
            yield from self._through(exchange, key)

    def _through(self, exchange: str, key: str | None) -> Iterator[str]:
        waiting, seen = [exchange], {exchange}
        while waiting:
            name = waiting.pop()
            for bound_key, queue in self._queues.get(name, ()):
                if self._takes(name, bound_key, key):
                    yield queue
            for bound_key, following in self._exchanges.get(name, ()):
                if following not in seen and self._takes(name, bound_key, key):
                    seen.add(following)
                    waiting.append(following)

    def _takes(self, exchange: str, bound_key: str, key: str | None) -> bool:
        match self._types.get(exchange):
            case "fanout":
                return True
            case "direct":
                return bound_key == key
            case "topic":
                return bound_key == "#" if key is None else topic_matches(bound_key, key)
            case _:
                return False


def topic_matches(pattern: str, key: str) -> bool:
    """``*`` is one word, ``#`` any number of words, none included (AMQP 0-9-1, 3.1.3.3)."""
    words = key.split(".") if key else []
    # reached[i]: the pattern so far can stand for the first i words.
    reached = [True] + [False] * len(words)
    for part in pattern.split(".") if pattern else []:
        if part == "#":
            for i in range(len(words)):
                reached[i + 1] = reached[i + 1] or reached[i]
        else:
            fits = (part in ("*", word) for word in words)
            reached = [False, *(before and fit for before, fit in zip(reached, fits, strict=False))]
    return reached[-1]


def _bindings(
    models: Iterable[ExchangeModel | QueueModel],
) -> dict[str, list[tuple[str, str]]]:
    """Binding keys and destination names, by source exchange."""
    bindings: dict[str, list[tuple[str, str]]] = {}
    for model in models:
        for bind in model.bind:
            bindings.setdefault(bind.source, []).append((bind.key, model.name))
    return bindings
