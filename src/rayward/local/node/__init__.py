"""A kubelet's stand-in: pods as processes in namespaces of this machine.

An ordinary client of the API. It registers simulated nodes, binds pods to them, runs their containers and serves what
a kubelet serves. Decisions are pure functions; ``ground`` is the part that lives inside the namespaces.
"""
