"""Replays: messages of a lot sent back to work.

edits      changes of a message, by the paths of conditions
outgoing   a message as it is sent: where to, and with which headers
report     the counts, and the messages in doubt, by name
replaying  windows of at most 100: published, confirmed, acked
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.lots.replay.edits import Edit, set_edit, unset_edit
    from mqkit.lots.replay.outgoing import Route
    from mqkit.lots.replay.replaying import ReplayRequest, Watch, replay
    from mqkit.lots.replay.report import ReplayReport

__all__ = [
    "Edit",
    "ReplayReport",
    "ReplayRequest",
    "Route",
    "Watch",
    "replay",
    "set_edit",
    "unset_edit",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.lots.replay.edits": ("Edit", "set_edit", "unset_edit"),
        "mqkit.lots.replay.outgoing": ("Route",),
        "mqkit.lots.replay.replaying": ("ReplayRequest", "Watch", "replay"),
        "mqkit.lots.replay.report": ("ReplayReport",),
    },
)
