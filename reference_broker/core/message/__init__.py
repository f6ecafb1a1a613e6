"""A message's parts: content header, headers table, routing keys of copies, body frames.

Law: a content header stays bytes; a function here reads or writes one part of it, and decodes no
more than it was asked for. Read ``content.py`` first.
"""
