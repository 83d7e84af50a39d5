"""What ``config.json`` and ``tokenizer.json`` say of the rest: dtype, class, truncation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from revocab.models.findings import Finding
from revocab.models.weights import FLOATS
from revocab.product.check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Mended, Subject, fault

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
        fix = say_stored if len(sizes) == 1 else None
        yield fault("dtype", fix, listed=" and ".join(other), stored=stored)


def architectures(subject: Subject) -> Iterator[Finding]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as names

    architectures = subject.config.get("architectures")
    type_ = subject.config.get("model_type")
    if not isinstance(architectures, list) or not architectures or not isinstance(type_, str):
        yield fault("architectures/none")
        return
    others = sorted(other for other, name in names.items() if name == architectures[0])
    if type_ in names and others and type_ not in others:
        yield fault("architectures", architecture=architectures[0], type=type_, other=names[type_])


def lengths(subject: Subject) -> Iterator[Finding]:
    content = subject.settings(TOKENIZER)
    for key, code in (("truncation", "asks-truncation"), ("padding", "asks-padding")):
        if isinstance(setting := content.get(key), dict):
            length = setting.get("max_length") or setting.get("strategy")
            yield fault(code, partial(unset, key), key=key, length=length)


def fetched_code(subject: Subject) -> Iterator[Finding]:
    """Yield keys at which transformers would fetch code, from the Hub or out of the folder."""
    names = ("attn_implementation", "experts_implementation")
    keys = {form for name in names for form in (name, f"_{name}", f"_{name}_internal")}
    for file in ("config.json", TOKENIZER_CONFIG):
        for place, key, value in settings_below(subject.settings(file)):
            if key == "auto_map" and value:
                yield fault("own-code", place=place, file=file, value=value)
            values = [*value.values()] if isinstance(value, dict) else [value]
            if key in keys and any(isinstance(code, str) and "/" in code for code in values):
                fix = partial(without, file, key)
                yield fault("fetched-kernels", fix, place=place, file=file, value=value)


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
