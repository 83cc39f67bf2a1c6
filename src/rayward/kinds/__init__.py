"""The vocabulary: the kinds of ray.io/v1, their names, labels, defaults, validation and CRD manifests.

Data and pure functions; nothing here reads a clock, a network or a file outside the package.
"""
