"""``list_*``: rows of the management API under rabbitmqctl's column names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import FLAG
from mqkit_cli.ctl.columns import (
    BINDING_COLUMNS,
    CHANNEL_COLUMNS,
    CONNECTION_COLUMNS,
    CONSUMER_COLUMNS,
    EXCHANGE_COLUMNS,
    PERMISSION_COLUMNS,
    POLICY_COLUMNS,
    QUEUE_COLUMNS,
    TOPIC_PERMISSION_COLUMNS,
    VHOST_COLUMNS,
)
from mqkit_cli.ctl.command import MANY, Call, Command
from mqkit_cli.ctl.exits import NO_USER, CtlError, UsageError
from mqkit_cli.ctl.pids import channel_pid, connection_pid
from mqkit_cli.ctl.terms import atoms

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of ``columns``, of which the first ``default`` are shown when none is named."""

    name: str
    title: str
    columns: Sequence[str]
    default: int
    rows: Callable[[Call], Iterable[Row]]

    def command(self) -> Command:
        options = dict.fromkeys(("--online", "--offline", "--local"), FLAG)
        return Command(self.name, "[column ...]", 0, MANY, self.run, options)

    def run(self, call: Call) -> None:
        # Both "list_queues name messages" and "list_queues 'name messages'" are known.
        asked = [name for word in call.arguments for name in word.replace(",", " ").split()]
        unknown = [name for name in asked if name not in self.columns]
        if unknown:
            raise UsageError(f"Info key(s) {','.join(unknown)} are not supported")
        call.output.remark(self.title.format(vhost=call.vhost))
        call.output.rows(asked or self.columns[: self.default], self.rows(call))


def _of_vhost(kind: str) -> Callable[[Call], Iterable[Row]]:
    """The rows of the vhost; none where there is no such vhost, as rabbitmqctl has it."""

    def rows(call: Call) -> Iterable[Row]:
        if not call.api.exists(path("vhosts", call.vhost)):
            return []
        found: list[Row] = call.api.get(path(kind, call.vhost))
        return found

    return rows


def _bindings(call: Call) -> Iterable[Row]:
    for row in _of_vhost("bindings")(call):
        yield {
            **row,
            "source_name": row["source"],
            "source_kind": "exchange",
            "destination_name": row["destination"],
            "destination_kind": row["destination_type"],
        }


def _consumers(call: Call) -> Iterable[Row]:
    node = _node(call)
    for row in _of_vhost("consumers")(call):
        # RabbitMQ's management says [] of a channel that it has not heard of yet.
        channel = row["channel_details"] or None
        yield {
            **row,
            "queue_name": row["queue"]["name"],
            "channel_pid": channel
            and channel_pid(node, channel["connection_name"], channel["number"]),
        }


def _connections(call: Call) -> Iterable[Row]:
    node = _node(call)
    for row in call.api.get(path("connections")):
        yield {
            **row,
            "pid": connection_pid(node, row["name"]),
            "protocol": "{0,9,1}" if row.get("protocol") == "AMQP 0-9-1" else row.get("protocol"),
        }


def _channels(call: Call) -> Iterable[Row]:
    node = _node(call)
    for row in call.api.get(path("channels")):
        connection = row["connection_details"]["name"]
        pid = channel_pid(node, connection, row["number"])
        yield {**row, "pid": pid, "connection": connection_pid(node, connection)}


def _node(call: Call) -> str:
    return str(call.api.get(path("overview"))["node"])


def _users(call: Call) -> Iterable[Row]:
    for row in call.api.get(path("users")):
        tags = row["tags"]
        names = tags if isinstance(tags, list) else [tag for tag in tags.split(",") if tag]
        yield {"user": row["name"], "tags": atoms(names)}


def _vhosts(call: Call) -> Iterable[Row]:
    for row in call.api.get(path("vhosts")):
        yield {**row, "tags": atoms(row.get("tags") or [])}


