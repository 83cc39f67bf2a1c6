"""The one error of this room."""

from __future__ import annotations


class SelectorError(ValueError):
    """The text or object is no selector; the message is Kubernetes' and fits a 400 answer."""
