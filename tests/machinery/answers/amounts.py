"""Questions about quantities and durations."""

from __future__ import annotations

from random import Random
from typing import Any

from rayward.kube.machinery import duration, quantity
from tests.machinery.answers.question import Question

_SUFFIXES = "| |m|u|n|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e3|e-3|E5|e+2|e-12|e40|K|mi|e|e4294967296".replace(" ", "").split(
    "|"
)


def questions(random: Random) -> list[Question]:
    texts = [_written(random) for _ in range(1200)]
    good = [text for text in texts if _is_quantity(text)]
    return [
        *(Question("quantity", [text]) for text in texts),
        *(Question("arithmetic", [random.sample(good, 2)]) for _ in range(400)),
        *(Question("human", [int(random.uniform(0, 20) ** 7) - 3]) for _ in range(150)),
    ]


def ours(about: str, given: list[Any]) -> Any:
    match about:
        case "quantity":
            parsed = quantity.parse(*given)
            return {"text": str(parsed), "format": parsed.format.value}
        case "arithmetic":
            one, other = map(quantity.parse, given[0])
            return [(one > other) - (one < other), str(one + other), str(one - other)]
        case _:
            return duration.human(*given)


def _written(random: Random) -> str:
    if random.random() < 0.05:
        return "".join(random.choices("0123456789.+-eEinumkKMGTPix", k=random.randint(1, 6)))
    digits = random.choice([str(random.randrange(10**4)), str(random.randrange(10**22)), "1000", "1024", "512", ""])
    fraction = random.choice(["", "", ".", ".5", ".500", f".{random.randrange(10**5)}", f".{random.randrange(10**14)}"])
    return random.choice(["", "", "", "-", "+", "0"]) + digits + fraction + random.choice(_SUFFIXES)


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except quantity.QuantityError:
        return False
    return True
