from __future__ import annotations

from pathlib import Path

from rayward.changes.timeline import Entry, Store


def _entry(number: int, detail: str = "") -> Entry:
    return Entry(f"2026-01-01T00:00:{number % 60:02d}Z", "team", "RayCluster", "c", "pod", f"{number}", detail=detail)


def test_what_was_appended_is_read_by_another_process(tmp_path: Path) -> None:
    Store(tmp_path).append([_entry(1), _entry(2)])
    Store(tmp_path).append([_entry(3)])
    assert [one.text for one in Store(tmp_path).read()] == ["1", "2", "3"]


def test_it_is_bounded_on_disk_and_the_oldest_goes(tmp_path: Path) -> None:
    store = Store(tmp_path, file_bytes=2_000, files=3)
    for number in range(500):
        store.append([_entry(number)])
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 6_000
    kept = [int(one.text) for one in store.read()]
    assert kept == list(range(kept[0], 500))
    assert len(kept) > 20


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append([_entry(1)])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes() + b'{"at":"2026')
    store.append([_entry(2)])
    store.append([_entry(3)])
    assert [one.text for one in store.read()] == ["1", "3"]


def test_a_huge_entry_is_cut(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append([_entry(1, detail="x" * 10_000_000)])
    (one,) = store.read()
    assert len(one.detail) < 20_000


def test_without_a_folder_it_is_in_memory() -> None:
    store = Store()
    store.append([_entry(1)])
    assert [one.text for one in store.read()] == ["1"]
