"""What a body becomes, where a handler asks for a pydantic model."""

from __future__ import annotations

from pydantic import BaseModel


class Flight(BaseModel):
    """A record like those of mqkit's demo."""

    origin: str
    delay: int
    note: str
