"""Asks Kubernetes' own code and keeps, or checks, the answers."""

from __future__ import annotations

import argparse
import sys

from tests.machinery.answers import recording


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.machinery.answers", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if an answer is another one now")
    check = parser.parse_args().check
    stale = 0
    for name in recording.NAMES:
        answered = recording.ask(name)
        if check:
            stale += answered != recording.recorded(name)
        else:
            recording.keep(name, answered)
        print(f"{name}: {len(answered)} answers")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(_main())
