"""What a plain scalar of YAML means to the server: the same as to every reader of Kubernetes."""

from rayward.kube.machinery.yamlscalar import scalar

__all__ = ["scalar"]
