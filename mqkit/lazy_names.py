"""Names of a package that are loaded when they are first used (PEP 562).

``import mqkit`` is in the start of every worker, function and command line: who only publishes
does not load the YAML reader or the parking lot's tools.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``package``, which finds in ``modules`` the names of each module.

    No name may be that of a submodule: once loaded, the submodule would stand in its place.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
