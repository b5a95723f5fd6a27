"""Says of each question on standard input, a JSON line, what Python's jsonschema makes of it.

A question has a value and two schemas; the answer is a line as well: whether each of them accepts the value, or why
that cannot be said. The dialect is chosen as toolpact chooses it. `format` is not checked and nothing is fetched.
"""

import json
import re
import sys

import jsonschema
import referencing

DIALECTS = (
    ("draft-04/schema", jsonschema.Draft4Validator),
    ("draft-06/schema", jsonschema.Draft6Validator),
    ("draft-07/schema", jsonschema.Draft7Validator),
    ("draft/2019-09/schema", jsonschema.Draft201909Validator),
)


def accepts(schema, value):
    uri = str(schema.get("$schema", "")).rstrip("#/")
    validator = next((v for end, v in DIALECTS if uri.endswith(end)), jsonschema.Draft202012Validator)
    return validator(schema, registry=referencing.Registry()).is_valid(value)


def answer(question):
    try:
        return {side: accepts(question[side], question["value"]) for side in ("good", "bad")}
    except (re.error, referencing.exceptions.Unresolvable, RecursionError) as error:
        return {"cannot": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
