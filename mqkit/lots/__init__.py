"""The tools for parking lots: choose, look, archive, restore, replay, move, count, empty.

    link            the broker, with what is known of its lots; a deadline for each step
    choice          which messages: by id, reason, age, header, attempts, a condition (``where/``)
    reading         a lot, once, in order, in bounded windows
    archive/        into a file, and back
    replay/         back to work, with changes if need be
    moving, looking, emptying

The law of this room: a message leaves a lot only when the broker has confirmed it elsewhere, when
the disk has it, or when somebody purges. Whatever else happens, it stays, in its place.
"""
