"""The main job, shown: a local Kubernetes, real Ray on it, and a service that is changed under load.

Every step is made of commands that you can type yourself. It all lies in .cache/demo of this checkout; `make down`
removes it.
"""

from __future__ import annotations

import os
import sys
import time

from demo.changes import show_broken_release, show_record, show_undo, show_upgrade, show_why
from demo.cluster import show_cluster
from demo.job import show_job
from demo.page import show_page
from demo.quota import show_quota
from demo.service import requests, show_service
from demo.shell import FOLDER, ROOT, rayward, show


def main() -> int:
    """Run the demo."""
    os.environ["RAYWARD_DATA_DIR"] = str(FOLDER)
    os.chdir(ROOT)
    began = time.monotonic()
    rayward("up", "--cpus", "8", "--memory", "16Gi")
    show_page()
    show_cluster()
    show_job()
    address = show_service()
    with requests(address) as load:
        show_upgrade(load)
        show_undo(load)
        show_broken_release(load)
        show_why(load)
    show_record()
    show_quota()
    rayward("status")
    show(f"\nFrom nothing to here in {time.monotonic() - began:.0f} s. It stays up for you:")
    show(f"  curl http://{address}/?name=you")
    show(f"  export RAYWARD_DATA_DIR={FOLDER} KUBECONFIG={FOLDER / 'kubeconfig'}")
    show("  rayward get all   # or kubectl; `make down` ends it and removes its data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
