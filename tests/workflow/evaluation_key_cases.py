"""Changed keys of what is evaluated and shown; see ``every_key_cases.py``."""

from __future__ import annotations

from key_changes import (
    HELDOUT_ANSWERS,
    NO_HUB,
    PACK,
    PACK_PRETRAINING,
    PACK_STAGED,
    PARALLEL,
    TASKS,
    TEXT,
    TRAINED,
    Case,
    each,
    joined,
    one,
)

EVALUATION: list[Case] = [
    one("evaluation.heldout", ["it"], "pack_heldout", "pack_tokens", HELDOUT_ANSWERS),
    one(f"{TASKS}.world_it.family", "sciq", "collect_scores"),
    # Tables that name it show it in any language.
    one(f"{TASKS}.world_it.language", "fr", "build_task:world_it", "score_multiple_choice"),
    # No table shows another language: the task is scored no more.
    one(f"{TASKS}.harness_it.language", "fr", "score_multiple_choice"),
    *each(f"{TASKS}.world_it", ["build_task:world_it"], template="mmlu_it", shots=2),
    one(f"{TASKS}.world_it.data.world", "mmlu.it", "build_task:world_it"),
    one(f"{TASKS}.path_en.data.path", "items/other.jsonl", "build_task:path_en"),
    *each(
        f"{TASKS}.hub_en.data.hub", ["build_task:hub_en"],
        id="o/other", name="it", split="dev", revision="v2",
    ),
    *each(f"{TASKS}.probe_en.probe", ["build_probe:probe_en"], kind="word_order", number=8),
    one(f"{TASKS}.probe_en.probe.corpora", ["en"], "build_probe:probe_en", PACK_PRETRAINING, PACK,
        PACK_STAGED, "pack_tokens:optimised--thirds--third-thirds",
        "pack_tokens:target--thirds--third"),
    *each(f"{TASKS}.hub_en.items", ["build_task:hub_en"], number=6, revision="v2"),
    *each(f"{TASKS}.harness_it", ["build_task:harness_it"], harness="arc_en", revision="v2"),
    *each(
        "evaluation.multiple_choice", ["score_multiple_choice"],
        shots=1, limit=10, engine="vllm", long_prompts="cut",
    ),
    # A model that is not trained has one step, whatever is wanted.
    one("evaluation.multiple_choice.steps", ["first", "last", 0],
        *[f"score_multiple_choice:{run}" for run in TRAINED]),
    one("evaluation.heldout_length", 32, "pack_heldout:target--32", "pack_heldout:hub--32"),
    # A folder without any of the templates that are used: only the record of scores shows it.
    one("evaluation.multiple_choice.templates", "items", "collect_scores"),
    *each("evaluation.significance", ["compare_runs"], resamples=500),
    *each(
        "evaluation.efficiency", ["measure_efficiency"],
        corpus="it", prompts=8, prompt_characters=500, new_tokens=32, batch_size=4, repeats=5,
    ),
    *each("similarity", ["measure_similarity"], anchors=64, relative="cosine"),
]  # fmt: skip

