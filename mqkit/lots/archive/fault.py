"""The error of an archive: a file that can't be written, or is none, or is torn."""

from __future__ import annotations

from mqkit.errors import ConfigurationError


class ArchiveFault(ConfigurationError):
    """A file can't be used as an archive; the message names it and says what to do. Nothing has
    left a lot that is not in a file."""


def in_words(error: OSError) -> str:
    """The system's words for what went wrong, without its number and without the path."""
    return (error.strerror or str(error) or type(error).__name__).lower()
