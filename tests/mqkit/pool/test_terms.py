"""The terms of a call: its own, else the publisher's."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.pool.terms import Terms


def test_a_call_has_its_own_terms_and_takes_over_what_it_does_not_say() -> None:
    assert Terms() == Terms(resend=True, fails_when_blocked=False)
    for before in (Terms(), Terms(fails_when_blocked=True)):
        assert before.but(False, None) == Terms(False, before.fails_when_blocked)
        assert before.but(True, "fail") == Terms(True, True)
        assert before.but(True, "wait") == Terms(True, False)


@pytest.mark.parametrize(
    ("resend", "on_blocked", "told"),
    [
        ("no", None, "resend='no': expected True or False"),
        (None, None, "resend=None"),
        (1, "fail", "resend=1"),
        (True, "drop", "on_blocked='drop': expected 'wait' or 'fail'"),
        (True, True, "on_blocked=True"),
        (True, ["wait"], "on_blocked="),
    ],
)
def test_terms_that_there_are_not_are_refused(resend: Any, on_blocked: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Terms().but(resend, on_blocked)
