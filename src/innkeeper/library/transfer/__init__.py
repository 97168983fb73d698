"""Import and export of what an operator maintains, and templates as files."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.transfer.exporting import export_library as export_library
    from innkeeper.library.transfer.format import Parsed as Parsed
    from innkeeper.library.transfer.format import Transfer as Transfer
    from innkeeper.library.transfer.format import dumps as dumps
    from innkeeper.library.transfer.format import parse as parse
    from innkeeper.library.transfer.format import typed as typed
    from innkeeper.library.transfer.importing import Imported as Imported
    from innkeeper.library.transfer.importing import import_library as import_library

_HOMES: Final = {
    "Imported": "importing",
    "Parsed": "format",
    "Transfer": "format",
    "dumps": "format",
    "export_library": "exporting",
    "import_library": "importing",
    "parse": "format",
    "typed": "format",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
