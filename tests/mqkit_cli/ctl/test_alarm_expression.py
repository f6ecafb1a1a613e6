"""Which Erlang expressions are understood."""

from __future__ import annotations

import pytest

from mqkit_cli.ctl.alarm_expression import alarm_in


@pytest.mark.parametrize(
    ("expression", "alarm"),
    [
        ("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).", ("memory", True)),
        ("rabbit_alarm:set_alarm({{resource_limit,disk,node()},[]})", ("disk", True)),
        ("rabbit_alarm:clear_alarm({resource_limit, disk, node()}).", ("disk", False)),
        ("rabbit_alarm:set_alarm({resource_limit, disk, node()}).", None),
        ("rabbit_alarm:clear_alarm({resource_limit, cpu, node()}).", None),
        ("rabbit_alarm:clear_alarm({resource_limit, disk, node()}), init:stop().", None),
        ("1 + 1.", None),
    ],
)
def test_alarms_are_all_that_is_known(expression: str, alarm: tuple[str, bool] | None) -> None:
    assert alarm_in(expression) == alarm
