"""JSON values that fit a JSON Schema of somebody else's: drawn ones, and the least one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import random

Schema = dict[str, Any]
WORDS = ("a", "yes", "hello", "1", "2026-03-05")
DEPTH_MAX = 6
SPAN = 20
"""How far a number without an upper bound is drawn above its lower one."""


class Drawn:
    """Draws values of one schema with its definitions; without a `chance` the least ones."""

    def __init__(self, root: Schema, chance: random.Random | None) -> None:
        self._root = root
        self._chance = chance

    def value(self, schema: Schema, depth: int = 0) -> Any:
        """Give a value."""
        schema = self.meant(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._one(schema["enum"])
        if "default" in schema and self._chance is None:
            return schema["default"]
        kinds: Any = schema.get("type", "object" if "properties" in schema else "string")
        kind = str(kinds if isinstance(kinds, str) else kinds[0])
        match kind:
            case "object":
                return self.object(schema, depth)
            case "array":
                least = int(schema.get("minItems", 0))
                more = self._chance.randrange(3) if self._chance and depth < DEPTH_MAX else 0
                inner = schema.get("items", {})
                return [self.value(inner, depth + 1) for _ in range(max(least, more))]
            case "integer" | "number":
                return self._number(schema, kind == "integer")
            case "boolean":
                return bool(self._chance and self._chance.random() < 0.5)
            case "null":
                return None
            case _:
                text = str(self._one(WORDS)) if self._chance else ""
                return text.ljust(int(schema.get("minLength", 0)), "a")

    def object(self, schema: Schema, depth: int = 0) -> dict[str, Any]:
        """Give an object: what is required, and of a drawn one half of the rest."""
        required = schema.get("required", ())
        return {
            name: self.value(inner, depth + 1)
            for name, inner in cast("dict[str, Schema]", schema.get("properties", {})).items()
            if name in required
            or (self._chance and depth < DEPTH_MAX and self._chance.random() < 0.5)
        }

    def meant(self, schema: Schema) -> Schema:
        """Give the schema that a reference, or the first of several choices, stands for."""
        for _ in range(DEPTH_MAX):
            if "$ref" in schema:
                found: Any = self._root
                for part in str(schema["$ref"]).removeprefix("#/").split("/"):
                    found = found.get(part, {})
                schema = found
            elif choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
                schema = choices[0]
            else:
                break
        return schema

    def _number(self, schema: Schema, whole: bool) -> int | float:
        low: Any = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        low += 1 if "exclusiveMinimum" in schema and "minimum" not in schema else 0
        high: Any = schema.get("maximum", low + SPAN)
        if self._chance is None:
            return int(low) if whole else float(low)
        return self._chance.randint(int(low), int(high)) if whole else (
            round(self._chance.uniform(low, high), 3)
        )  # fmt: skip

    def _one(self, values: Any) -> Any:
        return self._chance.choice(values) if self._chance else values[0]


def drawn(schema: Schema, chance: random.Random) -> Any:
    """Draw a value that fits a schema."""
    return Drawn(schema, chance).value(schema)


def least(schema: Schema) -> Any:
    """Give the least value that fits a schema."""
    return Drawn(schema, None).value(schema)


CHOSEN = {"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
          "multipleOf"}  # fmt: skip
"""Words by which a schema says what there is to choose from."""


def is_open(root: Schema, name: str) -> bool:
    """Tell whether the schema of an argument neither lists nor bounds what may be chosen."""
    return not CHOSEN & Drawn(root, None).meant(root["properties"][name]).keys()


def fits(root: Schema, name: str, value: object) -> bool:
    """Tell whether a value is a text or a whole number, as the argument of that name is."""
    kinds: Any = Drawn(root, None).meant(root["properties"][name]).get("type", ())
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    known: dict[type, set[str]] = {str: {"string"}, int: {"integer", "number"}}
    wanted = known.get(type(value), set[str]())
    return bool(wanted) and (not named or bool(wanted & {*named}))
