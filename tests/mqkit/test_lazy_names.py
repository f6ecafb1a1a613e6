"""Names that are loaded at their first use: all of them are there.

What is not loaded before: tests/mqkit/whole/test_imports.py.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

import pytest

from mqkit.lazy_names import lazy_names

PACKAGES = ("mqkit", "mqkit.topology", "mqkit.retry", "mqkit.outbox", "mqkit.inbox")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_loaded_and_is_no_submodule(package: str) -> None:
    for _ in range(2):  # once more when every submodule is loaded
        module = import_module(package)
        for name in module.__all__:
            assert not isinstance(getattr(module, name), ModuleType), name
        for submodule in pkgutil.iter_modules(module.__path__):
            import_module(f"{package}.{submodule.name}")


def test_a_name_is_looked_up_once() -> None:
    load = lazy_names(__name__, {"mqkit.outcome": ("Confirmed",)})
    first = load("Confirmed")
    assert globals()["Confirmed"] is first
    with pytest.raises(AttributeError, match="'nothing'"):
        load("nothing")
