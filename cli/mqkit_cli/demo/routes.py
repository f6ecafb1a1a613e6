"""The routes of a topology: the queues that a message reaches. Pure.

The ledger must know what to expect without asking the broker that it checks; and a record that
nothing routes is refused before anything starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqkit.topology import ExchangeModel, Topology

DEFAULT_EXCHANGE = ""
"""Routes by queue name (AMQP 0-9-1, section 3.1.3.1)."""

EXAMPLE_WORD = "any"
"""The word put for ``*`` in a key made from a binding."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The exchanges, queues and bindings of ``topology``, asked message by message."""

    topology: Topology

    def queues(self, exchange: str, key: str) -> tuple[str, ...]:
        """The queues that a message without headers reaches, in the file's order."""
        if exchange == DEFAULT_EXCHANGE:
            return tuple(queue.name for queue in self.topology.queues if queue.name == key)
        reached = self._exchanges_from(exchange, key)
        return tuple(
            queue.name
            for queue in self.topology.queues
            if any(
                bind.source in reached and self._fits(reached[bind.source], bind.key, key)
                for bind in queue.bind
            )
        )

    def example_keys(self, exchange: str) -> tuple[str, ...]:
        """A key for each queue that ``exchange`` can reach, made from the bindings on the way."""
        if exchange == DEFAULT_EXCHANGE:
            return tuple(queue.name for queue in self.topology.queues)
        candidates = list(dict.fromkeys(self._candidates()))
        found: dict[str, str] = {}
        for queue in self.topology.queues:
            fitting = (key for key in candidates if queue.name in self.queues(exchange, key))
            if (key := next(fitting, None)) is not None:
                found.setdefault(queue.name, key)
        return tuple(dict.fromkeys(found.values()))

    def _candidates(self) -> Iterator[str]:
        binds = [bind for queue in self.topology.queues for bind in queue.bind]
        binds += [bind for exchange in self.topology.exchanges for bind in exchange.bind]
        for bind in binds:
            words = [EXAMPLE_WORD if word in ("*", "#") else word for word in _words(bind.key)]
            yield ".".join(words)
            yield bind.key

    def _exchanges_from(self, exchange: str, key: str) -> dict[str, ExchangeModel]:
        """``exchange`` and those bound to it for ``key``; the alternate where nothing takes it."""
        models = {model.name: model for model in self.topology.exchanges}
        reached: dict[str, ExchangeModel] = {}
        waiting = [exchange]
        while waiting:
            model = models.get(waiting.pop())
            if model is None or model.name in reached:
                continue
            reached[model.name] = model
            onward = self._bound_exchanges(model, key)
            if not onward and not self._has_queue(model, key) and model.alternate is not None:
                onward = [model.alternate]
            waiting += onward
        return reached

    def _bound_exchanges(self, source: ExchangeModel, key: str) -> list[str]:
        return [
            model.name
            for model in self.topology.exchanges
            for bind in model.bind
            if bind.source == source.name and self._fits(source, bind.key, key)
        ]

    def _has_queue(self, source: ExchangeModel, key: str) -> bool:
        return any(
            bind.source == source.name and self._fits(source, bind.key, key)
            for queue in self.topology.queues
            for bind in queue.bind
        )

    @staticmethod
    def _fits(exchange: ExchangeModel, binding_key: str, key: str) -> bool:
        match exchange.type:
            case "fanout":
                return True
            case "direct":
                return binding_key == key
            case "topic":
                return topic_matches(binding_key, key)
            case _:
                # Headers, or a plugin's type: nothing that a routing key alone decides.
                return False


def topic_matches(pattern: str, key: str) -> bool:
    """AMQP 0-9-1, section 3.1.3.3: ``*`` is one word, ``#`` any number of them, none included."""
    # reachable[i]: the words of the key so far may be what the first i words of the pattern say.
    words = _words(pattern)
    reachable = [True]
    for word in words:
        reachable.append(reachable[-1] and word == "#")
    for part in _words(key):
        after = [False]
        for i, word in enumerate(words):
            if word == "#":
                after.append(after[i] or reachable[i] or reachable[i + 1])
            else:
                after.append(reachable[i] and word in ("*", part))
        reachable = after
    return reachable[-1]


def _words(key: str) -> list[str]:
    return key.split(".") if key else []
