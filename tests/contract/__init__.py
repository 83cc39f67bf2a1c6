"""The contract suite: what a real kube-apiserver answers, asked of any server.

A case (cases/*.py) says what is sent. What comes back was recorded from a real server (recorded/*.json.gz) and is
compared word by word, with only what no two servers can share masked: uids, resource versions, times, random suffixes.
"""
