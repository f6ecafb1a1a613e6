"""Users, their tags, their permissions and limits."""

from __future__ import annotations

import json

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.command import MANY, Call, Command
from mqkit_cli.ctl.exits import DATA_ERROR, NO_USER, SOFTWARE, CtlError
from mqkit_cli.ctl.given_json import parsed_object
from mqkit_cli.ctl.terms import atoms


def no_user(name: str) -> CtlError:
    return CtlError(NO_USER, f'User "{name}" does not exist')


def _add_user(call: Call) -> None:
    name, password = call.arguments
    call.output.remark(f'Adding user "{name}" ...')
    if call.api.exists(path("users", name)):
        raise CtlError(SOFTWARE, f'User "{name}" already exists')
    call.api.put(path("users", name), {"password": password, "tags": ""})
    call.output.remark(
        "Done. Don't forget to grant the user permissions to some virtual hosts!"
        " See 'set_permissions'."
    )


def _delete_user(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Deleting user "{name}" ...')
    call.api.delete(path("users", name), {404: no_user(name)})


def _change_password(call: Call) -> None:
    name, password = call.arguments
    call.output.remark(f'Changing password for user "{name}" ...')
    _change(call, name, {"password": password})


def _clear_password(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Clearing password for user "{name}" ...')
    _change(call, name, {"password_hash": ""})


def _change(call: Call, name: str, login: dict[str, str]) -> None:
    """Tags have to be given with a login: those that the user has."""
    user = call.api.get(path("users", name), {404: no_user(name)})
    tags = user["tags"]
    call.api.put(
        path("users", name), {**login, "tags": tags if isinstance(tags, str) else ",".join(tags)}
    )


def _set_user_tags(call: Call) -> None:
    name, *tags = call.arguments
    call.output.remark(f'Setting tags for user "{name}" to {atoms(tags)} ...')
    user = call.api.get(path("users", name), {404: no_user(name)})
    call.api.put(
        path("users", name),
        {
            "password_hash": user["password_hash"],
            "hashing_algorithm": user["hashing_algorithm"],
            "tags": ",".join(tags),
        },
    )


def _set_permissions(call: Call) -> None:
    name, configure, write, read = call.arguments
    call.output.remark(f'Setting permissions for user "{name}" in vhost "{call.vhost}" ...')
    _require(call, name)
    call.api.put(
        path("permissions", call.vhost, name),
        {"configure": configure, "write": write, "read": read},
    )


def _set_topic_permissions(call: Call) -> None:
    name, exchange, write, read = call.arguments
    call.output.remark(
        f'Setting topic permissions on "{exchange}" for user "{name}" in vhost "{call.vhost}" ...'
    )
    _require(call, name)
    call.api.put(
        path("topic-permissions", call.vhost, name),
        {"exchange": exchange, "write": write, "read": read},
    )


def _require(call: Call, name: str) -> None:
    if not call.api.exists(path("users", name)):
        raise CtlError(NO_USER, f"User {name} does not exist")
    if not call.api.exists(path("vhosts", call.vhost)):
        raise CtlError(DATA_ERROR, f"Virtual host {call.vhost} does not exist")


def _clear_permissions(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Clearing permissions for user "{name}" in vhost "{call.vhost}" ...')
    _require(call, name)
    _clear(call, path("permissions", call.vhost, name))


def _clear_topic_permissions(call: Call) -> None:
    name, *exchange = call.arguments
    call.output.remark(f'Clearing topic permissions for user "{name}" in vhost "{call.vhost}" ...')
    _require(call, name)
    _clear(call, path("topic-permissions", call.vhost, name, *exchange))


def _clear(call: Call, where: str) -> None:
    """Delete the permissions at ``where``, if there are any."""
    if call.api.exists(where):
        call.api.delete(where)


def _authenticate(call: Call) -> None:
    name, password = call.arguments
    call.output.remark(f'Authenticating user "{name}" ...')
    if not call.api.accepts(name, password):
        raise CtlError(NO_USER, f'failed to authenticate user "{name}"')
    call.output.remark("Success")


def _set_user_limits(call: Call) -> None:
    name, limits = call.arguments
    call.output.remark(f'Setting user limits to "{limits}" for user "{name}" ...')
    for limit, value in parsed_object(limits).items():
        call.api.put(path("user-limits", name, limit), {"value": value}, {404: no_user(name)})


def _clear_user_limits(call: Call) -> None:
    name, limit = call.arguments
    call.output.remark(
        f'Clearing all limits for user "{name}" ...'
        if limit == "all"
        else f'Clearing "{limit}" limit for user "{name}" ...'
    )
    for each in ("max-connections", "max-channels") if limit == "all" else (limit,):
        call.api.delete(path("user-limits", name, each), {404: no_user(name)})


def _list_user_limits(call: Call) -> None:
    user = call.line.options.get("--user")
    call.output.remark(
        "Listing limits for all users ..."
        if user is None
        else f'Listing limits for user "{user}" ...'
    )
    rows = call.api.get(path("user-limits", *([user] if user is not None else [])))
    if user is None:
        call.output.rows(
            ("user", "limits"), [{**row, "limits": _compact(row["value"])} for row in rows]
        )
    else:
        call.output.text(_compact(rows[0]["value"] if rows else {}))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


COMMANDS = (
    Command("add_user", "<username> <password>", 2, 2, _add_user),
    Command("delete_user", "<username>", 1, 1, _delete_user),
    Command("change_password", "<username> <password>", 2, 2, _change_password),
    Command("clear_password", "<username>", 1, 1, _clear_password),
    Command("set_user_tags", "<username> <tag> [...]", 1, MANY, _set_user_tags),
    Command("authenticate_user", "<username> <password>", 2, 2, _authenticate),
    Command("set_permissions", "<username> <conf> <write> <read>", 4, 4, _set_permissions),
    Command("clear_permissions", "<username>", 1, 1, _clear_permissions),
    Command(
        "set_topic_permissions",
        "<username> <exchange> <write> <read>",
        4,
        4,
        _set_topic_permissions,
    ),
    Command("clear_topic_permissions", "<username> [<exchange>]", 1, 2, _clear_topic_permissions),
    Command("set_user_limits", "<username> <json>", 2, 2, _set_user_limits),
    Command("clear_user_limits", "<username> <limit>|all", 2, 2, _clear_user_limits),
    Command("list_user_limits", "[--user <username>]", 0, 0, _list_user_limits, {"--user": True}),
)
