"""Archives: the messages of a lot in a file, and back.

record       one message as JSON that loses nothing
header_json  headers with their AMQP types, as JSON
identity     the key by which a message is known again
file         a file that is there whole, or under a name that says it is not
formats      the two formats behind one face: ``json_lines`` and ``parquet``
place        the path of an archive
archiving    from a lot into a file: a message leaves the lot when the disk has it
restoring    from a file into a lot, but for what the lot has already
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.lots.archive.archiving import ArchiveReport, archive
    from mqkit.lots.archive.fault import ArchiveFault
    from mqkit.lots.archive.place import Place
    from mqkit.lots.archive.restoring import RestoreReport, restore

__all__ = ["ArchiveFault", "ArchiveReport", "Place", "RestoreReport", "archive", "restore"]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.lots.archive.archiving": ("ArchiveReport", "archive"),
        "mqkit.lots.archive.fault": ("ArchiveFault",),
        "mqkit.lots.archive.place": ("Place",),
        "mqkit.lots.archive.restoring": ("RestoreReport", "restore"),
    },
)
