"""Policies, operator policies and runtime parameters."""

from __future__ import annotations

from mqkit_cli.ctl.api import path
from mqkit_cli.ctl.arguments import VALUE
from mqkit_cli.ctl.command import Call, Command
from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError, UsageError
from mqkit_cli.ctl.given_json import parsed, parsed_object

MISSING = {404: CtlError(UNAVAILABLE, "Parameter does not exist")}
_OPTIONS = {"--priority": VALUE, "--apply-to": VALUE}


def _set(kind: str, noun: str) -> Command:
    def run(call: Call) -> None:
        name, pattern, definition = call.arguments
        priority = call.line.options.get("--priority", "0")
        call.output.remark(
            f'Setting {noun} "{name}" for pattern "{pattern}" to "{definition}" with priority'
            f' "{priority}" for vhost "{call.vhost}" ...'
        )
        try:
            number = int(priority)
        except ValueError:
            raise UsageError(f"the priority {priority!r} is not an integer") from None
        document = {
            "pattern": pattern,
            "definition": parsed_object(definition),
            "priority": number,
            "apply-to": call.line.options.get(
                "--apply-to", "all" if kind == "policies" else "queues"
            ),
        }
        call.api.put(path(kind, call.vhost, name), document)

    command = "set_policy" if kind == "policies" else "set_operator_policy"
    return Command(command, "<name> <pattern> <definition>", 3, 3, run, _OPTIONS)


def _clear(kind: str, noun: str) -> Command:
    def run(call: Call) -> None:
        (name,) = call.arguments
        call.output.remark(f'Clearing {noun} "{name}" on vhost "{call.vhost}" ...')
        call.api.delete(path(kind, call.vhost, name), MISSING)

    command = "clear_policy" if kind == "policies" else "clear_operator_policy"
    return Command(command, "<name>", 1, 1, run)


def _set_parameter(call: Call) -> None:
    component, name, value = call.arguments
    call.output.remark(
        f'Setting runtime parameter "{name}" for component "{component}" to "{value}" in vhost'
        f' "{call.vhost}" ...'
    )
    document = {
        "component": component,
        "vhost": call.vhost,
        "name": name,
        "value": parsed(value),
    }
    call.api.put(path("parameters", component, call.vhost, name), document)


def _clear_parameter(call: Call) -> None:
    component, name = call.arguments
    call.output.remark(
        f'Clearing runtime parameter "{name}" for component "{component}" on vhost'
        f' "{call.vhost}" ...'
    )
    call.api.delete(path("parameters", component, call.vhost, name), MISSING)


def _set_global_parameter(call: Call) -> None:
    name, value = call.arguments
    call.output.remark(f'Setting global runtime parameter "{name}" to "{value}" ...')
    call.api.put(path("global-parameters", name), {"name": name, "value": parsed(value)})


def _clear_global_parameter(call: Call) -> None:
    (name,) = call.arguments
    call.output.remark(f'Clearing global runtime parameter "{name}" ...')
    call.api.delete(path("global-parameters", name), MISSING)


COMMANDS = (
    _set("policies", "policy"),
    _clear("policies", "policy"),
    _set("operator-policies", "operator policy override"),
    _clear("operator-policies", "operator policy override"),
    Command("set_parameter", "<component> <name> <value>", 3, 3, _set_parameter),
    Command("clear_parameter", "<component> <name>", 2, 2, _clear_parameter),
    Command("set_global_parameter", "<name> <value>", 2, 2, _set_global_parameter),
    Command("clear_global_parameter", "<name>", 1, 1, _clear_global_parameter),
)
