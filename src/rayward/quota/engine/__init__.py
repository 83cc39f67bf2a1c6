"""The embedded engine: admits Workloads as Kueue v0.18 would, where no Kueue is.

``tree`` holds quota and usage, ``queue`` who waits, ``cycle`` decides; nothing there reads a clock or a network.
"""
