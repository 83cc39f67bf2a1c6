"""``make bench``: each part beside its peer (kube-apiserver, a plain log, haproxy, a plain process); jobs, playbook."""

from __future__ import annotations

import sys

from bench import apiserver, jobs, node, playbook, store, traffic


def main() -> int:
    """Run all benchmarks, one after another; 1 where one of those with a limit is beyond it."""
    slow = apiserver.main()
    print()
    store.main()
    print()
    traffic.main()
    print()
    node.main()
    print()
    grown = jobs.main()
    print()
    return max(slow, grown, playbook.main())


if __name__ == "__main__":
    sys.exit(main())
