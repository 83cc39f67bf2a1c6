from __future__ import annotations

import pytest

from rayward.changes.ignoring import is_ignored, parse


@pytest.mark.parametrize(
    ("lines", "path", "is_folder", "ignored"),
    [
        (["*.log"], "a.log", False, True),
        (["*.log"], "deep/down/a.log", False, True),
        (["*.log"], "a.logs", False, False),
        (["/a.log"], "a.log", False, True),
        (["/a.log"], "deep/a.log", False, False),
        (["deep/a.log"], "deep/a.log", False, True),
        (["deep/a.log"], "very/deep/a.log", False, False),
        (["data/"], "data", True, True),
        (["data/"], "data", False, False),
        (["data/"], "some/data", True, True),
        (["**/cache"], "cache", True, True),
        (["**/cache"], "a/b/cache", True, True),
        (["a/**"], "a/b/c", False, True),
        (["a/**"], "a", True, False),
        (["a/**/z"], "a/z", False, True),
        (["a/**/z"], "a/b/c/z", False, True),
        (["a/*/z"], "a/b/c/z", False, False),
        (["*.txt", "!keep.txt"], "keep.txt", False, False),
        (["!keep.txt", "*.txt"], "keep.txt", False, True),
        (["file?.py"], "file1.py", False, True),
        (["file?.py"], "file/.py", False, False),
        (["file[0-9].py"], "file7.py", False, True),
        (["file[!0-9].py"], "file7.py", False, False),
        (["\\#odd"], "#odd", False, True),
        (["# comment", "", "   "], "# comment", False, False),
        (["\\!odd"], "!odd", False, True),
        (["trailing   "], "trailing", False, True),
        (["a.b"], "axb", False, False),
        (["[z-a]"], "b", False, False),
        (["/"], "anything", True, False),
    ],
)
def test_git_would_say_the_same(lines: list[str], path: str, is_folder: bool, ignored: bool) -> None:
    assert is_ignored(parse(lines), path, is_folder=is_folder) is ignored


def test_a_file_below_speaks_of_its_own_folder_and_last() -> None:
    rules = (*parse(["*.csv"]), *parse(["!kept.csv", "/top.py"], "data"))
    assert is_ignored(rules, "data/other.csv", is_folder=False)
    assert not is_ignored(rules, "data/kept.csv", is_folder=False)
    assert is_ignored(rules, "kept.csv", is_folder=False)
    assert is_ignored(rules, "data/top.py", is_folder=False)
    assert not is_ignored(rules, "top.py", is_folder=False)
