"""Records what Go's regular expressions make of patterns drawn at random, for ``tests/machinery/cel/test_regex.py``.

.venv/bin/python tools/record_regex.py
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "tests/machinery/cel/recorded/regex.jsonl.gz"
CASES = 3000
GO = """package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
)

type asked struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
}

type answered struct {
	asked
	Error string   `json:"error,omitempty"`
	Found []string `json:"found,omitempty"`
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var answer answered
		if err := json.Unmarshal(lines.Bytes(), &answer.asked); err != nil {
			panic(err)
		}
		if compiled, err := regexp.Compile(answer.Pattern); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Found = compiled.FindAllString(answer.Text, -1)
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
"""
PLAIN = (
    r"a b . ^ $ [ab] [^a] \d \w \s \b a* b+ a? (a|b) (?:ab) b{2} a{1,3} | é \pL \p{Greek} [[:alpha:]] (?i) (?s) (?m)"
    r" \Q. \E a*? b+? (?U) \x41 \z \A [a-c] [^\s] []a] [-a] (?P<n>a) (?<m>b) (?-i:a)"
)
BROKEN = (
    r"* + ( ) [ ] \ {2} {3,1} {1001} ** (?= (?! (?<= (?<! (?z) \pX \C \8 [[:foo:]] [z-a] [a-\d] (?P<n!> (?P= \x{zz}"
    r" \x{110000} \Z \K"
)


def main() -> None:
    drawn, cases = random.Random(1), list[dict[str, str]]()
    for _ in range(CASES):
        pieces = drawn.choices(PLAIN.split(), k=drawn.randint(1, 6))
        if drawn.random() < 0.3:
            # one mistake alone (no repetition twice): which of two is found first is an accident of a parser
            pieces += ["b", drawn.choice(BROKEN.split())]
        text = "".join(drawn.choices("ab1A \né.", k=drawn.randint(0, 12)))
        cases.append({"pattern": "".join(pieces), "text": text})
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "main.go"
        program.write_text(GO)
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        answers = subprocess.run(
            ["go", "run", str(program)], input=lines.encode(), capture_output=True, check=True
        ).stdout
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_bytes(gzip.compress(answers, mtime=0))
    print(f"{CASES} cases in {RECORDED}")


if __name__ == "__main__":
    main()
