"""The built-in kinds of the embedded API server: how each is read, filled in, checked, changed and shown.

Everything here is a pure function of objects; what needs the state of the server (addresses, accounts, priority
classes) takes that state as an argument.

A kind with more than one module is a folder; ``strategy`` is where it begins, as in Kubernetes' own registry.

Where fidelity stops: a kind that is served is decoded, filled in, checked and shown as kube-apiserver does it with its
feature gates as shipped, in its words. Left out is what needs a kind that is not served, a gate that is off, a cloud,
or a version of the kind that Kubernetes serves no longer. A difference that a client can see is a case of the contract
suite that says why (``differs``); what no recording shows is not guessed.
"""

from rayward.local.apiserver.builtin.catalog import behaviour_of_kind, resources

__all__ = ["behaviour_of_kind", "resources"]
