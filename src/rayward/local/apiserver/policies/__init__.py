"""ValidatingAdmissionPolicies: which ones concern a request, and what their expressions say of it."""

from rayward.local.apiserver.policies.dispatch import Policies

__all__ = ["Policies"]
