"""What a real kube-apiserver says about schemas, values and rules.

``python -m tests.machinery.schema.recording`` asks it again.
"""
