"""Random catalogues and requests for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.templates.template import Labelled
from tests.library.making import made

TARGETS = (None, "m1", "m2", "fam")
ENHANCERS = (None, "q1", "q2", "qfam")
JOBS = (None, "image", "video")
USES = ("enhancement", "chat", "character_roleplay")
LABELS = ("production", "staging")

keys = st.tuples(
    st.sampled_from(TARGETS),
    st.sampled_from(ENHANCERS),
    st.sampled_from(JOBS),
    st.sampled_from(USES),
    st.sampled_from(list(Tier)),
    st.sampled_from(LABELS),
)
"""Selection keys and labels: as in the store, no two rows of a catalogue have the same."""


def _row(key: tuple[str | None, str | None, str | None, str, Tier, str], priority: int) -> Labelled:
    target, enhancer, job, use_case, tier, label = key
    name = "-".join(str(part) for part in key)
    version = made(
        name,
        f"{name} {{{{> part}}}}",
        target_model=target,
        enhancer_model=enhancer,
        job_type=job,
        use_case=use_case,
        content_mode=tier,
        partials=(("part", 1),),
        metadata={"priority": priority} if priority else {},
    )
    return Labelled(label, version)


rows = st.lists(
    st.builds(_row, keys, st.sampled_from([0, 0, 10, 200])),
    max_size=40,
    unique_by=lambda row: row.version.name,
)

requests = st.builds(
    ResolveRequest,
    use_case=st.sampled_from(USES),
    job_type=st.sampled_from(JOBS),
    target_model=st.sampled_from([None, "m1", "m2", "m3"]),
    target_family=st.sampled_from([None, "fam"]),
    enhancer_model=st.sampled_from([None, "q1", "q2", "q3"]),
    enhancer_family=st.sampled_from([None, "qfam"]),
    content_mode=st.sampled_from(list(Tier)),
    label=st.sampled_from(LABELS),
    lower_tier=st.booleans(),
)

models = st.lists(
    st.fixed_dictionaries(
        {
            "model_key": st.sampled_from(["m1", "m2", "m3", "q1", "q2", "q3"]),
            "model_family": st.sampled_from([None, "fam", "qfam"]),
        }
    ),
    max_size=4,
    unique_by=lambda row: row["model_key"],
)
