"""``python -m rayward.stack.operator``: the operator and, where it is asked for, quota beside it, in the foreground."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rayward.kinds.admission import Admission
from rayward.kube.client.access import Access
from rayward.operator import arguments, process
from rayward.operator.process import Settings
from rayward.stack.composition import check_alone, check_settings, composed


async def run(access: Access, settings: Settings) -> None:
    """Work until cancelled."""
    check_settings(settings)
    checks = (check_alone,) if settings.queueing.admission is Admission.EMBEDDED else ()
    await process.run(access, settings, composed(settings.queueing, settings.machine_queue), checks)


def main(words: Sequence[str] | None = None) -> int:
    """Work until told to stop."""
    return arguments.main(words, run)


if __name__ == "__main__":
    sys.exit(main())
