"""Import and export of what an operator maintains, and templates as files."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.transfer.draft_file import DraftFile as DraftFile
    from innkeeper.library.transfer.draft_file import draft_text as draft_text
    from innkeeper.library.transfer.draft_file import parse_draft as parse_draft
    from innkeeper.library.transfer.exporting import export_library as export_library
    from innkeeper.library.transfer.exporting import transferred as transferred
    from innkeeper.library.transfer.format import FORMAT as FORMAT
    from innkeeper.library.transfer.format import SCHEMA as SCHEMA
    from innkeeper.library.transfer.format import Parsed as Parsed
    from innkeeper.library.transfer.format import Transfer as Transfer
    from innkeeper.library.transfer.format import TransferredDocument as TransferredDocument
    from innkeeper.library.transfer.format import TransferredTemplate as TransferredTemplate
    from innkeeper.library.transfer.format import TransferredVersion as TransferredVersion
    from innkeeper.library.transfer.format import dumps as dumps
    from innkeeper.library.transfer.format import parse as parse
    from innkeeper.library.transfer.format import read_tree as read_tree
    from innkeeper.library.transfer.format import typed as typed
    from innkeeper.library.transfer.importing import Imported as Imported
    from innkeeper.library.transfer.importing import import_library as import_library
    from innkeeper.library.transfer.importing import items_of as items_of

_HOMES: Final = {
    "DraftFile": "draft_file",
    "FORMAT": "format",
    "Imported": "importing",
    "Parsed": "format",
    "SCHEMA": "format",
    "Transfer": "format",
    "TransferredDocument": "format",
    "TransferredTemplate": "format",
    "TransferredVersion": "format",
    "draft_text": "draft_file",
    "dumps": "format",
    "export_library": "exporting",
    "import_library": "importing",
    "items_of": "importing",
    "parse": "format",
    "parse_draft": "draft_file",
    "read_tree": "format",
    "transferred": "exporting",
    "typed": "format",
}

__all__ = [
    "FORMAT",
    "SCHEMA",
    "DraftFile",
    "Imported",
    "Parsed",
    "Transfer",
    "TransferredDocument",
    "TransferredTemplate",
    "TransferredVersion",
    "draft_text",
    "dumps",
    "export_library",
    "import_library",
    "items_of",
    "parse",
    "parse_draft",
    "read_tree",
    "transferred",
    "typed",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
