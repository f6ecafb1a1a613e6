"""The web application and its listener: routes of all rooms, time-outs, the page for people.

Law: this room wires; a path's meaning is in the room of its object. Read ``app.py`` first.
"""
