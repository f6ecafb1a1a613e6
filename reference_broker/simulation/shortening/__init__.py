"""A failing seed in short: what is left when all that it doesn't need is cut away, and its story.

Read ``search.py`` first. Law: a cut breaks the same law as its seed, and is a value that replays.
"""
