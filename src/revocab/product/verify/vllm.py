"""vLLM, in its own environment: the tokenizer that it loads, and its log-probabilities."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from revocab.evaluation.inference.engines.vllm import ENGINE, start_settings
from revocab.models.shape import context_length
from revocab.models.token_rows import without_padding
from revocab.product.verify.runtimes import Answer, Request, ask_there
from revocab.product.verify.transformers_tokens import encoded


def ask(request: Request) -> list[Answer]:
    assert ENGINE.environment is not None
    return ask_there(ENGINE.environment, ["-m", __name__], request.data)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    from vllm import __version__
    from vllm.tokenizers import get_tokenizer

    tokenizer: Any = get_tokenizer(request["folder"])
    ids = encoded(tokenizer, request["texts"])
    decoded = tokenizer.batch_decode(request["decode"], skip_special_tokens=True)
    values = {"name": __version__, "ids": ids, "decoded": decoded, "normalised": True}
    try:
        rows = log_probabilities(Path(request["folder"]), request["logits"])
    except ValueError as error:  # shapes that it does not run, as start_settings says
        return {**values, "name": f"{__version__}, without logits: {error}"}
    return {**values, "logits": rows}


def log_probabilities(folder: Path, requests: list[Any]) -> list[list[float]]:
    """Return a row of the vocabulary for each position of each request, in float32 on a CPU."""
    if not requests:
        return []
    from transformers import AutoConfig
    from vllm import LLM, SamplingParams

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    begun = [ids[: at + 1] for ids, places in requests for at in places]
    longest = max(len(ids) for ids, _ in requests) + 2
    length = min(longest, context_length(config))
    settings = start_settings(config, "cpu", "float32", length, requests=len(begun))
    with without_padding(folder) as read:
        model = LLM(model=str(read), generation_config="vllm", max_logprobs=-1, **settings)
        # One token after each of these beginnings: of the positions before it none is told.
        prompts: Any = [{"prompt_token_ids": ids} for ids in begun]
        wanted = SamplingParams(temperature=0.0, max_tokens=1, logprobs=-1, detokenize=False)
        results = model.generate(prompts, wanted, use_tqdm=False)
    first = [result.outputs[0].logprobs[0] for result in results]
    return [[row[token].logprob for token in range(len(row))] for row in first]


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    error = ENGINE.environment and ENGINE.environment.import_error()
    if error:
        raise error
    answers = [answer(json.loads(source.read_text(encoding="utf-8")))]
    target.write_text(json.dumps(answers), encoding="utf-8")
