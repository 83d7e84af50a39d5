"""A tokenizer, random models and rows small enough to score in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.io import write_jsonl

TEXT = """Domanda: di che colore è il cielo? Risposta: azzurro e sereno.
Question: what does the baker sell? Answer: fresh bread and cakes.
Contesto: il fornaio vende il pane in città. Text: the cat sat. Translation: il gatto sedeva."""

IT_ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{i}",
        "context": "Il fornaio vende il pane in città." * (i % 3 == 0),
        "question": f"Chi vende il pane numero {i}?",
        "choices": ["il fornaio", "il gatto", "la città è sveglia", "nessuno"][: 2 + i % 3],
        "answer": i % 2,
    }
    for i in range(12)
]


#: Special tokens of the chat templates of tests.
CHAT_TOKENS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
)


def write_model(
    folder: Path,
    *,
    seed: int = 0,
    context_length: int = 128,
    head_width: int = 8,
    tied: bool = False,
    chat_template: str | None = None,
) -> Path:
    """Write a two-layer Mistral with random weights large enough for decided answers.

    With a chat template its tokenizer has the special tokens of chat, too.
    """
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    tokenizer = make_tokenizer()
    if chat_template is not None:
        tokenizer.add_special_tokens({"extra_special_tokens": list(CHAT_TOKENS)})
        tokenizer.chat_template = chat_template
    torch.manual_seed(seed)
    config = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=4 * head_width,
        intermediate_size=8 * head_width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context_length,
        sliding_window=None,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=tied,
    )
    model = MistralForCausalLM(config)
    for parameter in model.parameters():
        parameter.data *= 4
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


#: Characters that :func:`plant_twins` makes the same to a model, and items of which they are the
#: only difference: their choices have the same score, but for rounding.
TWINS = ("X", "Y")
TWIN_ROWS: list[dict[str, Any]] = [
    {
        "id": f"t{i}",
        "question": f"Chi vende {'il pane ' * (i % 7)}numero {i}?",
        "choices": [f"{TWINS[i % 2]} il gatto è", f"{TWINS[1 - i % 2]} il gatto è", "no"],
        "answer": 0,
    }
    for i in range(40)
]


def plant_twins(folder: Path) -> Path:
    """Give the tokens of ``TWINS`` the same rows in a model's embedding and output matrix."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    first, second = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(list(TWINS))
    with torch.no_grad():
        for matrix in (model.get_input_embeddings().weight, model.get_output_embeddings().weight):
            matrix[second] = matrix[first]
    model.save_pretrained(folder)
    return folder


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT.splitlines(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def write_task(
    folder: Path, repository: Path, name: str, rows: list[dict[str, Any]], template: str
) -> Path:
    from revocab.evaluation.multiple_choice import tasks

    data = folder / f"{name}.jsonl.gz"
    write_jsonl(data, rows)
    path = folder / f"{name}.yaml"
    template_path = tasks.TEMPLATES / f"{template}.yaml"
    tasks.write_task(path, tasks.build_task(name, template_path, data=data))
    return path


def render(config: dict[str, Any], rows: list[dict[str, Any]]) -> list[tuple]:
    """Return (context, continuations, target) of each row, as the harness builds them."""

    from datasets import Dataset, DatasetDict
    from lm_eval import utils
    from lm_eval.api.task import ConfigurableTask

    from revocab.evaluation.multiple_choice.task_file import RENDERER

    utils.apply_template = RENDERER
    split = config["test_split"]
    data = DatasetDict({split: Dataset.from_list(rows)})
    config = {**config, "dataset_kwargs": None, "custom_dataset": lambda **_: data}
    task = ConfigurableTask(config=config)
    task.build_all_requests()
    found = {}
    for request in task.instances:
        context, continuation = request.args
        found.setdefault(request.doc_id, (context, []))[1].append(continuation)
    docs = task.eval_docs
    return [(*found[i], task.doc_to_target(docs[i])) for i in range(len(docs))]
