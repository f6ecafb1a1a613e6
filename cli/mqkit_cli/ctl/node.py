"""The node: whether it runs, what it is, its watermarks.

RabbitMQ's management API has nothing for the watermarks, nor for pausing a node: that is the
reference broker's own (``PUT /api/nodes/NODE/...``), and RabbitMQ answers that there is no such
path.
"""

from __future__ import annotations

from typing import Any

from mqkit_cli.ctl.alarm_expression import alarm_in
from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import FLAG
from mqkit_cli.ctl.command import MANY, Call, Command
from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError, UsageError
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import parse_size

_OWN = {
    404: CtlError(UNAVAILABLE, "only the reference broker can do this over HTTP"),
    405: CtlError(UNAVAILABLE, "only the reference broker can do this over HTTP"),
}


def size_bytes(text: str) -> int:
    """A size with RabbitMQ's units. Raises :exc:`UsageError`."""
    try:
        return parse_size(text)
    except BadConfiguration as error:
        raise UsageError(str(error)) from None


def _name(call: Call) -> str:
    return str(call.api.get(path("overview"))["node"])


def _watermark(call: Call) -> None:
    name = _name(call)
    if call.arguments[0] == "absolute":
        if len(call.arguments) < 2:
            raise UsageError("not enough arguments.")
        limit: dict[str, Any] = {"absolute": size_bytes(call.arguments[1])}
        call.output.remark(f"Setting memory threshold on {name} to {call.arguments[1]} bytes ...")
    else:
        limit = {"relative": _fraction(call.arguments[0])}
        call.output.remark(f"Setting memory threshold on {name} to {call.arguments[0]} ...")
    call.api.put(path("nodes", name, "vm-memory-high-watermark"), limit, _OWN)


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a fraction of the memory") from None
    if not 0 <= value <= 1:
        raise UsageError("the threshold has to lie between 0.0 and 1.0")
    return value


def _disk_limit(call: Call) -> None:
    name = _name(call)
    if call.arguments[0] == "mem_relative":
        raise UsageError("a limit relative to the memory isn't supported: give a size")
    call.output.remark(f"Setting disk free limit on {name} to {call.arguments[0]} bytes ...")
    limit = {"absolute": size_bytes(call.arguments[0])}
    call.api.put(path("nodes", name, "disk-free-limit"), limit, _OWN)


def _run_app(*, running: bool) -> Command:
    def run(call: Call) -> None:
        name = _name(call)
        call.output.remark(
            f"Starting node {name} ..."
            if running
            else f"Stopping rabbit application on node {name} ..."
        )
        call.api.put(path("nodes", name, "running"), {"running": running}, _OWN)

    return Command("start_app" if running else "stop_app", "", 0, 0, run)


def _await_startup(call: Call) -> None:
    """Return at once: the node answers, for whoever started it has waited for its ready line."""
    _name(call)


def _ping(call: Call) -> None:
    call.output.remark(f"Will ping {_name(call)} ...")
    call.output.text("Ping succeeded")


def _status(call: Call) -> None:
    overview = call.api.get(path("overview"))
    node = call.api.get(path("nodes", overview["node"]))
    call.output.remark(f"Status of node {overview['node']} ...")
    lines = [
        "Runtime",
        "",
        f"OS PID: {node.get('os_pid', '')}",
        f"Uptime (seconds): {int(node.get('uptime', 0)) // 1000}",
        f"RabbitMQ version: {overview['rabbitmq_version']}",
        "",
        "Alarms",
        "",
        *_alarms(node),
        "",
        "Memory",
        "",
        f"Total memory used: {node.get('mem_used', 0)} bytes",
        f"Memory high watermark: {node.get('mem_limit', 0)} bytes",
        "",
        "Free Disk Space",
        "",
        f"Low free disk space watermark: {node.get('disk_free_limit', 0)} bytes",
        f"Free disk space: {node.get('disk_free', 0)} bytes",
        "",
        "Totals",
        "",
        f"Connection count: {overview['object_totals']['connections']}",
        f"Queue count: {overview['object_totals']['queues']}",
        "",
        "Listeners",
        "",
        *(
            f"Interface: {each['ip_address']}, port: {each['port']}, protocol: {each['protocol']}"
            for each in overview["listeners"]
        ),
    ]
    for line in lines:
        call.output.text(line)


