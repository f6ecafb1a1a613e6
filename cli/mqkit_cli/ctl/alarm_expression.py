"""The two Erlang expressions by which suites of RabbitMQ's clients raise an alarm and end it.

rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).
rabbit_alarm:clear_alarm({resource_limit, memory, node()}).
"""

from __future__ import annotations

import re

_LIMIT = r"\{resource_limit,(?P<resource>memory|disk),node\(\)\}"
_SET = re.compile(rf"rabbit_alarm:set_alarm\(\{{{_LIMIT},\[\]\}}\)\.?")
_CLEAR = re.compile(rf"rabbit_alarm:clear_alarm\({_LIMIT}\)\.?")


def alarm_in(expression: str) -> tuple[str, bool] | None:
    """The resource that an Erlang expression sets or clears an alarm for (``memory`` or ``disk``),
    and true for setting; ``None`` for any other expression."""
    text = re.sub(r"\s+", "", expression)
    for pattern, is_on in ((_SET, True), (_CLEAR, False)):
        match = pattern.fullmatch(text)
        if match is not None:
            return match["resource"], is_on
    return None
