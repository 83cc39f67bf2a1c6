"""What an edit does: for every field that differs between two versions of an object, the effect it has.

One truth for two readers. The operator decides with ``release_change``, ``replaced_code`` and ``renewal``; the
playbook predicts with ``effects``, which names every changed field and answers through the same functions. Whose
rules apply is an argument: Rayward's own, or those of KubeRay's operator.
"""

from rayward.kinds.effects.change import Change, Effect, Effects, Rules
from rayward.kinds.effects.decisions import Code, ReleaseChange, code_of, release_change, renewal, replaced_code
from rayward.kinds.effects.differences import Difference, differences, same_meaning
from rayward.kinds.effects.predict import effects

__all__ = [
    "Change",
    "Code",
    "Difference",
    "Effect",
    "Effects",
    "ReleaseChange",
    "Rules",
    "code_of",
    "differences",
    "effects",
    "release_change",
    "renewal",
    "replaced_code",
    "same_meaning",
]
