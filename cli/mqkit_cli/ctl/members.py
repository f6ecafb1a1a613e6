"""The nodes of a cluster: who is there, who is drained, and who is forgotten.

RabbitMQ's management API can neither drain a node nor forget one: that is the reference broker's
own (``PUT /api/nodes/NODE/draining``, ``POST /api/cluster/members/NODE/forget``), and RabbitMQ
answers that there is no such path.
"""

from __future__ import annotations

import time

from mqkit_cli.ctl.api import Api, path
from mqkit_cli.ctl.arguments import FLAG
from mqkit_cli.ctl.command import Call, Command
from mqkit_cli.ctl.exits import SOFTWARE, UNAVAILABLE, CtlError, UsageError

ACCEPT_DATA_LOSS = "--accept-data-loss"

PATIENCE_S = 60.0
"""Seconds for an answer that may wait for etcd, for clients to leave, and for queues to go."""

ONLINE_S = 300.0
"""Seconds that ``await_online_nodes`` waits without ``--timeout``, as in RabbitMQ."""

LOOK_S = 0.5
"""Seconds between two looks at who is there."""

_OWN = {
    404: CtlError(UNAVAILABLE, "only the reference broker can do this over HTTP"),
    405: CtlError(UNAVAILABLE, "only the reference broker can do this over HTTP"),
}


def shown(name: str) -> str:
    """The node of that name, which may be without the ``mqkit@`` that all have."""
    return name if "@" in name else f"mqkit@{name}"


def _forget(call: Call) -> None:
    name = shown(call.arguments[0])
    call.output.remark(f"Removing node {name} from the cluster")
    status = path("cluster", "status")
    if not call.api.exists(status):
        raise CtlError(UNAVAILABLE, "the node that was asked is in no cluster of mqkit's")
    accepts = {"accept_data_loss": call.line.has(ACCEPT_DATA_LOSS)}
    forgotten = call.api.post(path("cluster", "members", name, "forget"), accepts)
    call.output.text(f"Node {name} was removed, with {forgotten['queues']} durable queues")
    if forgotten["queues_left"]:
        call.output.text(f"{forgotten['queues_left']} of them are still being deleted")


def _drain(*, draining: bool) -> Command:
    def run(call: Call) -> None:
        name = str(call.api.get(path("overview"))["node"])
        call.output.remark(
            f"Will put node {name} into maintenance mode. It will serve no clients any more"
            if draining
            else f"Will take node {name} out of maintenance mode"
        )
        call.api.put(path("nodes", name, "draining"), {"draining": draining}, _OWN)

    return Command("drain" if draining else "revive", "", 0, 0, run, request_s=PATIENCE_S)


def _await_online(call: Call) -> None:
    text = call.arguments[0]
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{text!r} is not a number of nodes")
    call.output.remark(f"Waiting for {text} nodes to be online ...")
    until_s = time.monotonic() + call.line.timeout_s(ONLINE_S)
    while True:
        there = online(call.api)
        if there >= int(text):
            return
        if time.monotonic() >= until_s:
            break
        time.sleep(LOOK_S)
    raise CtlError(SOFTWARE, f"timed out while waiting: {there} of {text} nodes are online")


def online(api: Api) -> int:
    """The number of nodes that serve, or drain."""
    status = path("cluster", "status")
    if not api.exists(status):
        return sum(node["running"] for node in api.get(path("nodes")))
    return sum(member["running"] for member in api.get(status)["members"])


COMMANDS = (
    _drain(draining=True),
    _drain(draining=False),
    Command("await_online_nodes", "<count>", 1, 1, _await_online, waits=True),
    Command(
        "forget_cluster_node",
        f"<node> [{ACCEPT_DATA_LOSS}]",
        1,
        1,
        _forget,
        {ACCEPT_DATA_LOSS: FLAG},
        PATIENCE_S,
    ),
)
