"""The API server, writing down which rights its parts use: `python -m tests.node.recorder --data-dir FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from rayward.local.apiserver.__main__ import main
from rayward.local.apiserver.identity import PART, User
from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.rbac.authorizer import Authorizer


def record(file: Path) -> None:
    """Have every right that a part uses written to a file, once."""
    require, used = Authorizer.require, set[str]()

    def recording(self: Authorizer, user: User, access: Access) -> None:
        require(self, user, access)
        line = f"{user.name} {access.group or '-'} {access.part} {access.verb}\n"
        if user.name.startswith(PART) and access.of_resource and line not in used:
            used.add(line)
            with file.open("a") as out:
                out.write(line)

    Authorizer.require = recording


if __name__ == "__main__":
    folder = Path(sys.argv[sys.argv.index("--data-dir") + 1])
    folder.mkdir(parents=True, exist_ok=True)
    record(folder / "rights.txt")
    main()
