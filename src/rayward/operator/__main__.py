"""``python -m rayward.operator``: the operator, in the foreground."""

from __future__ import annotations

from rayward.operator.arguments import main

if __name__ == "__main__":
    main()
