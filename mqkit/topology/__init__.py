"""Topologies: a YAML file, what it compiles to, how a broker differs, and how to get there.

``load`` -> ``compile_topology`` -> ``take_snapshot`` -> ``plan`` -> ``apply``; and ``export``
back. An application that is connected keeps a :class:`TopologyCache`; what reads files and brokers
is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names
from mqkit.topology.apply import Applied, StepResult, StepState, apply
from mqkit.topology.cache import Redeclared, TopologyCache
from mqkit.topology.compile import compile_queues, compile_topology
from mqkit.topology.diff import Change, ChangeKind, Difference, diff
from mqkit.topology.model import (
    Bind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)
from mqkit.topology.plan import Plan, plan
from mqkit.topology.policy_model import ApplyTo, PolicyModel
from mqkit.topology.quarantine import Quarantined
from mqkit.topology.step import Step, StepAction, Verdict, name_of
from mqkit.topology.temporary import Temporary
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel, channels_of

if TYPE_CHECKING:
    from mqkit.topology.exporting.folding import export, to_topology
    from mqkit.topology.file.fault import Fault
    from mqkit.topology.file.read import check, load, loads
    from mqkit.topology.live.management import Management, open_management
    from mqkit.topology.policy.comparing import compare
    from mqkit.topology.policy.own import compile_policies
    from mqkit.topology.snapshot import LiveQueue, Snapshot, take_snapshot
    from mqkit.topology.validation import validate
    from mqkit.topology.wanted import Wanted

__all__ = [
    "Applied",
    "ApplyTo",
    "Bind",
    "Change",
    "ChangeKind",
    "DeadLetter",
    "Difference",
    "ExchangeModel",
    "Fault",
    "LiveQueue",
    "Management",
    "OpenChannel",
    "Overflow",
    "Plan",
    "PolicyModel",
    "Quarantined",
    "QueueModel",
    "QueueType",
    "Redeclared",
    "Snapshot",
    "Step",
    "StepAction",
    "StepResult",
    "StepState",
    "Temporary",
    "ThrowAwayChannel",
    "Topology",
    "TopologyCache",
    "Verdict",
    "Wanted",
    "apply",
    "channels_of",
    "check",
    "compare",
    "compile_policies",
    "compile_queues",
    "compile_topology",
    "diff",
    "export",
    "load",
    "loads",
    "name_of",
    "open_management",
    "plan",
    "take_snapshot",
    "to_topology",
    "validate",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.topology.exporting.folding": ("export", "to_topology"),
        "mqkit.topology.file.fault": ("Fault",),
        "mqkit.topology.file.read": ("check", "load", "loads"),
        "mqkit.topology.live.management": ("Management", "open_management"),
        "mqkit.topology.policy.comparing": ("compare",),
        "mqkit.topology.policy.own": ("compile_policies",),
        "mqkit.topology.snapshot": ("LiveQueue", "Snapshot", "take_snapshot"),
        "mqkit.topology.validation": ("validate",),
        "mqkit.topology.wanted": ("Wanted",),
    },
)
