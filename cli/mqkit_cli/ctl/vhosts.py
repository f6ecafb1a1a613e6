"""Virtual hosts, their limits, and the firehose."""

from __future__ import annotations

import json

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.command import MANY, Call, Command
from mqkit_cli.ctl.exits import DATA_ERROR, CtlError
from mqkit_cli.ctl.given_json import parsed_object
from mqkit_cli.ctl.terms import atoms

LIMITS = ("max-connections", "max-queues")


def no_vhost(name: str) -> CtlError:
    return CtlError(DATA_ERROR, f"Virtual host '{name}' does not exist", prefix="")


def _add_vhost(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Adding vhost "{name}" ...')
    options = call.line.options
    given = {key.removeprefix("--"): options[key] for key in _DESCRIBING if key in options}
    if not call.api.exists(path("vhosts", name)):
        call.api.put(path("vhosts", name), given)


def _delete_vhost(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Deleting vhost "{name}" ...')
    call.api.delete(path("vhosts", name), {404: no_vhost(name)})


def _set_vhost_tags(call: Call) -> None:
    name, *tags = call.arguments
    call.output.remark(f'Setting tags for vhost "{name}" to {atoms(tags)} ...')
    if not call.api.exists(path("vhosts", name)):
        raise no_vhost(name)
    call.api.put(path("vhosts", name), {"tags": ",".join(tags)})


def _set_limits(call: Call) -> None:
    (limits,) = call.arguments
    call.output.remark(f'Setting vhost limits to "{limits}" for vhost "{call.vhost}" ...')
    for limit, value in parsed_object(limits).items():
        where = path("vhost-limits", call.vhost, limit)
        call.api.put(where, {"value": value}, {404: no_vhost(call.vhost)})


def _clear_limits(call: Call) -> None:
    call.output.remark(f'Clearing vhost "{call.vhost}" limits ...')
    for limit in LIMITS:
        call.api.delete(path("vhost-limits", call.vhost, limit), {404: no_vhost(call.vhost)})


def _list_limits(call: Call) -> None:
    everywhere = "--global" in call.line.options
    call.output.remark(
        "Listing limits for all vhosts ..."
        if everywhere
        else f'Listing limits for vhost "{call.vhost}" ...'
    )
    rows = call.api.get(path("vhost-limits", *([] if everywhere else [call.vhost])))
    for row in rows:
        row["limits"] = json.dumps(row["value"], separators=(",", ":"))
    if everywhere:
        call.output.rows(("vhost", "limits"), rows)
    else:
        call.output.text(rows[0]["limits"] if rows else "")


def _tracing(*, on: bool) -> Command:
    def run(call: Call) -> None:
        name = call.arguments[0] if call.arguments else call.vhost
        call.output.remark(f'{"Starting" if on else "Stopping"} tracing for vhost "{name}" ...')
        if not call.api.exists(path("vhosts", name)):
            raise no_vhost(name)
        call.api.put(path("vhosts", name), {"tracing": on})
        call.output.remark(f"Trace {'enabled' if on else 'disabled'} for vhost {name}")

    return Command("trace_on" if on else "trace_off", "", 0, 1, run)


_DESCRIBING = {"--description": True, "--tags": True, "--default-queue-type": True}

COMMANDS = (
    Command("add_vhost", "<vhost>", 1, 1, _add_vhost, _DESCRIBING),
    Command("delete_vhost", "<vhost>", 1, 1, _delete_vhost),
    Command("set_vhost_tags", "<vhost> <tag> [...]", 1, MANY, _set_vhost_tags),
    Command("set_vhost_limits", "<json>", 1, 1, _set_limits),
    Command("clear_vhost_limits", "", 0, 0, _clear_limits),
    Command("list_vhost_limits", "[--global]", 0, 0, _list_limits, {"--global": False}),
    _tracing(on=True),
    _tracing(on=False),
)
