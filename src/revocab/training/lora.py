"""LoRA through PEFT: low-rank updates of linear layers, one adapter for each stage that asks.

    h = W x + (alpha / rank) B A x        A [rank, in] drawn, B [out, rank] zero at first

After Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021). Adapters stand in the
model for the whole run, so that the optimizer's state has one shape in all stages. At the end of
its stage an adapter is merged into the weights, and the next stage starts from those. What is
exported is merged, too; the adapter itself is kept beside it as a folder that PEFT loads.

Weights that no stage trains are held in 16 bits where the forward pass is in bfloat16, and only
where that changes no value: weights of linear modules of the decoder's layers, which autocast
rounds to bfloat16 in every forward pass anyway, and of these those that 16 bits hold exactly, as
they do all that a model of 16 bits was loaded with. In float32 they are 28 GB of an 8B model.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from revocab.closed import Closed, OneLine
from revocab.errors import RevocabError, refuse
from revocab.io import write_json
from revocab.limits import Width
from revocab.output import OutputFolder

if TYPE_CHECKING:
    import torch

    from revocab.training.stages import ParameterGroup, StagePlan

#: What ``train`` of a stage calls its adapter.
LORA = "lora"
#: What an adapter's folder claims to be.
KIND = "adapter"
#: Named groups of linear modules, by where they are in every decoder of the Hugging Face kind.
GROUPS = {"attention": ".self_attn.", "mlp": ".mlp."}
#: What PEFT puts into a parameter's name around a module that has an adapter.
BASE = ".base_layer."
#: How PEFT names the tensors of a model that it has wrapped.
WRAPPED = "base_model.model."


class Lora(Closed):
    """Which linear modules a stage updates by low-rank products, and of which rank."""

    rank: Width = Field(description="rank of each module's update")
    alpha: Width = Field(description="updates are scaled by alpha / rank")
    layers: list[int] | None = Field(
        default=None,
        min_length=1,
        description="indices of decoder layers, negative ones from the end; default: all",
    )
    modules: list[OneLine] = Field(
        default=[*GROUPS],
        min_length=1,
        description="attention, mlp, or names of linear modules such as q_proj",
    )


def adapter_name(stage: int) -> str:
    return f"stage-{stage}"


def plain_name(name: str) -> str:
    return name.replace(BASE, ".")


def adapter_of(name: str) -> str | None:
    match = re.search(r"\.lora_[AB]\.([^.]+)\.", name)
    return match[1] if match else None


def layer_of(module: str) -> int | None:
    match = re.search(r"\.(\d+)\.", module)
    return int(match[1]) if match else None


class Adapters:
    """The adapters of a recipe in one model; a recipe without ``lora`` has none.

    ``parallel``: several processes train the model. What wraps it there fixes which parameters have
    gradients, so all adapters stay in the forward pass; those of other stages add zero.
    """

    def __init__(
        self,
        model: Any,
        plan: StagePlan,
        seed: int,
        *,
        parallel: bool = False,
        sharded: bool = False,
    ):
        """Put the adapters into ``model``, with first values drawn by ``seed``.

        Raises :class:`RevocabError` naming every layer and module that the model does not have,
        and for a model whose weights are ``sharded`` over processes: merging needs whole ones.
        """
        self.parallel = parallel
        options = {n: stage.lora for n, stage in enumerate(plan.stages) if stage.lora is not None}
        self.stages = frozenset(options)
        #: Modules with adapters, by the names that they have in the model.
        self.layers: dict[str, Any] = {}
        if options and sharded:
            raise RevocabError(
                "--fsdp: a recipe with lora needs whole weights in every process, to merge what it "
                "trains; leave --fsdp (a resource fsdp of the profile) out"
            )
        if options:
            import torch
            from peft import inject_adapter_in_model
            from peft.tuners.lora import LoraLayer

            self.configs = _configs(model, plan, options)
            with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
                # Once for each stage.
                warnings.filterwarnings("ignore", "Already found a `peft_config`")
                torch.manual_seed(seed)
                for stage, config in self.configs.items():
                    inject_adapter_in_model(config, model, adapter_name(stage))
            named = model.named_modules()
            self.layers = {name: layer for name, layer in named if isinstance(layer, LoraLayer)}
            self.enter(0, merge=False)

    def enter(self, stage: int, *, merge: bool) -> None:
        """Make the adapter of ``stage`` the active one; with ``merge``, merge the one before."""
        if not self.layers:
            return
        if merge and stage - 1 in self.stages:
            import torch

            before = adapter_name(stage - 1)
            with torch.no_grad():  # add its update to the weights, and make the update zero
                for layer in self.layers.values():
                    if before in layer.lora_A:
                        layer.get_base_layer().weight += layer.get_delta_weight(before)
                        layer.lora_B[before].weight.zero_()
        active = self.stages if self.parallel else self.stages & {stage}
        for layer in self.layers.values():
            present = [adapter_name(number) for number in sorted(active)]
            layer.set_adapter([name for name in present if name in layer.lora_A])

    def merged(self, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the weights of the model without adapters that computes the same."""
        if not self.layers:
            return weights
        import torch

        merged = {
            plain_name(name): tensor for name, tensor in weights.items() if adapter_of(name) is None
        }
        with torch.no_grad():
            for name, layer in self.layers.items():
                for adapter in layer.lora_A:
                    key = f"{name}.weight"
                    update = layer.get_delta_weight(adapter)
                    merged[key] = merged[key] + update.to(merged[key].device)
        return merged

    def export(
        self,
        weights: dict[str, torch.Tensor],
        groups: Iterable[ParameterGroup],
        stage: int,
        dtype: torch.dtype,
        out: Path,
    ) -> None:
        """Write the adapter of ``stage`` as a folder that PEFT loads, where the stage has one.

        What else of ``groups`` the stage trains is in it under the model's own names, in ``dtype``:
        PEFT puts it in place of the base model's tensors.
        """
        if stage not in self.stages:
            return
        from safetensors.torch import save_file

        names = [name for group in groups if group.rates[stage] is not None for name in group.names]
        tensors = {}
        for name in sorted(names):
            own = adapter_of(name)
            tensor = weights[name].detach().to("cpu", None if own else dtype)
            key = name.replace(f".{own}.", ".") if own else name
            tensors[f"{WRAPPED}{key}"] = tensor.contiguous().clone()
        with OutputFolder(out, KIND, []).replaced(part=True) as temporary:
            save_file(tensors, temporary / "adapter_model.safetensors", metadata={"format": "pt"})
            values = {**self.configs[stage].to_dict(), "inference_mode": True}
            # The same in every process.
            config = {key: sorted(v) if isinstance(v, set) else v for key, v in values.items()}
            write_json(temporary / "adapter_config.json", config)


