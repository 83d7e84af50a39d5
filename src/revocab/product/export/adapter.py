"""A language as a small file: an adapter for PEFT of the rows that are not a base's, and of LoRA.

    model = base, resized to the tokenizer's tokens, some rows replaced, and W + alpha / rank B A

Rows by id are PEFT's trainable tokens. The factors are those that a training keeps beside its
checkpoint, since a merged matrix no longer has them. They are multiplied again here and every other
tensor is compared, so that what is written is all that differs, or nothing is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError, refuse
from revocab.io import write_json, write_text
from revocab.links import check_links, copy_present
from revocab.models import origin
from revocab.models.findings import tensor_problem
from revocab.models.folder import ModelFolder, Which, copy_tokenizer, read_settings
from revocab.models.hub_or_folder import local
from revocab.models.load import ADAPTER, check_model
from revocab.models.shape import load_config, load_shape, model_class, names_in_model
from revocab.models.weights import equal_tensors, first_of, read_tensor, stored_parts
from revocab.product.export.export import ExportOptions
from revocab.progress import Say
from revocab.training.lora import WRAPPED

if TYPE_CHECKING:
    import torch

    #: ``A`` [rank, inputs] and ``B`` [outputs, rank].
    Factors = tuple[torch.Tensor, torch.Tensor]

WEIGHTS, GENERATION = "adapter_model.safetensors", "generation_config.json"
ALLOWED = "allowed are other rows of tokens, and what adapters/ keeps of a checkpoint's LoRA"
#: Settings in which the two may differ: of the vocabulary, of tokens, and of the file.
FREE = re.compile(
    r"(unpadded_)?vocab_size|.*_token_ids?|.*_token_index|(begin_)?suppress_tokens|dtype"
    r"|_name_or_path|architectures|transformers_version|use_cache"
)
#: What old checkpoints store and no model reads.
UNREAD = "rotary_emb.inv_freq"
#: By how much of a matrix's largest value two ways of summing in float32 may differ.
ROUNDING = 1e-5


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    """Write the adapter, with tokenizer and card; return what to tell of it.

    Raises :class:`RevocabError` where the model is more than its base with other rows and LoRA.
    """
    from safetensors.torch import save_file

    from revocab.vocabulary.tokenizers.load import load_tokenizer

    assert options.base is not None  # export looked
    base = ModelFolder(local(Path(options.base), "model"))
    say("checking weights")
    for folder in (model, base):
        check_model(folder.path)
    new, old = (
        {**load_config(f.path).get_text_config().to_dict(), "tie_word_embeddings": f.tied}
        for f in (model, base)
    )
    refuse(
        f"{base.path}: {key} of config.json is {old.get(key)!r}, and {new.get(key)!r} in"
        f" {model.path}; give the base that this was made from"
        for key in sorted(new.keys() | old.keys())
        if not FREE.fullmatch(key) and new.get(key) != old.get(key)
    )
    tokens = len(load_tokenizer(model.path))
    in_model = names_in_model(load_shape(model.path), model.tensors)
    modules = {stored: name.removesuffix(".weight") for stored, name in in_model.items()}
    by_module, alpha = lora_of(model)
    factors = {name: by_module[key] for name, key in modules.items() if key in by_module}
    say("comparing the tensors")
    problems = [f"it has no {key}" for key in sorted(by_module.keys() - modules.values())]
    problems += body_problems(model, base, factors, alpha)
    rows = {}
    for which, name in model.vocabulary_tensors.items():
        differs_V = changed_rows(model, base, which, tokens)
        if differs_V.any():
            ids = differs_V.nonzero()[:, 0]
            rows[modules[name]] = ids.tolist(), model.matrix(which, tokens)[ids]
    if not factors and not rows:
        problems.append("no tensor differs")
    refuse(
        f"{model.path} is not {base.path} with an adapter: {problem}; {ALLOWED}"
        for problem in first_of(problems)
    )
    tensors, config = packed(rows, {modules[name]: own for name, own in factors.items()}, alpha)
    save_file(tensors, out / WEIGHTS, metadata={"format": "pt"})
    hub = origin.hub_id(base.path)
    write_json(out / ADAPTER, {**config, "base_model_name_or_path": hub})
    copy_tokenizer(model.path, out)
    copy_present(model.path, [GENERATION], out)
    size = (out / WEIGHTS).stat().st_size
    whole = sum(part.size for parts in model.parts.values() for part in parts.values())
    notes = [f"{name}: {len(ids):,} of {tokens:,} rows" for name, (ids, _) in rows.items()]
    if factors:
        notes.append(f"LoRA of rank {config['r']} on {len(factors)} matrices")
    loader = model_class(load_config(base.path)).__name__
    head = {"library_name": "peft", "base_model": hub, "base_model_relation": "adapter"}
    facts = {
        "loader": loader, "notes": notes, "base": hub or "BASE",
        "generation": (out / GENERATION).is_file(),
    }  # fmt: skip
    write_text(out / "README.md", origin.card("adapter", base.path, facts, head))
    return [*notes, f"{size / whole:.2%} of the model's {whole:,} bytes of weights"]


def lora_of(model: ModelFolder) -> tuple[dict[str, Factors], float]:
    """Return the factors by module, and alpha, that a training kept beside a checkpoint, if any."""
    checkpoint = model.path.absolute()
    folder = checkpoint.parent.parent / "adapters" / checkpoint.name
    if checkpoint.parent.name != "checkpoints" or not (folder / ADAPTER).is_file():
        return {}, 1
    check_links(folder, [WEIGHTS])
    file, alpha = folder / WEIGHTS, read_settings(folder / ADAPTER).get("lora_alpha")
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < math.inf:
        raise RevocabError(f"{folder / ADAPTER}: lora_alpha is {alpha!r}; give a positive number")
    if not file.is_file():
        raise RevocabError(f"{file}: no such file; train again, or give another checkpoint")
    names = [
        name
        for name, part in stored_parts(file)[0].items()
        if re.search(r"\.lora_[AB]\.weight$", name) and len(part.shape) == 2 and part.size
    ]
    tensors = {name: read_tensor(file, name).float() for name in sorted(names)}
    if problem := tensor_problem(tensors):
        raise RevocabError(f"{file}: not finite: {problem}; give another checkpoint")
    pairs: dict[str, Factors] = {}
    problems = []
    for module in sorted({name.rpartition(".lora_")[0] for name in names}):
        first_RI, second_OR = (tensors.get(f"{module}.lora_{letter}.weight") for letter in "AB")
        if first_RI is None or second_OR is None or second_OR.shape[1] != len(first_RI):
            problems.append(f"{file}: {module}: no A and B of one rank; give another checkpoint")
        else:
            pairs[module.removeprefix(WRAPPED)] = first_RI, second_OR
    refuse(problems)
    ranks = sorted({len(first_RI) for first_RI, _ in pairs.values()})
    if len(ranks) > 1:
        raise RevocabError(f"{file}: factors of ranks {ranks}; allowed is one rank")
    return pairs, alpha


def body_problems(
    model: ModelFolder, base: ModelFolder, factors: Mapping[str, Factors], alpha: float
) -> Iterator[str]:
    """Yield what differs of the tensors that are no rows of tokens, beyond LoRA's ``factors``."""
    import torch

    here, there = (
        {name for name in folder.tensors if not name.endswith(UNREAD)}
        - {*folder.vocabulary_tensors.values(), *folder.tied_copies}
        for folder in (model, base)
    )
    yield from (f"only one of them has {name}" for name in sorted(here ^ there))
    for name in sorted(here & there):
        if name not in factors:
            places = [(f.path / f.tensors[name][0], name) for f in (model, base)]
            if not equal_tensors(*places):
                yield f"{name} differs"
            continue
        first_RI, second_OR = factors[name]
        before, after = base.read(name), model.read(name)
        if not list(before.shape) == list(after.shape) == [len(second_OR), first_RI.shape[1]]:
            yield f"{name} has other sizes than its factors"
            continue
        merged = before.float() + alpha / len(first_RI) * (second_OR @ first_RI)
        most = ROUNDING * before.abs().max().item()
        if not torch.allclose(after.float(), merged, torch.finfo(after.dtype).eps, most):
            yield f"{name} is not the base's with its factors"


