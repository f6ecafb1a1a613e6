"""The octets of a segment: records, footer, trailer, checksums, extents.

Law: bytes in, values out, and back; no state of a log is known here. Read ``segment.py`` and
``record.py`` first.
"""
