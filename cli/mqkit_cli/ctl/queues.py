"""Emptying and deleting queues."""

from __future__ import annotations

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import FLAG
from mqkit_cli.ctl.command import Call, Command
from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError

NOT_FOUND = {404: CtlError(UNAVAILABLE, "not_found")}
_CONDITIONS = {"--if-empty": FLAG, "--if-unused": FLAG}


def _purge(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f"Purging queue '{name}' in vhost '{call.vhost}' ...")
    call.api.delete(path("queues", call.vhost, name, "contents"), NOT_FOUND)


def _delete(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f"Deleting queue '{name}' on vhost '{call.vhost}' ...")
    where = path("queues", call.vhost, name)
    ready = call.api.get(where, NOT_FOUND).get("messages_ready", 0)
    conditions = [f"{key[2:]}=true" for key in _CONDITIONS if key in call.line.options]
    call.api.delete("?".join([where, *(["&".join(conditions)] if conditions else [])]), NOT_FOUND)
    call.output.text(f"Queue was successfully deleted with {ready} ready messages")


COMMANDS = (
    Command("purge_queue", "<queue>", 1, 1, _purge),
    Command("delete_queue", "<queue> [--if-empty] [--if-unused]", 1, 1, _delete, _CONDITIONS),
)
