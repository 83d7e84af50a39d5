"""What ``config.json`` and ``tokenizer.json`` say of the rest: dtype, class, truncation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from revocab.model_check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Mended, Subject
from revocab.models.finding import Finding
from revocab.models.weights.files import FLOATS

_DTYPES = ("dtype", "torch_dtype")


def dtype(subject: Subject) -> Iterator[Finding]:
    if "quantization_config" in subject.config:
        return
    places = [("config.json", subject.config)]
    if subject.text_config is not subject.config:
        places.append(("text_config", subject.text_config))
    dtypes = {f"{key} of {name}": part[key] for name, part in places for key in _DTYPES
            if isinstance(part.get(key), str) and part[key] != "auto"}  # fmt: skip
    sizes: Counter[str] = Counter()
    for parts in subject.model.parts.values():
        for part in parts.values():
            if part.dtype in FLOATS:
                sizes[FLOATS[part.dtype]] += part.size
    if not sizes:
        return
    stored = sizes.most_common(1)[0][0]
    other = [f"{place} is {value}" for place, value in dtypes.items()
             if value.removeprefix("torch.") != stored]  # fmt: skip

    def say_stored(mended: Mended) -> None:
        for part in (mended.edit("config.json"), mended.edit_text_config()):
            part.update({key: stored for key in _DTYPES if key in part})

    if other:
        yield Finding(
            "dtype", "warning", f"{' and '.join(other)}, and weights are stored as {stored}",
            "they are converted when they are loaded: memory is wasted, or digits are lost",
            f"set it to {stored}", say_stored if len(sizes) == 1 else None,
        )  # fmt: skip


def architectures(subject: Subject) -> Iterator[Finding]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as names

    architectures = subject.config.get("architectures")
    type_ = subject.config.get("model_type")
    if not isinstance(architectures, list) or not architectures or not isinstance(type_, str):
        yield Finding(
            "architectures", "warning", "config.json names no architectures or no model_type",
            "vLLM and converters, which go by them, refuse the model",
            "write both, such as those of the model that it was made from",
        )  # fmt: skip
        return
    others = sorted(other for other, name in names.items() if name == architectures[0])
    if type_ in names and others and type_ not in others:
        yield Finding(
            "architectures", "error",
            f"config.json has architectures {architectures[0]!r}, and model_type {type_!r}, which"
            f" is {names[type_]}'s",
            "transformers goes by the second and vLLM by the first: they compute different things",
            "correct the wrong one",
        )  # fmt: skip


def lengths(subject: Subject) -> Iterator[Finding]:
    content = subject.settings(TOKENIZER)
    for key, code in (("truncation", "asks-truncation"), ("padding", "asks-padding")):
        if isinstance(setting := content.get(key), dict):
            length = setting.get("max_length") or setting.get("strategy")
            yield Finding(
                code, "warning", f"{TOKENIZER} asks for {key} ({length})",
                "programs on the tokenizers library cut or pad every text without saying so",
                "set it to null", partial(unset, key),
            )  # fmt: skip


def fetched_code(subject: Subject) -> Iterator[Finding]:
    """Yield keys at which transformers would fetch code, from the Hub or out of the folder."""
    names = ("attn_implementation", "experts_implementation")
    keys = {form for name in names for form in (name, f"_{name}", f"_{name}_internal")}
    for file in ("config.json", TOKENIZER_CONFIG):
        for place, key, value in settings_below(subject.settings(file)):
            if key == "auto_map" and value:
                yield Finding(
                    "own-code", "note", f"{place} of {file} names code of its own: {value}",
                    "programs that trust it (trust_remote_code) run it; Revocab never does",
                    "remove the key if transformers knows the model without",
                )  # fmt: skip
            values = [*value.values()] if isinstance(value, dict) else [value]
            if key in keys and any(isinstance(code, str) and "/" in code for code in values):
                yield Finding(
                    "fetched-kernels", "warning", f"{place} of {file} is {value!r}",
                    "transformers fetches that code from the Hub and runs it; Revocab does not,"
                    " and uses transformers' own", "remove the key", partial(without, file, key),
                )  # fmt: skip


def settings_below(settings: Any, above: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield every key of an object and of those in it: its place, itself and its value."""
    for key, value in settings.items() if isinstance(settings, dict) else ():
        yield f"{above}{key}", key, value
        yield from settings_below(value, f"{above}{key}.")


def without(file: str, key: str, mended: Mended) -> None:
    objects = [mended.edit(file)]
    for settings in objects:
        settings.pop(key, None)
        objects += [value for value in settings.values() if isinstance(value, dict)]


def unset(key: str, mended: Mended) -> None:
    mended.edit(TOKENIZER)[key] = None


KIND = Kind("settings", (dtype, architectures, lengths, fetched_code), quick=True)
