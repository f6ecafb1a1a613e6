"""Scripts: fixed inputs of clients, which can be played on any broker and give the same end.

Read :mod:`script` first. :mod:`writing` makes one of a seed, :mod:`playing` plays it.
"""
