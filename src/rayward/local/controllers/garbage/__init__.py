"""Garbage collection: what nobody owns any more goes, in the order that deleters asked for.

``graph`` remembers who owns whom, ``decide`` says what to do about one object, ``collector`` looks and does.
"""
