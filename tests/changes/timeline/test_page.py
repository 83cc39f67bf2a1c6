from __future__ import annotations

from rayward.changes.timeline import Entry
from rayward.changes.timeline.page import page


def test_the_page_is_self_contained_and_escapes_what_it_shows() -> None:
    entries = [
        Entry("2026-01-01T00:00:00Z", "team", "RayService", "shop", "spec", "generation 2 was requested", "ada"),
        Entry("2026-01-01T00:00:09Z", "team", "RayCluster", "shop-x", "condition", "<b>", detail="<script>"),
    ]
    made = page("rayservice/shop", entries)
    assert "<script" not in made.replace("&lt;script&gt;", "")
    assert made.count("<circle") == 2
    assert "by ada" in made
    assert "http" not in made
    assert "Nothing is recorded" in page("x", [])