def _permissions(*of_vhost: str) -> Callable[[Call], Iterable[Row]]:
    def rows(call: Call) -> Iterable[Row]:
        found: list[Row] = call.api.get(path("vhosts", call.vhost, *of_vhost))
        return found

    return rows


def _policies(kind: str) -> Callable[[Call], Iterable[Row]]:
    def rows(call: Call) -> Iterable[Row]:
        for row in call.api.get(path(kind, call.vhost)):
            definition = json.dumps(row["definition"], separators=(",", ":"))
            yield {**row, "definition": definition}

    return rows


def _parameters(call: Call) -> Iterable[Row]:
    for row in call.api.get(path("parameters")):
        if row.get("vhost") == call.vhost:
            yield {**row, "value": json.dumps(row["value"], separators=(",", ":"))}


def _global_parameters(call: Call) -> Iterable[Row]:
    for row in call.api.get(path("global-parameters")):
        yield {**row, "value": json.dumps(row["value"], separators=(",", ":"))}


def _user_permissions(kind: str, columns: Sequence[str], noun: str) -> Callable[[Call], None]:
    def run(call: Call) -> None:
        user = call.arguments[0]
        missing = CtlError(NO_USER, f'User "{user}" does not exist')
        call.output.remark(f'Listing {noun} for user "{user}" ...')
        call.output.rows(columns, call.api.get(path("users", user, kind), {404: missing}))

    return run


_LISTINGS = (
    Listing(
        "list_queues", "Listing queues for vhost {vhost} ...", QUEUE_COLUMNS, 2, _of_vhost("queues")
    ),
    Listing(
        "list_exchanges",
        "Listing exchanges for vhost {vhost} ...",
        EXCHANGE_COLUMNS,
        2,
        _of_vhost("exchanges"),
    ),
    Listing(
        "list_bindings", "Listing bindings for vhost {vhost}...", BINDING_COLUMNS, 6, _bindings
    ),
    Listing(
        "list_consumers", "Listing consumers in vhost {vhost} ...", CONSUMER_COLUMNS, 7, _consumers
    ),
    Listing("list_connections", "Listing connections ...", CONNECTION_COLUMNS, 4, _connections),
    Listing("list_channels", "Listing channels ...", CHANNEL_COLUMNS, 4, _channels),
    Listing("list_users", "Listing users ...", ("user", "tags"), 2, _users),
    Listing("list_vhosts", "Listing vhosts ...", VHOST_COLUMNS, 1, _vhosts),
    Listing(
        "list_permissions",
        'Listing permissions for vhost "{vhost}" ...',
        PERMISSION_COLUMNS,
        4,
        _permissions("permissions"),
    ),
    Listing(
        "list_topic_permissions",
        'Listing topic permissions for vhost "{vhost}" ...',
        TOPIC_PERMISSION_COLUMNS,
        4,
        _permissions("topic-permissions"),
    ),
    Listing(
        "list_policies",
        'Listing policies for vhost "{vhost}" ...',
        POLICY_COLUMNS,
        6,
        _policies("policies"),
    ),
    Listing(
        "list_operator_policies",
        'Listing operator policy overrides for vhost "{vhost}" ...',
        POLICY_COLUMNS,
        6,
        _policies("operator-policies"),
    ),
    Listing(
        "list_parameters",
        'Listing runtime parameters for vhost "{vhost}" ...',
        ("component", "name", "value"),
        3,
        _parameters,
    ),
    Listing(
        "list_global_parameters",
        "Listing global runtime parameters ...",
        ("name", "value"),
        2,
        _global_parameters,
    ),
)

COMMANDS = (
    *(listing.command() for listing in _LISTINGS),
    Command(
        "list_user_permissions",
        "<username>",
        1,
        1,
        _user_permissions("permissions", ("vhost", "configure", "write", "read"), "permissions"),
    ),
    Command(
        "list_user_topic_permissions",
        "<username>",
        1,
        1,
        _user_permissions(
            "topic-permissions", ("vhost", "exchange", "write", "read"), "topic permissions"
        ),
    ),
)
