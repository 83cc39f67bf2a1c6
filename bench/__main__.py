"""``make bench``: each part beside its peer (kube-apiserver, a plain log, haproxy, a plain process); jobs, playbook."""

from __future__ import annotations

import sys

from bench import apiserver, jobs, node, playbook, store, traffic


def main() -> int:
    """Run all benchmarks, one after another."""
    apiserver.main()
    print()
    store.main()
    print()
    traffic.main()
    print()
    node.main()
    print()
    jobs.main()
    print()
    playbook.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
