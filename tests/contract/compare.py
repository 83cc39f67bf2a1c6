"""What differs between two answers, as few lines as possible, each with its full path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from tests.contract.case import Case, Step
from tests.contract.play import Answer

_WIDE = 400


def differences(expected: list[Answer], got: list[Answer]) -> dict[int, list[str]]:
    """Per step that differs, its `-` expected and `+` received lines."""
    pairs = enumerate(zip(expected, got, strict=True))
    return {index: lines for index, (want, have) in pairs if (lines := _without_echo(list(_compare("", want, have))))}


def _without_echo(lines: list[str]) -> list[str]:
    # The message of a Status repeats its causes.
    if any("body.details.causes" in line for line in lines):
        return [line for line in lines if not line[2:].startswith("body.message")] or lines
    return lines


def report(theme: str, case: Case, differing: dict[int, list[str]], *, lines: int, every_step: bool) -> str:
    """The differences of a case to read; by default only of its first differing step."""
    first, *others = differing
    shown = [first, *others] if every_step else [first]
    text = [f"FAIL {theme}/{case.name}"]
    for index in shown:
        text.append(f"  step {index + 1} of {len(case.steps)}: {_request(case.steps[index])}")
        text += [f"    {line}" for line in differing[index][:lines]]
        if len(differing[index]) > lines:
            text.append(f"    ... and {len(differing[index]) - lines} more lines")
    if others and not every_step:
        text.append(f"  also differs in step {', '.join(str(index + 1) for index in others)}")
    return "\n".join(text)


def _request(step: Step) -> str:
    kind = step.headers.get("Content-Type", "").removeprefix("application/")
    agent = step.headers.get("User-Agent", "").removesuffix("/1.0")
    extra = " ".join(part for part in (kind, f"as {agent}" if agent else "", step.headers.get("Accept", "")) if part)
    body = ""
    if step.body is not None:
        text = step.body if isinstance(step.body, str) else json.dumps(step.body, default=repr)
        body = "\n    > " + (text if len(text) <= _WIDE else text[:_WIDE] + "...")
    return f"{step.method} {step.path}{f' [{extra}]' if extra else ''}{body}"


def _compare(path: str, want: Any, have: Any) -> Iterator[str]:
    if isinstance(want, dict) and isinstance(have, dict):
        for key in sorted(want.keys() | have.keys()):
            at = f"{path}.{key}" if path else key
            if key not in have:
                yield f"- {at} = {_show(want[key])}"
            elif key not in want:
                yield f"+ {at} = {_show(have[key])}"
            else:
                yield from _compare(at, want[key], have[key])
    elif isinstance(want, list) and isinstance(have, list):
        yield from _compare_lists(path, want, have)
    elif want != have or type(want) is not type(have):
        if isinstance(want, str) and isinstance(have, str):
            want, have = _around_the_difference(want, have)
        yield f"- {path} = {_show(want)}"
        yield f"+ {path} = {_show(have)}"


def _compare_lists(path: str, want: list[Any], have: list[Any]) -> Iterator[str]:
    if len(want) == len(have):
        for index, (left, right) in enumerate(zip(want, have, strict=True)):
            yield from _compare(f"{path}[{index}]", left, right)
        return
    left, right = [_show(item, 10**9) for item in want], [_show(item, 10**9) for item in have]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "replace" and i2 - i1 == j2 - j1:
            for offset in range(i2 - i1):
                yield from _compare(f"{path}[{i1 + offset}]", want[i1 + offset], have[j1 + offset])
        elif tag != "equal":
            yield from (f"- {path}[{i}] = {_show(want[i])}" for i in range(i1, i2))
            yield from (f"+ {path}[{j}] = {_show(have[j])}" for j in range(j1, j2))


def _around_the_difference(want: str, have: str) -> tuple[str, str]:
    if max(len(want), len(have)) <= _WIDE // 2:
        return want, have
    pairs = enumerate(zip(want, have, strict=False))
    same = next((index for index, (left, right) in pairs if left != right), min(len(want), len(have)))
    start = max(0, same - 60)
    lead = "..." if start else ""
    return lead + want[start : same + 160], lead + have[start : same + 160]


def _show(value: Any, width: int = _WIDE) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= width else f"{text[:width]}... ({len(text)} characters)"
