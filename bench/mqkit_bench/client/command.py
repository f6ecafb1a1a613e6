"""``client``: the same job with mqkit and with other client libraries, on the same broker.

Each is a process of its own, and they take turns. CPU per message is the figure: on a machine with
few cores the broker's speed is in every rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from mqkit.errors import ConfigurationError
from mqkit.url import parse, redact
from mqkit_bench.client.contestant import BY_NAME, CONTESTANTS
from mqkit_bench.client.rounds import ClientStanding, Target, compete
from mqkit_bench.client.scenario import (
    ACK_BATCH,
    BATCH_CALLERS,
    IN_FLIGHT_MAX,
    PREFETCH,
    Load,
    Scenario,
)
from mqkit_bench.client.table import table
from mqkit_bench.data_folder import data_folder, disk_kind
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import JsonFile, say, write_json
from mqkit_bench.server import reference_server
from mqkit_bench.session import Address

QUEUE = "bench.client"


def target_of(against: str) -> Target:
    """``NAME=URL``. Raises ``typer.BadParameter`` for what the bench's own connections can't use:
    TLS, and another vhost than ``/``."""
    name, found, url = against.partition("=")
    if not (name and found):
        raise typer.BadParameter(f"{against!r}: expected NAME=URL")
    try:
        endpoint = parse(url)
    except ConfigurationError as why:
        raise typer.BadParameter(str(why)) from None
    if endpoint.tls or endpoint.vhost != "/":
        raise typer.BadParameter(f"{redact(url)}: it has to be amqp:// and the vhost /")
    login = endpoint.credentials
    address = Address(endpoint.host, endpoint.port, login.username, login.password)
    return Target(name, url, address)


@contextmanager
def reference_target() -> Iterator[Target]:
    """The reference broker in a process of its own, with its data on a disk."""
    with data_folder() as folder, reference_server(folder) as server:
        address = server.contestant.address
        login = f"{address.username}:{address.password}"
        url = f"amqp://{login}@{address.host}:{address.port}/"
        yield Target(f"{server.contestant.name}, data on {disk_kind()}", url, address)


def chosen_names(names: Sequence[str]) -> list[str]:
    """The contestants, all of them by default. Raises ``typer.BadParameter`` for another name."""
    for name in names:
        if name not in BY_NAME:
            known = "; ".join(BY_NAME)
            raise typer.BadParameter(f"there is no contestant {name!r}, but these: {known}")
    return [each.name for each in CONTESTANTS if each.name in names or not names]


def versions(standings: Sequence[ClientStanding]) -> str:
    """The versions of the libraries that played, each once."""
    found = {BY_NAME[each.name].distribution: each.version for each in standings if each.version}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def client(
    messages: int = typer.Option(20_000, min=1, help="Messages of each scenario in each round."),
    body_bytes: int = typer.Option(
        1024, min=0, max=BODY_BYTES_MAX, help="Bytes of each body, about: it is JSON."
    ),
    rounds: int = typer.Option(5, min=1, help="Rounds that count, after one that does not."),
    scenario: list[Scenario] = typer.Option(list(Scenario), help="Only this one; repeatable."),
    contestant: list[str] = typer.Option([], help="Only this one, by its name; repeatable."),
    against: str | None = typer.Option(
        None, metavar="NAME=URL", help="On this broker, and not on a reference broker."
    ),
    json_file: JsonFile = None,
) -> None:
    """Publish with confirms and consume with acks: mqkit, aio-pika, FastStream, pika and kombu."""
    contestants = [BY_NAME[name] for name in chosen_names(contestant)]
    load = Load(QUEUE, messages, body_bytes)
    with _target(against) as target:
        standings = compete(target, contestants, scenario, load, rounds, say)
    several = BATCH_CALLERS[Scenario.PUBLISH_BATCHES]
    print(
        f"On {target.name}; {len(load.body):,} B bodies, persistent, {messages:,} messages a round"
        f" ({load.of(Scenario.PUBLISH_1).messages:,} where one is in flight), {rounds} alternating"
        f" rounds, medians; batches of {IN_FLIGHT_MAX:,}, or"
        f" {several} callers' of {IN_FLIGHT_MAX // several:,}, prefetch {PREFETCH:,}, batches of"
        f" {ACK_BATCH:,} acks; all counted.\n{versions(standings)}.\n"
    )
    print(table(standings))
    write_json(json_file, standings)


@contextmanager
def _target(against: str | None) -> Iterator[Target]:
    if against is not None:
        yield target_of(against)
        return
    disk_kind()
    with reference_target() as target:
        yield target
