"""Questions about label and field selectors."""

from __future__ import annotations

from random import Random
from typing import Any

from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.selectors import LabelSelector, fields, labels
from rayward.local.apiserver.builtin.check import label_selector
from tests.machinery.answers.question import Object, Question

_SETS: list[dict[str, str]] = [
    {},
    {"a": "b"},
    {"a": ""},
    {"a": "5", "in": "x"},
    {"x.io/k": "v", "a": "b"},
    {"notin": "in"},
    {"a": "-7"},
    {"a": "9223372036854775808"},
]
_WORDS = [
    "a",
    "b",
    "in",
    "notin",
    *"(),=!<> ",
    "==",
    "!=",
    "x.io/k",
    "v",
    "5",
    "-7",
    "\t",
    "^",
    "A" * 64,
    "a/b/c",
    "===",
]
_FIELD_WORDS = ["a", "b.c", "=", "==", "!=", ",", "\\", "\\,", "\\=", "\\\\", "é", " ", "!"]


def questions(random: Random) -> list[Question]:
    texts = ["".join(random.choices(_WORDS, k=random.randint(0, 8))) for _ in range(500)]
    texts += [
        random.choice([",", ", "]).join(_requirement(random) for _ in range(random.randint(1, 3))) for _ in range(500)
    ]
    objects = [_object(random) for _ in range(300)]
    return [
        *(Question("labels", [text, _SETS]) for text in texts),
        *(Question("selector object", [each, _SETS]) for each in objects),
        *(Question("selector errors", [each]) for each in objects),
        *(Question("fields", ["".join(random.choices(_FIELD_WORDS, k=random.randint(0, 8)))]) for _ in range(400)),
    ]


def ours(about: str, given: list[Any]) -> Any:
    match about:
        case "labels":
            return _selection(labels.parse(given[0]), given[1])
        case "selector object":
            return _selection(labels.from_object(given[0]), given[1])
        case "selector errors":
            errors: list[FieldError] = []
            label_selector(given[0], "spec.selector", errors)
            return [[error.reason.value, error.field, error.body] for error in errors]
        case _:
            return str(fields.parse(*given))


def _selection(selector: LabelSelector, sets: list[dict[str, str]]) -> Object:
    return {"text": str(selector), "matched": [selector.matches(each) for each in sets]}


def _requirement(random: Random) -> str:
    key = random.choice(["a", "in", "notin", "x.io/k", "b"])
    match random.randrange(4):
        case 0:
            return random.choice(["", "!"]) + key
        case 1:
            return key + random.choice(["=", "==", "!=", " = "]) + random.choice(["b", "", "v", "in"])
        case 2:
            return key + random.choice("<>") + random.choice(["5", "0", "x", "-7", "6"])
        case _:
            values = random.choice(["a,b", "", "b", ",", "b,,a", " x , y ", "a b"])
            return f"{key}{random.choice([' in ', ' notin ', ' in'])}({values})"


def _object(random: Random) -> Object:
    expressions = [
        {
            "key": random.choice(["a", "in", "b!", ""]),
            "operator": random.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", ""]),
            "values": random.choice([[], ["a"], ["b", "a"], ["-", "!"], ["b", "b"]]),
        }
        for _ in range(random.randint(0, 3))
    ]
    return {
        "matchLabels": random.choice([{}, {"a": "b"}, {"a": "b", "x.io/k": "v"}, {"a!": "-"}]),
        "matchExpressions": expressions,
    }
