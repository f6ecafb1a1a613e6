"""The base class of all AMQP methods: ids, name, and a mark for those with content."""

from __future__ import annotations

from typing import ClassVar


class Method:
    """The base of all methods. A method is a value: never changed once it is made.

    (They are not frozen dataclasses because those take twice as long to make.)
    """

    __slots__ = ()

    CLASS_ID: ClassVar[int]
    METHOD_ID: ClassVar[int]
    NAME: ClassVar[str]
    """As the specification writes it: ``queue.declare-ok``."""
    HAS_CONTENT: ClassVar[bool] = False
    """True if a content header frame, and a body, follow on the same channel."""
