"""Paths: where over HTTP each operation is asked. Routes and their part of the OpenAPI document are made from these tables."""

from __future__ import annotations

from typing import Final

from innkeeper.operations import stored, turns, workers
from innkeeper.operations.jobs import functions, jobs
from innkeeper.operations.library.decisions import EVALUATE, RENDER, RESOLVE
from innkeeper.operations.scenes import operations as scenes
from innkeeper.operations.tasks.character import SUGGEST
from innkeeper.operations.tasks.prompts import ENHANCE
from innkeeper.service.operations.http import HttpPath

REFUSED: Final = {
    "402": "it would cost more than it may: `estimate` and `left` are in US dollars",
    "403": "the key may not do this, or the texts do not pass in any tier",
    "422": "`strict` was asked for, and only a makeshift answers",
    "502": "no provider answered as it should",
}
"""What else the reply may be of an operation that asks a model."""

TASKS: Final = (
    HttpPath(ENHANCE, "/functions/v1/enhance-prompt", log="enhance", errors=REFUSED),
    HttpPath(ENHANCE, "/v1/enhance", log="enhance", errors=REFUSED),
    HttpPath(turns.CHAT, "/functions/v1/playground-chat", log="chat", errors=REFUSED),
    HttpPath(turns.ROLEPLAY, "/functions/v1/roleplay-chat", log="roleplay", errors=REFUSED),
    HttpPath(turns.CHAT, "/v1/chat", log="chat", errors=REFUSED),
    HttpPath(turns.ROLEPLAY, "/v1/roleplay", log="roleplay", errors=REFUSED),
    HttpPath(EVALUATE, EVALUATE.path, log="tier", errors=REFUSED),
    HttpPath(RESOLVE, RESOLVE.path, log="resolve", errors=REFUSED),
    HttpPath(RENDER, RENDER.path, log="render", errors=REFUSED),
    HttpPath(SUGGEST, "/functions/v1/character-suggestions", log="suggest", errors=REFUSED),
    HttpPath(SUGGEST, SUGGEST.path, log="suggest", errors=REFUSED),
)
"""Prompts, turns, templates and parts of characters."""

_JOB_REFUSED: Final = {
    "402": "it would cost more than it may",
    "409": "the idempotency key was used for another request, or the job is in another state",
}

JOBS: Final = (
    HttpPath(jobs.SUBMIT, "/v1/jobs", log="job", tag="jobs", errors=_JOB_REFUSED, pending=202, is_done=jobs.has_ended),
    HttpPath(jobs.LIST, "/v1/jobs", "GET", tag="jobs"),
    HttpPath(jobs.RECEIVE, "/v1/jobs/webhooks/{backend}/{job_id}", tag="jobs", signed=True),
    HttpPath(jobs.SHOW, "/v1/jobs/{job_id}", "GET", tag="jobs"),
    HttpPath(jobs.CANCEL, "/v1/jobs/{job_id}/cancel", tag="jobs", errors=_JOB_REFUSED),
    HttpPath(jobs.RETRY, "/v1/jobs/{job_id}/retry", tag="jobs", errors=_JOB_REFUSED),
    HttpPath(jobs.PRIORITIZE, "/v1/jobs/{job_id}/priority", tag="jobs", errors=_JOB_REFUSED),
    HttpPath(jobs.FOLLOW, "/v1/jobs/{job_id}/events", "GET", tag="jobs"),
    HttpPath(jobs.RESULT, "/v1/jobs/{job_id}/results/{index:int}", "GET", tag="jobs"),
    HttpPath(functions.QUEUE, "/functions/v1/queue-job", tag="jobs", errors=_JOB_REFUSED),
    HttpPath(functions.FAL, "/functions/v1/fal-image", tag="jobs", errors=_JOB_REFUSED),
    HttpPath(functions.REPLICATE, "/functions/v1/replicate-image", tag="jobs", errors=_JOB_REFUSED),
)
"""Pictures and videos that are made behind a request."""

