"""Deletion of namespaces: all they hold goes, then they do.

``conditions`` says what their status tells, ``contents`` removes and counts, ``controller`` puts both to work.
"""
