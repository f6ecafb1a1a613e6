"""Small nouns that know no broker: ids, limits, names, patterns, deadlines, the table of
transitions.

Law: nothing here imports another room of the core. A module that imports a
queue, a channel or a policy belongs to a room above. Read ``moment.py`` and ``limits.py`` first.
"""
