"""The built-in kinds of the embedded API server: how each is read, filled in, checked, changed and shown.

Everything here is a pure function of objects; what needs the state of the server (addresses, accounts, priority
classes) takes that state as an argument.
"""

from rayward.local.apiserver.builtin.catalog import behaviour_of_kind, resources

__all__ = ["behaviour_of_kind", "resources"]
