"""Scripts: fixed inputs of clients, which have the same end however long the turns of a broker are.

Read :mod:`script` first. :mod:`writing` makes one of a seed, :mod:`playing` plays it.
"""
