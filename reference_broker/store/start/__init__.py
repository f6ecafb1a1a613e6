"""Starting: segments found on disk become a recovered log, by footers where they can be trusted.

Law: what is damaged below the synced position is reported and never cut silently. Read
``opening.py`` first.
"""
