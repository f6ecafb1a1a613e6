"""The watchers: the history of a run, the model beside the broker, and the checkers of laws.

Law: a watcher sees what clients and the disk see, and changes nothing. Read ``history.py`` first.
"""
