"""Topologies: a YAML file, what it compiles to, how a broker differs, and how to get there.

``load`` -> ``compile_topology`` -> ``take_snapshot`` -> ``plan`` -> ``apply``; and ``export``
back. An application that is connected keeps a :class:`TopologyCache`; what reads files and brokers
is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names
from mqkit.topology.cache import Redeclared, TopologyCache
from mqkit.topology.compile import compile_queues, compile_topology
from mqkit.topology.model import (
    Bind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)
from mqkit.topology.planning.apply import Applied, StepResult, StepState, apply
from mqkit.topology.planning.diff import Change, ChangeKind, Difference, diff
from mqkit.topology.planning.plan import Plan, plan
from mqkit.topology.planning.quarantine import Quarantined
from mqkit.topology.planning.step import Step, StepAction, Verdict, name_of
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel
from mqkit.topology.temporary import Temporary
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel, channels_of

if TYPE_CHECKING:
    from mqkit.topology.doctor.examine import examine
    from mqkit.topology.doctor.finding import Check, Finding, Severity
    from mqkit.topology.exporting.definitions import (
        MAX_DEFINITIONS_BYTES,
        Imported,
        import_definitions,
    )
    from mqkit.topology.exporting.folding import export, to_topology
    from mqkit.topology.file.fault import Fault
    from mqkit.topology.file.read import check, check_files, load, loads
    from mqkit.topology.file.schema import topology_schema
    from mqkit.topology.graph.build import graph_of
    from mqkit.topology.graph.dot import to_dot
    from mqkit.topology.graph.graph import Graph
    from mqkit.topology.graph.mermaid import to_mermaid
    from mqkit.topology.keys import (
        BindKeys,
        DeadLetterKeys,
        ExchangeKeys,
        LotKeys,
        PolicyKeys,
        QueueKeys,
        RetryKeys,
    )
    from mqkit.topology.live.management import Management, open_management
    from mqkit.topology.planning.wanted import Wanted
    from mqkit.topology.policy.comparing import compare
    from mqkit.topology.policy.own import compile_policies
    from mqkit.topology.snapshot import LiveQueue, Snapshot, take_snapshot
    from mqkit.topology.validation import validate
    from mqkit.topology.wiring.wiring import Wiring

__all__ = [
    "MAX_DEFINITIONS_BYTES",
    "Applied",
    "ApplyTo",
    "Bind",
    "BindKeys",
    "Change",
    "ChangeKind",
    "Check",
    "DeadLetter",
    "DeadLetterKeys",
    "Difference",
    "ExchangeKeys",
    "ExchangeModel",
    "Fault",
    "Finding",
    "Graph",
    "Imported",
    "LiveQueue",
    "LotKeys",
    "Management",
    "OpenChannel",
    "Overflow",
    "Plan",
    "PolicyKeys",
    "PolicyModel",
    "Quarantined",
    "QueueKeys",
    "QueueModel",
    "QueueType",
    "Redeclared",
    "RetryKeys",
    "Severity",
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
    "Wiring",
    "apply",
    "channels_of",
    "check",
    "check_files",
    "compare",
    "compile_policies",
    "compile_queues",
    "compile_topology",
    "diff",
    "examine",
    "export",
    "graph_of",
    "import_definitions",
    "load",
    "loads",
    "name_of",
    "open_management",
    "plan",
    "take_snapshot",
    "to_dot",
    "to_mermaid",
    "to_topology",
    "topology_schema",
    "validate",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.topology.exporting.definitions": (
            "MAX_DEFINITIONS_BYTES",
            "Imported",
            "import_definitions",
        ),
        "mqkit.topology.exporting.folding": ("export", "to_topology"),
        "mqkit.topology.file.fault": ("Fault",),
        "mqkit.topology.file.read": ("check", "check_files", "load", "loads"),
        "mqkit.topology.file.schema": ("topology_schema",),
        "mqkit.topology.keys": (
            "BindKeys",
            "DeadLetterKeys",
            "ExchangeKeys",
            "LotKeys",
            "PolicyKeys",
            "QueueKeys",
            "RetryKeys",
        ),
        "mqkit.topology.doctor.examine": ("examine",),
        "mqkit.topology.doctor.finding": ("Check", "Finding", "Severity"),
        "mqkit.topology.graph.build": ("graph_of",),
        "mqkit.topology.graph.dot": ("to_dot",),
        "mqkit.topology.graph.graph": ("Graph",),
        "mqkit.topology.graph.mermaid": ("to_mermaid",),
        "mqkit.topology.snapshot": ("LiveQueue", "Snapshot", "take_snapshot"),
        "mqkit.topology.validation": ("validate",),
        "mqkit.topology.wiring.wiring": ("Wiring",),
        "mqkit.topology.live.management": ("Management", "open_management"),
        "mqkit.topology.policy.comparing": ("compare",),
        "mqkit.topology.policy.own": ("compile_policies",),
        "mqkit.topology.planning.wanted": ("Wanted",),
    },
)
