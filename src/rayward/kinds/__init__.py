"""The vocabulary: kinds of ray.io/v1 and kueue.x-k8s.io/v1beta2, names, labels, defaults, validation, CRD manifests.

Data and pure functions; nothing here reads a clock, a network or a file outside the package.
"""
