"""Seconds and memory of initialisation; speed of scoring and generation by size of vocabulary."""

from __future__ import annotations

from contextlib import contextmanager

from support.gpu_models import SHAPES, device, now, peak_memory, random_model, release

METHODS = {
    "sava lstsq": ("sava", {"solver": "lstsq"}),
    "clp": ("clp", {}),
    "projection": ("projection", {}),
}


def measure_initialisation(name):
    """Return seconds and memory of methods for one matrix: on the GPU, if any, and on the CPU.

    A third of the target's tokens are shared. Memory is what a method needs beside its inputs.
    """
    import torch

    from revocab.initialise.cost_at_scale import random_matrix, watched_memory
    from revocab.initialise.method import MethodInputs, methods

    shape = SHAPES[name]
    rows = shape.new + shape.new // 2
    matrices = (
        random_matrix(shape.vocabulary, shape.hidden, 0),
        random_matrix(rows, shape.helper, 1),
    )
    source, helper = (list(matrix.shape) for matrix in matrices)
    result = {"source": source, "helper": helper, "new": shape.new, "table": []}
    for place in dict.fromkeys([device().type, "cpu"]):
        source_VD, helper_VX = (matrix.to(place) for matrix in matrices)
        shared_N, missing_N = torch.arange(rows, device=place).split([rows - shape.new, shape.new])
        for label, (method_name, values) in METHODS.items():
            inputs = MethodInputs(
                source_VD=source_VD,
                target_rows=rows,
                overlap_target_N=shared_N,
                overlap_source_N=shared_N % shape.vocabulary,
                missing_N=missing_N,
                seed=0,
                pieces=lambda token: [0],
                pieces_released=lambda token: [0],
                helper_VD=helper_VX,
            )
            method = methods()[method_name]
            release()
            before = torch.cuda.memory_allocated() if place == "cuda" else 0
            with peak_memory() if place == "cuda" else watched_memory() as peak:
                begin = now()
                rows_ND = method.initialise(inputs, method.options(**values))
                seconds = now() - begin
            if not bool(rows_ND.isfinite().all()):
                raise ValueError(f"{label} on {place}: rows that are not finite")
            own = {"method": label, "on": place, "seconds": seconds, "new_rows": shape.new,
                   "bytes": peak[0] - before}  # fmt: skip
            result["table"].append(own)
            print(f"  {own}", flush=True)
    return result


class Clock:
    """Seconds of regions: by events of a GPU, which make it wait for nothing, or by the clock."""

    def __init__(self):
        self.regions = []

    @contextmanager
    def region(self):
        import torch

        if device().type == "cpu":
            begin = now()
            yield
            self.regions.append(now() - begin)
            return
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        yield
        last.record()
        self.regions.append((first, last))

    def total(self):
        """Return the seconds of all regions, and forget them."""
        now()
        regions, self.regions = self.regions, []
        return sum(r if isinstance(r, float) else r[0].elapsed_time(r[1]) / 1e3 for r in regions)


def served(shape, vocabulary):
    """Yield speed, and the head's share, of scoring and generation at one size of vocabulary."""
    import torch
    from transformers import GenerationConfig

    model = random_model(shape, torch.bfloat16, vocabulary).eval()
    clock, product = Clock(), model.lm_head.forward

    def head(hidden):
        with clock.region():
            return product(hidden)

    model.lm_head.forward = head
    model.generation_config = GenerationConfig(
        do_sample=False, max_new_tokens=shape.written, eos_token_id=None, pad_token_id=0
    )
    ids_BL = torch.randint(vocabulary, (shape.texts, shape.read), device=model.device)
    prompts_BL = ids_BL[:, : shape.read // 8]

    def score():
        logits_BLV = model(input_ids=ids_BL, use_cache=False).logits[:, :-1]
        with clock.region():
            scores_BLV = logits_BLV.float().log_softmax(-1)
            scores_BLV.gather(2, ids_BL[:, 1:, None]).sum(dim=(1, 2))
        return ids_BL.numel()

    def generate():
        ids = model.generate(prompts_BL, attention_mask=torch.ones_like(prompts_BL))
        return ids[:, prompts_BL.shape[1] :].numel()

    for what, work in (("scoring", score), ("generation", generate)):
        with torch.no_grad():
            work()  # warms up
            clock.total()
            begin = now()
            with peak_memory() as peak:
                tokens = sum(work() for _ in range(2))
                seconds = now() - begin
        own = {"vocabulary": vocabulary, "work": what, "tokens_per_second": tokens / seconds,
               "share_of_head": clock.total() / seconds, "peak_bytes": peak[0]}  # fmt: skip
        print(f"  {own}", flush=True)
        yield own


def measure_serving(name):
    """Return the speeds before and after, of tokens: that a text has fewer comes on top."""
    shape, table = SHAPES[name], []
    for vocabulary in shape.served:
        release()
        table += served(shape, vocabulary)
    return {"texts": shape.texts, "read": shape.read, "written": shape.written, "table": table}
