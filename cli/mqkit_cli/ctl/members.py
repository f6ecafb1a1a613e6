"""The nodes of a cluster: who is there, and who is forgotten.

RabbitMQ's management API can't forget a node: that is the reference broker's own (``POST
/api/cluster/members/NODE/forget``), and RabbitMQ answers that there is no such path.
"""

from __future__ import annotations

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import FLAG
from mqkit_cli.ctl.command import Call, Command
from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError

ACCEPT_DATA_LOSS = "--accept-data-loss"


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


COMMANDS = (
    Command(
        "forget_cluster_node",
        f"<node> [{ACCEPT_DATA_LOSS}]",
        1,
        1,
        _forget,
        {ACCEPT_DATA_LOSS: FLAG},
    ),
)
