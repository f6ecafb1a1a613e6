"""``depends``: what it takes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mqkit.errors import ConfigurationError
from mqkit.resources import Dependency, Scope, depends


def make() -> int:
    return 1


def test_two_of_one_function_and_scope_are_the_same() -> None:
    assert cast(object, depends(make)) == Dependency(make, Scope.MESSAGE)
    assert cast(object, depends(make)) == depends(make, scope="message")
    assert cast(object, depends(make)) != depends(make, scope="app")
    assert Dependency(make, Scope.APP).name == "make"


def test_what_is_no_function_and_another_scope_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected a function"):
        depends(cast(Any, 7))
    with pytest.raises(ConfigurationError, match='expected "message" or "app"'):
        depends(make, scope=cast(Any, "batch"))
