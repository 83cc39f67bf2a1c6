"""Writes the CRDs that the package carries: ``python -m tools.crds``.

Pod templates, services and the like come from the recorded structure of the built-in kinds; Ray's own fields and
rules are written here.
"""
