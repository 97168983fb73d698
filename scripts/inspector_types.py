"""Write ``inspector/src/api/types.ts``: the types of the inspector's page, from the views of its Python side."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import inspect as kinds

from innkeeper.service.inspector.views.schema import VIEWS
from innkeeper.service.inspector.views.workspace import Kind

TYPES: Final = Path(__file__).parents[1] / "inspector" / "src" / "api" / "types.ts"
WRITTEN: Final = (
    "// Written by `python scripts/inspector_types.py` from innkeeper.service.inspector.views; change that.\n"
)
WORDS: Final[dict[type, str]] = {
    kinds.StrType: "string",
    kinds.IntType: "number",
    kinds.FloatType: "number",
    kinds.BoolType: "boolean",
    kinds.NoneType: "null",
    kinds.AnyType: "unknown",
}


def typescript(info: Any) -> str:
    """A type as TypeScript writes it."""
    match info:
        case kinds.StructType():
            word = info.cls.__name__
        case kinds.LiteralType():
            word = "Kind" if info == kinds.type_info(Kind) else " | ".join(f'"{value}"' for value in info.values)
        case kinds.EnumType():
            word = " | ".join(f'"{value}"' for value in sorted(one.value for one in info.cls))
        case kinds.UnionType():
            names = dict.fromkeys(typescript(one) for one in info.types)
            word = " | ".join(sorted(names, key=lambda name: name == "null"))
        case kinds.ListType() | kinds.VarTupleType():
            inner = typescript(info.item_type)
            word = f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
        case kinds.TupleType():
            word = f"readonly [{', '.join(map(typescript, info.item_types))}]"
        case kinds.DictType():
            word = f"Readonly<Record<string, {typescript(info.value_type)}>>"
        case _:
            word = WORDS[type(info)]
    return word


def interface(view: type[msgspec.Struct]) -> str:
    """A view as an interface. A field that may be left out by whoever writes it, the page or the server, is optional."""
    info: Any = kinds.type_info(view)
    lines = [f"/** {inspect.cleandoc(view.__doc__ or '').splitlines()[0]} */", f"export interface {view.__name__} {{"]
    optional = view.__name__ in ASKED or info.cls.__struct_config__.omit_defaults
    for field in info.fields:
        mark = "?" if optional and not field.required else ""
        lines.append(f"  readonly {field.encode_name}{mark}: {typescript(field.type)};")
    return "\n".join([*lines, "}\n"])


ASKED: Final = frozenset({"Edit", "LiveRequest", "TalkRequest", "Variation", "CompareRequest", "TimelineRequest"})
"""What the page writes: it may leave out what has a default."""


def types() -> str:
    """The whole file."""
    kind: Any = kinds.type_info(Kind)
    names = " | ".join(f'"{name}"' for name in kind.values)
    return "\n".join([WRITTEN, f"export type Kind = {names};\n", *map(interface, VIEWS)])


if __name__ == "__main__":
    TYPES.parent.mkdir(parents=True, exist_ok=True)
    TYPES.write_text(types(), encoding="utf-8")
