"""Kubernetes' algorithms as pure functions over plain JSON values.

Nothing here does I/O, reads a clock or imports another room of ours.
"""
