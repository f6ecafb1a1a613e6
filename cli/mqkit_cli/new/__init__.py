"""``mqkit new``: a service to begin with.

service     its names, checked
rendering   the templates with these names in them, as files
command     the command: all of the folder, or nothing
templates/  the files; ``§name`` in them is a name of the service
"""
