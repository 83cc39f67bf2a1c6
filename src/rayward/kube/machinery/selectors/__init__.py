"""Label and field selectors: parsed once, matched once per object per watcher.

``labels`` reads query text and ``LabelSelector`` objects; ``fields`` reads field selectors.
"""

from rayward.kube.machinery.selectors.error import SelectorError
from rayward.kube.machinery.selectors.fields import FieldSelector
from rayward.kube.machinery.selectors.labels import LabelSelector

__all__ = ["FieldSelector", "LabelSelector", "SelectorError"]
