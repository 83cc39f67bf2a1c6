"""What an edit does: for every field that differs between two versions of an object, the effect it has.

One truth for two readers. The operator decides with ``release_change`` and ``renewal``, which read typed specs; the
playbook predicts with ``effects``, which names every changed field and answers through the same two functions. Whose
rules apply is an argument: Rayward's own, or those of KubeRay's operator.
"""

from rayward.kinds.effects.change import Change, Effect, Effects, Rules
from rayward.kinds.effects.decisions import ReleaseChange, release_change, renewal
from rayward.kinds.effects.differences import Difference, differences, same_meaning
from rayward.kinds.effects.predict import effects

__all__ = [
    "Change",
    "Difference",
    "Effect",
    "Effects",
    "ReleaseChange",
    "Rules",
    "differences",
    "effects",
    "release_change",
    "renewal",
    "same_meaning",
]
