"""Closing connections."""

from __future__ import annotations

from typing import Any

from mqkit_cli.ctl import pids
from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import FLAG, VALUE
from mqkit_cli.ctl.command import MANY, Call, Command
from mqkit_cli.ctl.exits import CtlError, UsageError

GONE = 404
"""A connection that is closed already is what was asked for."""


def _close_connection(call: Call) -> None:
    pid, *words = call.arguments
    reason = " ".join(words)
    call.output.remark(f"Closing connection {pid}, reason: {reason}...")
    pids.check(pid)
    node = str(call.api.get(path("overview"))["node"])
    for row in call.api.get(path("connections")):
        if pids.connection_pid(node, row["name"]) == pid:
            _close(call, row, reason)


def _close_all(call: Call) -> None:
    reason = " ".join(call.arguments)
    everywhere = "--global" in call.line.options
    where = "all vhosts" if everywhere else f"vhost {call.vhost}"
    call.output.remark(f"Closing all connections in {where}, reason: {reason}...")
    wanted = [
        row for row in call.api.get(path("connections")) if everywhere or row["vhost"] == call.vhost
    ]
    limit = call.line.options.get("--limit", "0")
    if not limit.isdigit():
        raise UsageError(f"the limit {limit!r} is not a number")
    closed = sum(_close(call, row, reason) for row in wanted[: int(limit) or None])
    call.output.text(f"Closed {closed} connections")


def _close_all_of_user(call: Call) -> None:
    user, *words = call.arguments
    reason = " ".join(words)
    call.output.remark(f"Closing all connections of user {user}, reason: {reason}...")
    for row in call.api.get(path("connections")):
        if row["user"] == user:
            _close(call, row, reason)


def _close(call: Call, row: dict[str, Any], reason: str) -> bool:
    """False when it was gone."""
    gone = CtlError(0, "")
    try:
        call.api.delete(path("connections", row["name"]), {GONE: gone}, {"X-Reason": reason})
    except CtlError as error:
        if error is not gone:
            raise
        return False
    return True


_EVERY = {"--global": FLAG, "--limit": VALUE}

COMMANDS = (
    Command("close_connection", "<pid> <explanation>", 2, MANY, _close_connection),
    Command("close_all_connections", "<explanation>", 1, MANY, _close_all, _EVERY),
    Command("close_all_user_connections", "<username> <explanation>", 2, MANY, _close_all_of_user),
)
