"""Rayward for a user without root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.soak
@pytest.mark.skipif(
    os.getuid() == 0 and not (shutil.which("setpriv") and shutil.which("useradd")),
    reason="as root it takes setpriv and useradd to become an ordinary user",
)
def test_an_ordinary_user_sees_the_demo_and_upgrades_on_real_ray() -> None:
    done = subprocess.run(
        [_ROOT / "tools" / "ordinary_user.sh"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