GENERATION: list[Case] = [
    one("evaluation.generation.engine", "vllm", "generate_text", "measure_efficiency"),
    one("evaluation.generation.max_new_tokens", 64, "generate_text"),
    one("evaluation.generation.context_length", 1024, "generate_text"),
    ({"evaluation.generation.steps": ["last"], "tables.generation.steps": ["last"]},
     [f"generate_text:{run}" for run in TRAINED]),
    one("evaluation.generation.comet_model", "o/other", "score_comet"),
    one("evaluation.generation.comet_model", None, "score_comet"),
    one("evaluation.generation.xcomet_model", "o/other", "score_comet"),
    *each(
        f"{TEXT}.world", ["build_prompts:world"],
        direction=["it", "en"], shots=2, limit=9, pool_limit=9, repeat_instruction=True,
    ),
    *each(
        f"{TEXT}.world.layout", ["build_prompts:world"],
        language="en", instruction="Translate.", labels=["From", "To"], after_label=" =",
        before_text="\n", between_lines="\n\n", between_shots="\n###\n",
    ),
    ({f"{TEXT}.world.kind": "question_answering", f"{TEXT}.world.direction": ["it"]},
     ["build_prompts:world"]),
    one(f"{TEXT}.copying.unit", "paragraph", "build_prompts:copying"),
    *[
        case
        for part in ("pool", "test")
        for case in [
            one(f"{TEXT}.world.{part}.world", "questions.en.test", "build_prompts:world"),
            one(f"{TEXT}.paths.{part}.path", "items/other.jsonl", "build_prompts:paths"),
            one(f"{TEXT}.lines.{part}.lines.en", "items/other.txt", "build_prompts:lines"),
            *each(
                f"{TEXT}.hub.{part}.hub", ["build_prompts:hub"],
                id="o/other", name="en-it", split="train", revision="v2",
            ),
            one(f"{TEXT}.hub.{part}.hub.fields.it", "text", "build_prompts:hub"),
            ({f"{TEXT}.hub.{part}.hub.files": "*.jsonl", f"{TEXT}.hub.{part}.hub.name": None},
             ["build_prompts:hub"]),
            *joined(f"{TEXT}.hub.{part}.hub", "build_prompts:hub"),
            ({f"{TEXT}.paths.{part}.pattern": "items/*.jsonl", f"{TEXT}.paths.{part}.path": None},
             ["build_prompts:paths"]),
            ({f"{TEXT}.copying.{part}.heldout": "it", f"{TEXT}.copying.{part}.world": None},
             ["build_prompts:copying"]),
        ]
    ],
]  # fmt: skip

TOKENIZER_REPORT: list[Case] = [
    *each(
        "fertility", ["measure_fertility"],
        tokenizers=["source", "target"], corpora=["it"], splitter="unicode", limit_documents=9,
        limit_bytes=900,
    ),
    one("fertility.parallel.languages", ["it", "en"], "measure_fertility"),
    *each(
        f"{PARALLEL}.hub", ["measure_fertility"],
        id="o/other", name="en-it", split="train", revision="v2",
    ),
    one(f"{PARALLEL}.hub.fields.it", "text", "measure_fertility"),
    ({f"{PARALLEL}.hub.files": "*.jsonl", f"{PARALLEL}.hub.name": None}, ["measure_fertility"]),
    *joined(f"{PARALLEL}.hub", "measure_fertility"),
    ({f"{PARALLEL}.world": "parallel.test", **NO_HUB}, ["measure_fertility"]),
    ({f"{PARALLEL}.pattern": "items/*.jsonl", **NO_HUB}, ["measure_fertility"]),
    ({f"{PARALLEL}.path": "items/en.jsonl", **NO_HUB}, ["measure_fertility"]),
    ({f"{PARALLEL}.lines.it": "items/it.txt", f"{PARALLEL}.lines.en": "items/en.txt", **NO_HUB},
     ["measure_fertility"]),
    *each(
        "parameters.0.architecture", ["count_parameters"],
        family="mistral", hidden_size=64, intermediate_size=96, layers=2, heads=4, kv_heads=1,
        tied=True,
    ),
    *each("parameters.0", ["count_parameters"], label="Another", vocabulary_size=500),
    one("intersections", [["source", "folder"]], "intersect_vocabularies:source--folder"),
    *each(
        "scale", ["measure_scale"],
        source_tokenizer="hub", target_tokenizer="hub", hidden_size=64, helper_hidden_size=32,
    ),
    one("scale.methods.quick.method", "mean", "measure_scale"),
]  # fmt: skip

#: Keys of tables and figures that more is computed for; any other change makes the report again.
LAYOUT: list[Case] = [
    one("tables.significance.group", "second", "compare_runs:second"),
    one("tables.significance.step", 4, "compare_runs:main"),
    one("tables.efficiency.group", "second", "measure_efficiency:second-*"),
    *[
        one(f"{place}.reference", "source", "pack_heldout:source--64")
        for place in ("tables.heldout", "tables.runs.columns.2.heldout")
    ],
]
