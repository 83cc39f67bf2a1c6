"""Questions of ours, answered by Kubernetes' own Go code: what the machinery must answer too.

``python -m tests.machinery.answers`` asks again and writes the answers; ``--check`` only compares.
"""
