"""``make bench``: the API server beside the real one, then the store beside a plain log."""

from __future__ import annotations

import sys

from bench import apiserver, store


def main() -> int:
    """Run all benchmarks, one after another."""
    apiserver.main()
    print()
    store.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
