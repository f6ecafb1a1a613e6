"""The memory that an object holds, measured: the sizes of all objects that can be reached from it.

    before = graph_bytes(lone.broker)
    ...
    grown = graph_bytes(lone.broker) - before

For tests that compare what the broker accounts for with what it holds. Classes, modules, functions
and code are everybody's, and are not walked into.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

_ALIGNMENT = 16
"""CPython's allocator gives out blocks of multiples of this."""

_EVERYBODYS = (
    type, ModuleType, FunctionType, BuiltinFunctionType, CodeType,
    GetSetDescriptorType, MemberDescriptorType, WrapperDescriptorType,
)  # fmt: skip


def graph_bytes(root: object, without: Iterable[object] = ()) -> int:
    """Bytes of ``root`` and of everything that it leads to, past the objects of ``without``."""
    return sum(graph_bytes_by_class(root, without).values())


def graph_bytes_by_class(root: object, without: Iterable[object] = ()) -> Counter[str]:
    """:func:`graph_bytes`, by the names of the classes of the objects."""
    seen = {id(each) for each in without}
    sizes: Counter[str] = Counter()
    ahead: list[Any] = [root]
    while ahead:
        each = ahead.pop()
        if id(each) in seen or isinstance(each, _EVERYBODYS):
            continue
        seen.add(id(each))
        sizes[type(each).__name__] += -(-sys.getsizeof(each) // _ALIGNMENT) * _ALIGNMENT
        ahead += gc.get_referents(each)
    return sizes
