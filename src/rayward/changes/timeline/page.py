"""The timeline as one self-contained page: a lane for each object, a mark for each thing that happened."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rayward.changes.timeline.entry import Entry
from rayward.kube.core.meta import parse_time

_COLOURS = {
    "spec": "#3b6fd4",
    "outcome": "#6d4bc4",
    "traffic": "#0f8f5f",
    "condition": "#777",
    "pod": "#b07a00",
    "event": "#999",
    "created": "#4aa3a3",
    "deleted": "#c0392b",
}
_WIDTH, _LEFT, _LANE = 1100, 260, 26
_STYLE = """
body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%}td{padding:2px 8px;border-bottom:1px solid #eee;vertical-align:top}
td:first-child{white-space:nowrap;color:#555}pre{margin:0;white-space:pre-wrap;color:#555}
svg{max-width:100%;height:auto}.lane{fill:#444;font-size:12px}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}td{border-color:#333}.lane{fill:#bbb}}
"""


def page(title: str, entries: Sequence[Entry], told: str = "") -> str:
    """HTML without anything that is fetched; ``told`` says where the entries are from, and since when."""
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1><p>{escape(told)}</p>{_lanes(entries)}"
        f"<table>{''.join(map(_row, entries))}</table></body></html>\n"
    )


def _lanes(entries: Sequence[Entry]) -> str:
    if not entries:
        return "<p>Nothing is recorded.</p>"
    names = list(dict.fromkeys(f"{one.kind}/{one.name}" for one in entries))
    first, last = parse_time(entries[0].at), parse_time(entries[-1].at)
    span = max((last - first).total_seconds(), 1.0)
    parts: list[str] = []
    for index, name in enumerate(names):
        y = 20 + index * _LANE
        own = [one for one in entries if f"{one.kind}/{one.name}" == name]
        xs = [_LEFT + (parse_time(one.at) - first).total_seconds() / span * (_WIDTH - _LEFT - 20) for one in own]
        parts.append(f"<text class=lane x=0 y={y + 4}>{escape(name[:40])}</text>")
        parts.append(f'<line x1={xs[0]:.1f} x2={xs[-1]:.1f} y1={y} y2={y} stroke="#bbb" stroke-width=2 />')
        parts += [_mark(x, y, one) for x, one in zip(xs, own, strict=True)]
    height = 20 + len(names) * _LANE
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role=img aria-label=lanes>{"".join(parts)}</svg>'


def _mark(x: float, y: int, one: Entry) -> str:
    told = escape(f"{one.at} {one.text}")
    return f'<circle cx={x:.1f} cy={y} r=5 fill="{_COLOURS[one.what]}"><title>{told}</title></circle>'


def _row(one: Entry) -> str:
    detail = f"<pre>{escape(one.detail)}</pre>" if one.detail else ""
    by = f" <em>by {escape(one.by)}</em>" if one.by else ""
    about = escape(f"{one.kind}/{one.name}")
    return f"<tr><td>{escape(one.at)}</td><td>{about}</td><td>{escape(one.text)}{by}{detail}</td></tr>"