WORKERS: Final = (
    HttpPath(workers.LIST, "/v1/workers", "GET", tag="workers"),
    HttpPath(workers.ENROL, "/v1/workers/enrol", tag="workers"),
    HttpPath(workers.RENEW, "/v1/workers/heartbeat", tag="workers"),
    HttpPath(workers.DRAIN, "/v1/workers/drain", tag="workers"),
    HttpPath(workers.ACTIVE, "/functions/v1/get-active-worker-url", tag="workers"),
    HttpPath(workers.REGISTER, "/functions/v1/register-chat-worker", tag="workers"),
    HttpPath(workers.REGISTER, "/functions/v1/update-worker-url", tag="workers"),
)
"""The register of workers."""

SCENES: Final = (
    HttpPath(scenes.GENERATE, "/functions/v1/generate-scene", log="scene", tag="scenes", errors=REFUSED),
    HttpPath(scenes.GENERATE, "/v1/scenes", log="scene", tag="scenes", errors=REFUSED),
    HttpPath(scenes.COMPOSE, scenes.COMPOSE.path, log="scene", tag="scenes", errors=REFUSED),
    HttpPath(scenes.LIST, "/v1/scenes", "GET", tag="scenes"),
    HttpPath(scenes.ADD_TEMPLATE, "/v1/scenes/templates", tag="scenes", status=201),
    HttpPath(scenes.TEMPLATES, "/v1/scenes/templates", "GET", tag="scenes"),
    HttpPath(scenes.TEMPLATE, "/v1/scenes/templates/{template_id}", "GET", tag="scenes"),
    HttpPath(scenes.CHANGE_TEMPLATE, "/v1/scenes/templates/{template_id}", tag="scenes"),
    HttpPath(scenes.REMOVE_TEMPLATE, "/v1/scenes/templates/{template_id}", "DELETE", tag="scenes"),
    HttpPath(scenes.STATE, "/v1/scenes/states/{conversation_id}", "GET", tag="scenes"),
    HttpPath(scenes.CHANGE_STATE, "/v1/scenes/states/{conversation_id}", tag="scenes"),
    HttpPath(scenes.SHOW, "/v1/scenes/{scene_id}", "GET", tag="scenes"),
    HttpPath(scenes.PICTURE, "/v1/scenes/{scene_id}/image", "GET", tag="scenes"),
)
"""Scenes, their states and templates."""

_CONVERSATION: Final = "/v1/conversations/{conversation_id}"
_MESSAGE: Final = f"{_CONVERSATION}/messages/{{message_id}}"

STORED: Final = (
    HttpPath(stored.BEGIN, "/v1/conversations", tag="conversations", status=201),
    HttpPath(stored.CONVERSATIONS, "/v1/conversations", "GET", tag="conversations"),
    HttpPath(stored.CONVERSATION, _CONVERSATION, "GET", tag="conversations"),
    HttpPath(stored.CHANGE, _CONVERSATION, tag="conversations"),
    HttpPath(stored.REMOVE, _CONVERSATION, "DELETE", tag="conversations"),
    HttpPath(stored.MESSAGES, f"{_CONVERSATION}/messages", "GET", tag="conversations"),
    HttpPath(stored.ITEMS, f"{_CONVERSATION}/items", "GET", tag="conversations"),
    HttpPath(stored.PIN_MESSAGE, _MESSAGE, tag="conversations"),
    HttpPath(stored.DELETE_MESSAGE, _MESSAGE, "DELETE", tag="conversations"),
    HttpPath(stored.REMEMBER, "/v1/memories", tag="conversations", status=201),
    HttpPath(stored.MEMORIES, "/v1/memories", "GET", tag="conversations"),
    HttpPath(stored.PIN_MEMORY, "/v1/memories/{memory_id}", tag="conversations"),
    HttpPath(stored.FORGET, "/v1/memories/{memory_id}", "DELETE", tag="conversations"),
    HttpPath(stored.ADD_CHARACTER, "/v1/characters", tag="conversations", status=201),
    HttpPath(stored.CHARACTERS, "/v1/characters", "GET", tag="conversations"),
    HttpPath(stored.CHARACTER, "/v1/characters/{character_id}", "GET", tag="conversations"),
    HttpPath(stored.CHANGE_CHARACTER, "/v1/characters/{character_id}", tag="conversations"),
    HttpPath(stored.REMOVE_CHARACTER, "/v1/characters/{character_id}", "DELETE", tag="conversations"),
)
"""What a caller has stored."""
