"""Records the specification of the embedded API server from a real kube-apiserver.

``python -m tests.kube.record`` writes every recording into ``rayward.local.apiserver.recorded``; with ``--check`` it
writes nothing and fails when one is stale.
"""
