"""Asks the real server again and keeps what it says."""

from __future__ import annotations

from tests.machinery.schema.recording import take

if __name__ == "__main__":
    take.write(take.take())
    print(f"recorded {take.FILE.name}: {take.FILE.stat().st_size} bytes")