def _alarms(node: dict[str, Any]) -> list[str]:
    on = [
        name
        for key, name in (("mem_alarm", "Memory"), ("disk_free_alarm", "Free disk space"))
        if node.get(key)
    ]
    return [f"{name} alarm on node {node['name']}" for name in on] or ["(none)"]


def _cluster_status(call: Call) -> None:
    overview = call.api.get(path("overview"))
    call.output.remark(f"Cluster status of node {overview['node']} ...")
    for line in (
        "Basics",
        "",
        f"Cluster name: {overview['cluster_name']}",
        "",
        "Running Nodes",
        "",
    ):
        call.output.text(line)
    status = path("cluster", "status")
    if call.api.exists(status):
        for line in members_lines(call.api.get(status)):
            call.output.text(line)
        return
    for node in call.api.get(path("nodes")):
        call.output.text(node["name"])


def members_lines(status: dict[str, Any]) -> list[str]:
    """The members of a cluster of reference brokers, those that run first, and then the others
    under headings of their own."""
    members = status["members"]
    lines = [member["name"] for member in members if member["running"]]
    paused = [member for member in members if member["state"] == "paused"]
    if paused:
        lines += ["", "Paused Nodes", ""]
        lines += [f"{each['name']}: {each.get('reason') or 'no reason known'}" for each in paused]
    for heading, state in (
        ("Nodes Under Maintenance", "draining"),
        ("Unreachable Nodes", "unreachable"),
        ("Nodes That Are Down", "down"),
    ):
        names = [member["name"] for member in members if member["state"] == state]
        if names:
            lines += ["", heading, "", *names]
    return [*lines, "", f"Revision: {status['revision']}"]


def _login_attempts(call: Call) -> None:
    """Login attempts by protocol; with ``--by-source`` by address and user, where those are
    kept."""
    name = _name(call)
    call.output.remark(f'Listing authentication\n attempts for node "{name}" ...')
    source = ("source",) if call.line.has("--by-source") else ()
    rows = call.api.get(path("auth", "attempts", name, *source))
    if call.output.is_json:
        call.output.value({"attempts": rows, "node": name, "result": "ok"})
    elif rows:
        call.output.rows(tuple(rows[0]), rows)
    else:
        call.output.text(f"Node {name} reported no authentication attempt stats")


def _set_cluster_name(call: Call) -> None:
    name = call.arguments[0]
    call.output.remark(f"Setting cluster name to {name} ...")
    call.api.put(path("cluster-name"), {"name": name})


def _version(call: Call) -> None:
    call.output.text(str(call.api.get(path("overview"))["rabbitmq_version"]))


def _eval(call: Call) -> None:
    """There is no Erlang to run, but what other clients' suites say to raise an alarm is known."""
    alarm = alarm_in(" ".join(call.arguments))
    if alarm is None:
        raise CtlError(
            UNAVAILABLE,
            "eval runs code in RabbitMQ's Erlang node; over HTTP there is none, so it is refused"
            " (but for rabbit_alarm:set_alarm and clear_alarm)",
        )
    resource, is_on = alarm
    call.api.put(path("nodes", _name(call), "alarms"), {resource: is_on}, _OWN)
    call.output.text("ok")


COMMANDS = (
    Command("set_vm_memory_high_watermark", "<fraction> | absolute <size>", 1, 2, _watermark),
    Command("set_disk_free_limit", "<size>", 1, 2, _disk_limit),
    _run_app(running=False),
    _run_app(running=True),
    Command("await_startup", "", 0, 0, _await_startup),
    Command("ping", "", 0, 0, _ping),
    Command("status", "", 0, 0, _status),
    Command("cluster_status", "", 0, 0, _cluster_status),
    Command(
        "list_node_auth_attempt_stats",
        "[--by-source]",
        0,
        0,
        _login_attempts,
        {"--by-source": FLAG},
    ),
    Command("set_cluster_name", "<name>", 1, 1, _set_cluster_name),
    Command("version", "", 0, 0, _version),
    Command("eval", "<expression>", 1, MANY, _eval),
)
