"""A request of a client for the broker of some node: to declare, bind or delete something. It is
handled as a channel handles it, from its checks, and again when the other nodes were asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from reference_broker.core.access.passwords import hash_password
from reference_broker.core.access.permission import Permission
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.until import Agreement, NotYet, Until
from reference_broker.errors import AmqpError
from reference_broker.simulation.cluster.deletions import KEPT

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

VHOSTS = ("/", "v")
"""The second one is deleted again and again."""

NAMES = ("a", KEPT)

EXCLUSIVE_CHANCE = 0.06
CONNECTION_US = (1_000, 5_000_000)
PASSWORD = hash_password(b"password", b"salt")

Ask = Callable[[], None]


class Request:
    """One request at ``process``: ``ask`` raises :exc:`NotYet` until it is done. ``ended`` is
    called with how it ended, once."""

    def __init__(
        self, world: ClusterWorld, process: NodeProcess, ask: Ask, ended: Callable[[str], None]
    ) -> None:
        self.process = process
        self._world = world
        self._ask = ask
        self._ended = ended

    def attempt(self) -> None:
        """Handle it."""
        try:
            self._ask()
        except NotYet as wait:
            wait.until.then(partial(self._again, wait.until))
        except AmqpError as error:
            self._ended(f"refused {error.code.value}")
        else:
            self._await_all()

    def _again(self, until: Until) -> None:
        if isinstance(until, Agreement) and until.failure is not None:
            self._ended("not agreed")
        else:
            self.process.inbox.tell(self.attempt)

    def _await_all(self) -> None:
        """Say -ok when every live node has seen it."""
        revision = self.process.node.view.revision.value
        ((passed, ticket),) = self.process.broker.broker.definitions.wait().marks
        if passed.value >= ticket:
            self._agreed(revision)
        else:
            passed.when_at(ticket, partial(self._agreed, revision))

    def _agreed(self, revision: int) -> None:
        self._world.laws.agreed(self.process, revision)
        self._ended("done")


def drawn(world: ClusterWorld, process: NodeProcess) -> tuple[str, Ask]:
    """A request, and what it is."""
    if world.random.random() < EXCLUSIVE_CHANCE:
        return "declare an exclusive queue", _declare_exclusive(world, process)
    (kind,) = world.random.choices(tuple(_KINDS), _WEIGHTS)
    return kind, _KINDS[kind][1](world.random, process)


def _in_some_vhost(random: Random, process: NodeProcess, act: Callable[[VHost], None]) -> Ask:
    name = random.choice((*VHOSTS[:1] * 3, *VHOSTS))

    def ask() -> None:
        vhost = process.broker.vhost(name)
        if vhost is not None:  # else the client's connection is closed
            act(vhost)

    return ask


def _declare_queue(random: Random, process: NodeProcess) -> Ask:
    name, durable = random.choice(NAMES), random.random() < 0.7
    arguments = {"x-max-length": random.randint(1, 2)}
    return _in_some_vhost(
        random,
        process,
        lambda vhost: _none(vhost.declare_queue(name, durable=durable, arguments=arguments)),
    )


def _declare_exclusive(world: ClusterWorld, process: NodeProcess) -> Ask:
    """By a connection that ends some time later, whether it was answered or not."""
    random = world.random
    owner, name = object(), random.choice(NAMES)
    vhost_name = random.choice(VHOSTS)
    ids: list[int] = []
    has_ended = False

    def end() -> None:
        nonlocal has_ended
        has_ended = True
        for queue_id in ids:
            world.deletions.let_go(queue_id)
        vhost = process.broker.vhost(vhost_name)
        if vhost is not None:
            process.broker.broker.work.start(vhost.release_exclusive(owner), vhost_name)

    def ask() -> None:
        vhost = process.broker.vhost(vhost_name)
        if vhost is not None and not has_ended:
            queue = vhost.declare_queue(name, exclusive=True, owner=owner)
            ids.append(queue.id)
            process.exclusive_ids.append(queue.id)
            world.deletions.declared(queue.id)

    process.inbox.later(random.randint(*CONNECTION_US), end)
    return ask


def _delete_queue(random: Random, process: NodeProcess) -> Ask:
    name = random.choice(NAMES[:-1])
    return _in_some_vhost(random, process, lambda vhost: vhost.delete_queue(name))


def _declare_exchange(random: Random, process: NodeProcess) -> Ask:
    name, auto_delete = random.choice(NAMES), random.random() < 0.6
    return _in_some_vhost(
        random,
        process,
        lambda vhost: _none(
            vhost.declare_exchange(name, "fanout", durable=True, auto_delete=auto_delete)
        ),
    )


def _delete_exchange(random: Random, process: NodeProcess) -> Ask:
    name = random.choice(NAMES[:-1])
    return _in_some_vhost(random, process, lambda vhost: vhost.delete_exchange(name))


def _bind(random: Random, process: NodeProcess) -> Ask:
    source, destination, key = random.choice(NAMES), random.choice(NAMES), random.choice("xy")
    to_queue = random.random() < 0.7
    return _in_some_vhost(
        random,
        process,
        lambda vhost: vhost.bind(source, destination, key, destination_is_queue=to_queue),
    )


def _unbind(random: Random, process: NodeProcess) -> Ask:
    source, destination, key = random.choice(NAMES), random.choice(NAMES), random.choice("xy")
    to_queue = random.random() < 0.7
    return _in_some_vhost(
        random,
        process,
        lambda vhost: vhost.unbind(source, destination, key, destination_is_queue=to_queue),
    )


def _set_policy(random: Random, process: NodeProcess) -> Ask:
    name, most = random.choice(NAMES), random.randint(1, 9)
    value = {"pattern": f"^{name}{most}", "definition": {"max-length": most}}
    wish = PolicyWish.parse(PolicyKind.USER, name, value)
    return _in_some_vhost(
        random, process, lambda vhost: _none(vhost.policies.set(PolicyKind.USER, name, wish))
    )


def _remove_policy(random: Random, process: NodeProcess) -> Ask:
    name = random.choice(NAMES)
    return _in_some_vhost(
        random, process, lambda vhost: _none(vhost.policies.remove(PolicyKind.USER, name))
    )


def _put_vhost(random: Random, process: NodeProcess) -> Ask:
    info = VHostInfo(random.choice(("one", "another")))
    name = random.choice(VHOSTS)
    return lambda: _none(process.broker.broker.add_vhost(name, info))


def _delete_vhost(random: Random, process: NodeProcess) -> Ask:
    broker = process.broker.broker

    def ask() -> None:
        if VHOSTS[1] in broker.vhosts:
            broker.delete_vhost(VHOSTS[1])

    return ask


def _put_user(random: Random, process: NodeProcess) -> Ask:
    name, tags = random.choice(NAMES), random.choice(((), ("monitoring",)))
    access = process.broker.broker.access
    return lambda: access.put_user(name, PASSWORD, tags, {})


def _delete_user(random: Random, process: NodeProcess) -> Ask:
    name = random.choice(NAMES)
    broker = process.broker.broker

    def ask() -> None:
        if broker.users.get(name) is not None:
            broker.delete_user(name)

    return ask


def _set_permission(random: Random, process: NodeProcess) -> Ask:
    name, pattern = random.choice(NAMES), random.choice(("", ".*"))

    def act(broker: Broker, vhost: VHost) -> None:
        if broker.users.get(name) is not None:
            broker.access.set_permission(name, vhost.name, Permission.of(pattern, "", ""))

    return _in_some_vhost(random, process, partial(act, process.broker.broker))


def _clear_permission(random: Random, process: NodeProcess) -> Ask:
    name = random.choice(NAMES)
    access = process.broker.broker.access
    return _in_some_vhost(random, process, lambda vhost: access.clear_permission(name, vhost.name))


def _none(_: object) -> None:
    """A request that returns nothing."""


_KINDS: dict[str, tuple[int, Callable[[Random, NodeProcess], Ask]]] = {
    "declare a queue": (3, _declare_queue),
    "delete a queue": (2, _delete_queue),
    "declare an exchange": (4, _declare_exchange),
    "delete an exchange": (1, _delete_exchange),
    "bind": (9, _bind),
    "unbind": (5, _unbind),
    "set a policy": (1, _set_policy),
    "remove a policy": (1, _remove_policy),
    "put a vhost": (2, _put_vhost),
    "delete a vhost": (1, _delete_vhost),
    "put a user": (1, _put_user),
    "delete a user": (1, _delete_user),
    "set a permission": (1, _set_permission),
    "clear a permission": (1, _clear_permission),
}
"""Requests by their names, with their weights: most is about what hangs together."""

_WEIGHTS = [weight for weight, _ in _KINDS.values()]
