"""The pydantic model of a body, for handlers that ask for one."""

from __future__ import annotations

from pydantic import BaseModel


class Flight(BaseModel):
    """A record like those of mqkit's demo."""

    origin: str
    delay: int
    note: str
