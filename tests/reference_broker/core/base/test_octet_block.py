"""octet_block: what was appended, in one block that is copied once, when it is small."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.octet_block import HEAP_BYTES_MAX, OctetBlock

MIB = 1024 * 1024

of_linux = pytest.mark.skipif(sys.platform != "linux", reason="pages that grow")

PROGRAM = """
import ctypes, re
from reference_broker.core.base.octet_block import OctetBlock

def address_of(block):
    view, found = block.whole(), (ctypes.c_void_p * 12)()
    assert ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), found, 0) == 0
    ctypes.pythonapi.PyBuffer_Release(found)
    return found[0]

messages = [bytes(100_000) for _ in range(1_000)]
above = bytes(100_000)  # what keeps the heap from being cut
del messages
found = re.search(r"(\\w+)-(\\w+) \\S+ \\S+ \\S+ \\S+ +\\[heap\\]", open("/proc/self/maps").read())
heap = range(int(found[1], 16), int(found[2], 16))
block, part, in_heap = OctetBlock(), bytes(128 * 1024), 0
while len(block) < 48 * 1024 * 1024:
    block.append(part)
    if address_of(block) in heap:
        in_heap = len(block)
print(len(heap), in_heap)
"""


@given(parts=st.lists(st.binary(max_size=9)))
def test_the_parts_are_in_it_in_their_order(parts: list[bytes]) -> None:
    block = OctetBlock()
    for part in parts:
        block.append(memoryview(part))
    assert len(block) == len(b"".join(parts))
    assert bytes(block.whole()) == b"".join(parts)


@pytest.mark.parametrize("part", [9_999, MIB, HEAP_BYTES_MAX, HEAP_BYTES_MAX + 1])
def test_a_large_block_is_what_was_appended(part: int) -> None:
    block = OctetBlock()
    parts = [bytes([number % 256]) * part for number in range(2 + 3 * HEAP_BYTES_MAX // part)]
    for each in parts:
        block.append(each)
    assert len(block) == part * len(parts)
    assert bytes(block.whole()) == b"".join(parts)


@of_linux
def test_nobody_can_change_a_large_block() -> None:
    block = OctetBlock()
    block.append(bytes(HEAP_BYTES_MAX + 1))
    whole = block.whole()
    assert isinstance(whole, memoryview)
    assert whole.readonly


@of_linux
def test_a_large_block_has_no_hole_of_the_heap_to_grow_out_of() -> None:
    """There it would be copied as a whole, whatever it has become, in one turn of the loop."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    heap_bytes, in_heap_bytes = map(int, answer.stdout.split())
    assert heap_bytes > 90 * MIB
    assert in_heap_bytes <= HEAP_BYTES_MAX
