"""``make bench``: the API server beside the real one, the store beside a plain log, the traffic beside haproxy, and
pods beside processes.
"""

from __future__ import annotations

import sys

from bench import apiserver, node, store, traffic


def main() -> int:
    """Run all benchmarks, one after another."""
    apiserver.main()
    print()
    store.main()
    print()
    traffic.main()
    print()
    node.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
