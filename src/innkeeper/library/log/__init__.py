"""The log of calls, its figures, and the metrics of this process."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.log.conversations import CharacterStore as CharacterStore
    from innkeeper.library.log.conversations import ConversationStore as ConversationStore
    from innkeeper.library.log.enhancements import Done as Done
    from innkeeper.library.log.enhancements import EnhancementLog as EnhancementLog
    from innkeeper.library.log.logs import LogStats as LogStats
    from innkeeper.library.log.logs import LogStore as LogStore
    from innkeeper.library.log.logs import log_stats as log_stats
    from innkeeper.library.log.logs import since_moment as since_moment
    from innkeeper.library.log.metrics import Metrics as Metrics
    from innkeeper.library.log.metrics import percentiles as percentiles

_HOMES: Final = {
    "CharacterStore": "conversations",
    "ConversationStore": "conversations",
    "Done": "enhancements",
    "EnhancementLog": "enhancements",
    "LogStats": "logs",
    "LogStore": "logs",
    "Metrics": "metrics",
    "log_stats": "logs",
    "percentiles": "metrics",
    "since_moment": "logs",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
