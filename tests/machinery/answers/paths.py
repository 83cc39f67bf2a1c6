"""Questions about JSONPath and the cells of tables."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

from rayward.kube.machinery import jsonpath, table
from tests.machinery.answers.question import Object, Question

_DOC: Object = {
    "a": {
        "b": [
            {"n": "x", "v": 1, "f": 1.5, "t": True, "l": [1, 2, 3]},
            {"n": "y", "v": 2},
            {"n": "z", "v": None},
        ],
        "c.d": "q",
        "e": "s",
        "nul": None,
        "i": 5,
        "fl": 2.5,
        "big": 12500000.5,
        "o": {"k": "<&>"},
        "empty": [],
    },
    "items": [[1, 2], [3]],
}
_PIECES = [
    r".a",
    r".b",
    r".c\.d",
    r".e",
    r".nul",
    r"['c\.d']",
    r"['e']",
    r"[0]",
    r"[1]",
    r"[-1]",
    r"[:2]",
    r"[1:]",
    r"[*]",
    r"[0:3:2]",
    r"[5]",
    r"[-4]",
    r"[2:1]",
    r"[::0]",
    r"[0,1]",
    r"['e','i']",
    r'[?(@.n=="x")]',
    r"[?(@.n=='y')]",
    r"[?(@.v>1)]",
    r"[?(@.v>=1)]",
    r"[?(@.v<2)]",
    r"[?(@.f!=1.5)]",
    r"[?(@.t==true)]",
    r"[?(@.zz)]",
    r"[?(@.n)]",
    r"[?(@.l[5])]",
    r"[?(@.v==1.0)]",
    r"[?(@.n===1)]",
    r"$",
    r"@",
    r".items",
    r".o",
    r".k",
    r"[a]",
    r"[",
    r"]",
    r"'",
    r'"str"',
    r"'it\'s'",
    r"1.2.3",
    r"1.5",
    r"true",
    r"word",
    r"+",
    r"#",
    r"[-]",
    r"[1:2:3:4]",
    r"[?(@.n=='a)b')]",
    r".n",
    r".v",
    r"[0,]",
    r"[0:0]",
    r"[]",
    r"[:]",
    r"_x",
    r".fl",
    r".big",
    r'[?(@.n>"x")]',
    r"[?(@.t<true)]",
    r"[*].n",
    r".i",
    r"...",
    r"'\x41\u00e9\n'",
    r"'\q'",
]
_VALUES: list[Any] = [
    None,
    True,
    0,
    5,
    -3,
    1.5,
    1e7,
    1e21,
    2.5e-5,
    "s",
    "",
    "bad",
    {"a": 1, "b": "<x>"},
    [1, "é"],
    [],
    -1.7,
]
_COLUMNS = [
    ".spec.v",
    ".spec.list[0]",
    ".spec.list[*].n",
    ".spec.list[?(@.n=='b')].n",
    ".spec.nope.x",
    ".spec",
    ".spec.list[9]",
    ".spec['v']",
    r".metadata.labels.a\.b/c",
    ".spec.list[-1].n",
    ".spec.v[0]",
    ".",
    ".spec.list[",
]


def questions(random: Random) -> list[Question]:
    return [
        *(Question("jsonpath", [_template(random), random.random() < 0.5, _DOC]) for _ in range(900)),
        *(Question("cells", [_columns(random), _custom_object(random)]) for _ in range(400)),
    ]


def ours(about: str, given: list[Any]) -> Any:
    if about == "jsonpath":
        template, relaxed, doc = given
        return jsonpath.parse(template, relaxed=relaxed).render(doc)
    columns, item = given
    return table.custom_layout(columns).cells(item, datetime(2026, 1, 1, tzinfo=UTC))


def _template(random: Random) -> str:
    pieces = "".join(random.choices(_PIECES, k=random.randint(0, 3)))
    start = random.choice([".a.b", ".a", ".items", "", "$.a.b", ".a.b[*]"])
    return random.choice(["", "", "t {.a.e} "]) + f"{{{start}{pieces}}}"


def _columns(random: Random) -> list[Object]:
    kinds = ["string", "integer", "number", "boolean"]
    return [{"name": "C", "type": random.choice(kinds), "jsonPath": random.choice(_COLUMNS)} for _ in range(3)]


def _custom_object(random: Random) -> Object:
    listed = random.choice([[], [{"n": "a"}, {"n": "b"}], [random.choice(_VALUES)], None])
    return {
        "metadata": {"name": random.choice(["x", ""]), "labels": {"a.b/c": "q"}},
        "spec": {"v": random.choice(_VALUES), "list": listed},
    }