def changed_rows(model: ModelFolder, base: ModelFolder, which: Which, tokens: int) -> torch.Tensor:
    """Return of each token whether its row is not the base's (bool [V])."""
    import torch

    new_VD, old_VD = model.matrix(which, tokens), base.read(base.vocabulary_tensors[which])
    if (new_VD.dtype, new_VD.shape[1]) != (old_VD.dtype, old_VD.shape[1]):
        raise RevocabError(
            f"{base.path}: its {which} rows are {old_VD.shape[1]} values of {old_VD.dtype}, and"
            f" {new_VD.shape[1]} of {new_VD.dtype} in {model.path}; give the base that this was"
            " made from"
        )
    differs_V = torch.ones(tokens, dtype=torch.bool)
    both = min(tokens, len(old_VD))
    differs_V[:both] = (new_VD[:both] != old_VD[:both]).any(1)
    return differs_V


def packed(
    rows: Mapping[str, tuple[list[int], torch.Tensor]], factors: Mapping[str, Factors], alpha: float
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return an adapter's tensors and its configuration, in PEFT's names."""
    from peft import LoraConfig
    from peft.utils.constants import DUMMY_TARGET_MODULES

    tensors = {
        f"{WRAPPED}{module}.token_adapter.trainable_tokens_delta": rows_ND.contiguous()
        for module, (_, rows_ND) in rows.items()
    }
    for module, pair in factors.items():
        for letter, factor in zip("AB", pair, strict=True):
            tensors[f"{WRAPPED}{module}.lora_{letter}.weight"] = factor
    options: dict[str, Any] = {"target_modules": DUMMY_TARGET_MODULES}  # none: rows alone
    if factors:
        rank = len(next(iter(factors.values()))[0])
        options = {"target_modules": sorted(factors), "r": rank, "lora_alpha": alpha}
    indices = {module: ids for module, (ids, _) in rows.items()}
    config = LoraConfig(
        task_type="CAUSAL_LM", inference_mode=True, trainable_token_indices=indices or None,
        **options,
    )  # fmt: skip
    values = config.to_dict()
    return tensors, {key: sorted(v) if isinstance(v, set) else v for key, v in values.items()}
