"""The model as YAML text that reads back as an equal model. Pure.

Only what differs from the default is written; every text that could be read as something else is
quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mqkit.retry.duration import MAX_DURATION_MS, format_duration
from mqkit.retry.policy import RetryPolicy
from mqkit.topology.file.document import resolve_plain
from mqkit.topology.file.variables import escaped
from mqkit.topology.model import Bind, ExchangeModel, QueueModel, Topology
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*|[0-9]{1,12}(ms|s|m|h|d)", re.ASCII)
_FIRST_LETTER_BEYOND_ASCII = 0xA1
_LATIN, _BASIC = 0xFF, 0xFFFF


def emit(topology: Topology) -> str:
    """The whole file."""
    lines = [] if topology.vhost is None else [f"vhost: {scalar(topology.vhost)}"]
    lines += _group("exchanges", [(model.name, _exchange(model)) for model in topology.exchanges])
    lines += _group("queues", [(model.name, _queue(model)) for model in topology.queues])
    if topology.policies:
        lines += _group("policies", [(it.name, _policy(it)) for it in topology.policies])
    return "\n".join(lines) + "\n"


def emit_operator_policies(policies: Iterable[PolicyModel]) -> str:
    """Operator policies as comments: they bound what the file says, and no file sets them."""
    lines = [line for it in policies for line in (f"  {scalar(it.name)}:", *_indented(_policy(it)))]
    if not lines:
        return ""
    return "".join(f"# {line}\n" for line in ("operator policies, not set by a file:", *lines))


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _group(title: str, objects: list[tuple[str, list[str]]]) -> Iterator[str]:
    if not objects:
        yield f"{title}: {{}}"
        return
    yield f"{title}:"
    for name, lines in objects:
        if not lines:
            yield f"  {scalar(name)}: {{}}"
            continue
        yield f"  {scalar(name)}:"
        yield from _indented(lines)


def _exchange(model: ExchangeModel) -> list[str]:
    if model.external:
        return ["external: true"]
    return [
        f"type: {scalar(model.type)}",
        *_flags(model, {"durable": True, "auto_delete": False, "internal": False}),
        *([] if model.alternate is None else [f"alternate: {scalar(model.alternate)}"]),
        *([f"delays: {flow(_durations(model.delays))}"] if model.delays else []),
        *_binds(model.bind),
        *_arguments(model.arguments),
    ]


def _queue(model: QueueModel) -> list[str]:
    if model.external:
        return ["external: true"]
    lines = [] if model.type is None else [f"type: {model.type}"]
    lines += _flags(model, {"durable": True, "exclusive": False, "auto_delete": False})
    lines += _binds(model.bind)
    for key in ("max_length", "max_length_bytes", "overflow", "max_priority"):
        if (value := getattr(model, key)) is not None:
            lines.append(f"{key}: {value}")
    for key, duration_ms in (("message_ttl", model.message_ttl_ms), ("expires", model.expires_ms)):
        if duration_ms is not None:
            lines.append(f"{key}: {format_duration(duration_ms)}")
    if model.dead_letter is not None:
        to: dict[str, Any] = {"exchange": model.dead_letter.exchange}
        if model.dead_letter.key is not None:
            to["key"] = model.dead_letter.key
        lines.append(f"dead_letter: {flow(to)}")
    if model.retry is not None:
        lines.append(f"retry: {flow(_retry(model.retry))}")
    if model.via_policy:
        lines.append(f"via_policy: {flow(model.via_policy)}")
    return [*lines, *_arguments(model.arguments)]


def _policy(model: PolicyModel) -> list[str]:
    return [
        f"pattern: {scalar(model.pattern)}",
        *([] if model.apply_to is ApplyTo.ALL else [f"apply_to: {model.apply_to}"]),
        *([] if model.priority == 0 else [f"priority: {flow(model.priority)}"]),
        f"definition: {flow(model.definition)}",
    ]


def _retry(policy: RetryPolicy) -> dict[str, Any]:
    growth = policy.growth
    said: dict[str, Any] = {}
    if growth is None:
        said["after"] = _durations(policy.after)
    else:
        said |= {"from": format_duration(growth.from_ms), "factor": _number(growth.factor)}
        if growth.most_ms != MAX_DURATION_MS:
            said["most"] = format_duration(growth.most_ms)
        said["times"] = growth.times
        if growth.jitter:
            said["jitter"] = growth.jitter
    said["then"] = policy.then
    if policy.errors:
        said["errors"] = {
            rule.name: _durations(rule.after) if rule.after else str(rule.response)
            for rule in policy.errors
        }
    if policy.give_up_after_ms is not None:
        said["give_up_after"] = format_duration(policy.give_up_after_ms)
    for key, name in (("park", policy.names.park), ("tiers", policy.names.tiers)):
        if name is not None:
            said[key] = name
    return said


def _number(value: float) -> float:
    """Without a fraction where it has none."""
    return int(value) if value == int(value) else value


def _durations(times: Iterable[int]) -> list[str]:
    return [format_duration(time_ms) for time_ms in times]


def _flags(model: ExchangeModel | QueueModel, defaults: Mapping[str, bool]) -> list[str]:
    return [
        f"{name}: {flow(getattr(model, name))}"
        for name, default in defaults.items()
        if getattr(model, name) is not default
    ]


def _binds(binds: tuple[Bind, ...]) -> list[str]:
    if not binds:
        return []
    lines = ["bind:"]
    for bind in binds:
        entry: dict[str, Any] = {"from": bind.source}
        if bind.key:
            entry["key"] = bind.key
        if bind.arguments:
            entry["arguments"] = bind.arguments
        lines.append(f"  - {flow(entry)}")
    return lines


def _arguments(arguments: Mapping[str, Any]) -> list[str]:
    if not arguments:
        return []
    return ["arguments:", *(f"  {scalar(name)}: {flow(arguments[name])}" for name in arguments)]


def flow(value: Any) -> str:
    """A value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            parts = (f"{scalar(str(name))}: {flow(part)}" for name, part in value.items())
            return f"{{{', '.join(parts)}}}"
        case list() | tuple():
            return f"[{', '.join(map(flow, value))}]"
        case _:
            return scalar(str(value))


def scalar(text: str) -> str:
    """Text, quoted unless it is a plain word that means itself; no part of it is a variable."""
    if _PLAIN.fullmatch(text) and resolve_plain(text) == text:
        return text
    return f'"{"".join(map(_character, escaped(text)))}"'


def _character(character: str) -> str:
    """A character inside double quotes; escaped unless it is printable (YAML 1.2, 5.7)."""
    point = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~" or (point >= _FIRST_LETTER_BEYOND_ASCII and character.isprintable()):
        return character
    if point <= _LATIN:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= _BASIC else f"\\U{point:08x}"