def _configs(model: Any, plan: StagePlan, options: dict[int, Lora]) -> dict[int, Any]:
    """Return PEFT's configuration for each stage; raise :class:`RevocabError` with all problems."""
    from peft import LoraConfig
    from torch import nn

    named = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    linear = [name for name in named if layer_of(name) is not None]
    configs, problems = {}, []
    for stage, lora in options.items():
        count = len({layer_of(module) for module in linear})
        where = f"stage {plan.stages[stage].name}: lora"
        problems += [f"{where}.{line}" for line in lora_problems(lora, linear)]
        configs[stage] = LoraConfig(
            task_type="CAUSAL_LM",
            r=lora.rank,
            lora_alpha=lora.alpha,
            target_modules=chosen_modules(lora.modules, linear)[0],
            layers_to_transform=sorted({n % count for n in lora.layers}) if lora.layers else None,
        )
    refuse(problems)
    return configs


def lora_problems(lora: Lora, linear: Sequence[str]) -> Iterator[str]:
    """Yield what a model with these ``linear`` modules in its layers lacks for an adapter."""
    count = len({layer_of(module) for module in linear})
    for number in lora.layers or ():
        if not -count <= number < count:
            yield f"layers: {number}: the model has {count}; give {-count} to {count - 1}"
    _, wrong = chosen_modules(lora.modules, linear)
    yield from (f"modules: {line}" for line in wrong)


def chosen_modules(options: Iterable[str], linear: Sequence[str]) -> tuple[list[str], list[str]]:
    chosen: set[str] = set()
    problems = []
    names = sorted({module.rpartition(".")[2] for module in linear})
    for module in options:
        place = GROUPS.get(module)
        fitting = [
            name
            for name in linear
            if (place in name if place is not None else name.endswith(f".{module}"))
        ]
        if not fitting:
            known = ", ".join([*GROUPS, *names])
            problems.append(
                f"{module!r} is not a linear module of the model's layers; give {known}"
            )
        chosen |= {name.rpartition(".")[2] for name in fitting}
    return sorted(chosen), problems


def frozen_linear(model: Any, groups: Iterable[ParameterGroup], stages: int) -> list[str]:
    """Return the names of the matrices in the layers of a model, or an outline, that never change.

    What an adapter of an earlier stage is merged into does change.
    """
    named = dict(model.named_parameters())
    merged = {adapter_name(stage) for stage in range(stages - 1)}
    changed = {name.partition(".lora_")[0] for name in named if adapter_of(name) in merged}
    trained = {name for group in groups for name in group.names}
    return [
        name
        for name, weight in named.items()
        if layer_of(name) is not None and name not in trained and weight.dim() == 2
        if plain_name(name).removesuffix(".weight") not in changed
    ]


def hold_in_16_bits(model: Any, names: Iterable[str]) -> None:
    """Hold those of these matrices that linear modules have in 16 bits, where it is exact."""
    import torch

    for name in names:
        module = model.get_submodule(name.rpartition(".")[0])
        if not isinstance(module, torch.nn.Linear):
            continue
        for dtype in (torch.bfloat16, torch.float16):
            half = module.weight.detach().to(dtype)
            if torch.equal(half.to(module.weight.dtype), module.weight):
                module.weight = torch.nn.Parameter(half, requires_grad=False)
                module.forward = partial(_product, module)  # type: ignore[method-assign]
                break


def _product(module: torch.nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
    """Return the product as the weight's float32 copy gives it: held-out losses are in float32."""
    import torch

    autocast = torch.is_autocast_enabled(inputs.device.type)
    weight = module.weight if autocast else module.weight.to(inputs.dtype)
    return torch.nn.functional.linear(inputs, weight, module.bias)
