"""Why an object is not as it was asked for: one cause, its evidence, the next command.

``evidence`` gathers what the API server knows of an object and its children, ``rules`` are data that each recognise one
cause in it, ``explaining`` picks the first that fits. The same on every operator: what is read is what Kubernetes and
Ray's kinds say themselves.
"""

from rayward.changes.why.evidence import Evidence, gather
from rayward.changes.why.explaining import Diagnosis, explain
from rayward.changes.why.rules import RULES, Rule

__all__ = ["RULES", "Diagnosis", "Evidence", "Rule", "explain", "gather"]
