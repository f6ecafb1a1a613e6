"""Names loaded at their first use: all of them are there, and what is not used is not loaded."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from mqkit.lazy_names import lazy_names

PACKAGES = ("mqkit", "mqkit.topology", "mqkit.retry")
HEAVY = {
    "import mqkit": ("asyncio", "aio_pika", "anyio", "logging", "pika", "pydantic", "ruamel"),
    "from mqkit import App": (
        "aio_pika",
        "fractions",
        "mqkit.retry.parking_lot",
        "mqkit.topology.read",
        "mqkit.topology.snapshot",
        "mqkit.wire",
        "pika",
        "pydantic",
        "ruamel",
        "tenacity",
    ),
}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_loaded_and_is_no_submodule(package: str) -> None:
    for _ in range(2):  # once more when every submodule is loaded
        module = import_module(package)
        for name in module.__all__:
            assert not isinstance(getattr(module, name), ModuleType), name
        for submodule in pkgutil.iter_modules(module.__path__):
            import_module(f"{package}.{submodule.name}")


@pytest.mark.parametrize(("program", "heavy"), HEAVY.items())
def test_what_is_not_used_is_not_loaded(program: str, heavy: tuple[str, ...]) -> None:
    asked = f"import sys; {program}; print(*[m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_a_name_is_looked_up_once() -> None:
    load = lazy_names(__name__, {"mqkit.outcome": ("Confirmed",)})
    first = load("Confirmed")
    assert globals()["Confirmed"] is first
    with pytest.raises(AttributeError, match="'nothing'"):
        load("nothing")
