"""Rules by exception: their names, the nearest class, the names that nobody has."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.retry import Park, Signal, Then
from mqkit.retry.error_rule import ErrorRule, rule_for, unknown_names


class Refused(Exception):
    """A base of its own module."""


class AddressRefused(Refused): ...


class Transient:
    """A base that is no exception."""


class Flaky(Transient, ConnectionError): ...


def rules(*names: str) -> list[ErrorRule]:
    return [ErrorRule(name, Then.PARK) for name in names]


def found(error: type[BaseException], *names: str) -> str | None:
    rule = rule_for(rules(*names), error)
    return None if rule is None else rule.name


def test_a_rule_holds_for_its_class_and_for_those_below_it() -> None:
    assert found(Refused, "Refused") == "Refused"
    assert found(AddressRefused, "Refused") == "Refused"
    assert found(Refused, "AddressRefused") is None
    assert found(ValueError, "Refused") is None


def test_the_nearest_class_wins_whatever_the_order_of_the_rules() -> None:
    for names in (("Exception", "AddressRefused", "Refused"), ("Refused", "Exception")):
        nearest = "AddressRefused" if "AddressRefused" in names else "Refused"
        assert found(AddressRefused, *names) == nearest
        assert found(AddressRefused, *reversed(names)) == nearest


def test_a_name_may_have_its_module_and_then_it_goes_before_the_short_one() -> None:
    whole = f"{__name__}.Refused"
    assert found(Refused, whole) == whole
    assert found(Refused, "Refused", whole) == whole
    assert found(TimeoutError, "builtins.TimeoutError") == "builtins.TimeoutError"
    assert found(Refused, "elsewhere.Refused") is None


def test_a_base_that_is_no_exception_has_a_name_too_but_not_the_root_of_all_classes() -> None:
    assert found(Flaky, "Transient") == "Transient"
    assert found(Flaky, "object") is None


def test_in_python_a_rule_takes_the_class_itself() -> None:
    class Local(Exception): ...

    assert ErrorRule.of(Refused, ["1s", "5s"]).after == (1_000, 5_000)
    assert ErrorRule.of("Refused", "drop") == ErrorRule("Refused", Then.DROP)
    assert ErrorRule.of(Refused, "park").after == ()
    local = ErrorRule.of(Local, "park")
    assert rule_for([local], Local) is local


@pytest.mark.parametrize(
    ("name", "response", "said"),
    [
        ("", "park", "not the name of an exception class"),
        (5, "park", "5 is neither an exception class nor its name"),
        ("Invalid Address", "park", r"shop\.errors\.InvalidAddress"),
        ("a..b", "park", "not the name"),
        ("5s", "park", "not the name"),
        ("Refused", "5s", "'5s': expected 'park', 'drop', or a list"),
        ("Refused", [], "1 to 32"),
        ("Refused", ["5s", "1s"], "must not fall"),
        ("Refused", ["soon"], "not a duration"),
    ],
)
def test_a_rule_that_can_not_be_kept_is_refused(name: Any, response: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ErrorRule.of(name, response)


def test_names_that_no_loaded_exception_has_are_told() -> None:
    asked = rules("TimeoutError", "Refused", "Transient", "TimeoutErorr", f"{__name__}.Flaky")
    assert unknown_names(asked) == ("TimeoutErorr",)
    assert unknown_names(rules("object")) == ("object",)


def test_classes_that_rules_are_never_asked_about_do_not_count() -> None:
    assert Park.__name__ == "Park"
    assert unknown_names(rules("Park", "Signal", "Exception"), (Signal,)) == ("Park", "Signal")
