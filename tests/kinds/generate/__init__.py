"""Writes the CRDs that the package carries: ``python -m tests.kinds.generate``.

Pod templates, services and the like come from the recorded structure of the built-in kinds; Ray's own fields and
rules are written here.
"""
