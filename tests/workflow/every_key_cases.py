"""Every key of an experiment, a change of it, and the jobs that it feeds.

A case is (changes of every_key.yaml, jobs): the first change is of the key in question, others keep
the experiment valid. Jobs are those that read the key themselves, ``rule``, ``rule:wildcards`` or
``rule:start*``; that everything which uses their results is planned too goes without saying, and so
do the record of the experiment and the page that shows it.
"""

from __future__ import annotations

from typing import Any

Case = tuple[dict[str, Any], list[str]]

MAIN, SECOND = "adapt_model:main-*", "adapt_model:second-*"
PACK_PRETRAINING = "pack_tokens:source--sized--pretrain"
PACK, PACK_STAGED = (
    "pack_tokens:target--adaptation--adapt",
    "pack_tokens:target--adaptation--staged",
)
PACK_ANSWERS, HELDOUT_ANSWERS = "pack_tokens:hub--chat--answers", "pack_heldout_answers"
FIRST, NEXT = "recipes.staged.stages.0", "recipes.staged.stages.1"
TASKS, TEXT = "evaluation.multiple_choice.tasks", "evaluation.generation.tasks"
PARALLEL = "fertility.parallel.source"
CLAIMS, COLUMNS = "tables.claims.claims", "tables.runs.columns"
NO_HUB = {f"{PARALLEL}.hub": None}
TRAINED = (
    "main-sava", "main-focus", "main-again", "second-mean", "second-clp", "second-clp-expanded",
    "second-clp-summed",
)  # fmt: skip
OTHER_HELPER = "fetch_model:other-helper"


def one(key: str, value: Any, *jobs: str) -> Case:
    """Return the case of one key that needs no other change."""
    return {key: value}, list(jobs)


def each(prefix: str, jobs: list[str], **values: Any) -> list[Case]:
    """Return a case for every key below ``prefix``; all of them feed the same jobs."""
    return [({f"{prefix}.{key}": value}, jobs) for key, value in values.items()]


def joined(prefix: str, *jobs: str) -> list[Case]:
    """Return the cases of several configurations of the Hub in place of one."""
    names = {f"{prefix}.names.{language}": language for language in ("it", "en")}
    names[f"{prefix}.name"] = None
    return [(names, [*jobs]), ({f"{prefix}.join": "key", **names}, [*jobs])]


TOP: list[Case] = [
    one("title", "Another"),
    one("paper_values", "corrected", "collect_scores"),
    one("data_root", "elsewhere", "prepare_corpus:en"),
    one(
        "seed", 18, "build_stand_in", "pack_tokens", "train_auxiliary", "init_embeddings:second-*",
        "init_embeddings:tuned-*", "build_probe", "build_prompts", "measure_similarity",
        "measure_scale", "compare_runs",
    ),
    *each("world", ["build_demoworld"], seed=18, documents=90, parallel=44, questions=44, items=9,
          conversations=44),
]  # fmt: skip

CORPORA: list[Case] = [
    *each(
        "corpora.it", ["prepare_corpus:it"],
        text_field="body", limit_documents=5, limit_bytes=500, heldout_bytes=900,
    ),
    one("corpora.chat.language", "fr", "prepare_corpus:chat"),
    *each(
        "corpora.it.near_duplicates", ["prepare_corpus:it"],
        threshold=0.7, words=4, permutations=64,
    ),
    one("corpora.chat.messages_field", "said", "prepare_corpus:chat"),
    one("corpora.it.source.world", "documents.en", "prepare_corpus:it"),
    one("corpora.en.source.path", "data/other.jsonl", "prepare_corpus:en"),
    *each(
        "corpora.web.source.hub", ["prepare_corpus:web"],
        id="o/other", name="it", split="test", revision="v2",
    ),
    one("corpora.web.source.hub.fields.text", "body", "prepare_corpus:web"),
    *joined("corpora.web.source.hub", "prepare_corpus:web"),
    ({"corpora.it.source.pattern": "data/*.jsonl", "corpora.it.source.world": None},
     ["prepare_corpus:it"]),
    ({"corpora.it.source.lines.it": "items/it.txt", "corpora.it.source.world": None,
      "corpora.it.text_field": "it"}, ["prepare_corpus:it"]),
]  # fmt: skip

TOKENIZERS: list[Case] = [
    *each("tokenizers.hub", ["build_tokenizer:hub"], hub="o/other", revision="v2"),
    one("tokenizers.folder.path", "tokenizers/two", "build_tokenizer:folder"),
    *each(
        "tokenizers.spare.substitute", ["build_tokenizer:spare"], hub="o/other", revision="v2"
    ),
    one("tokenizers.spare-folder.substitute.path", "tokenizers/two",
        "build_tokenizer:spare-folder"),
    *each(
        "tokenizers.source.train", ["build_tokenizer:source"],
        alphabet="byte_level", vocabulary_size=500, limit_bytes=900, model="unigram",
        digits="none", whitespace="single",
    ),
    ({"tokenizers.target.train.corpora.it": 0.4, "tokenizers.target.train.corpora.en": 0.6},
     ["build_tokenizer:target"]),
    *each(
        "tokenizers.extended.extend", ["build_tokenizer:extended"],
        base="target", donor="hub", donor_top=30, limit_bytes=900, add=30,
    ),
    ({"tokenizers.extended.extend.corpora.it": 0.4, "tokenizers.extended.extend.corpora.web": 0.6},
     ["build_tokenizer:extended"]),
    ({"tokenizers.extended.extend.add_share": 0.5, "tokenizers.extended.extend.add": None},
     ["build_tokenizer:extended"]),
    ({"tokenizers.extended.extend.size": 500, "tokenizers.extended.extend.add": None},
     ["build_tokenizer:extended"]),
    *[
        case
        for name, way, own in (
            ("optimised", "optimise", {"keep": 0.6, "size": 300}),
            ("replaced", "replace", {"share": 0.6}),
        )
        for case in [
            *each(
                f"tokenizers.{name}.{way}", [f"build_tokenizer:{name}"],
                base="target", donor="hub", donor_top=30, limit_bytes=900, **own,
            ),
            ({f"tokenizers.{name}.{way}.corpora.it": 0.9,
              f"tokenizers.{name}.{way}.corpora.en": 0.1}, [f"build_tokenizer:{name}"]),
            ({f"tokenizers.{name}.{way}.count_corpora.it": 0.4,
              f"tokenizers.{name}.{way}.count_corpora.web": 0.6}, [f"build_tokenizer:{name}"]),
        ]
    ],
    *each("tokenizers.adopted.adopt", ["build_tokenizer:adopted"], base="target", chat="spare"),
    one("roles.source.<s>", "document", "intersect_vocabularies:source--*"),
]  # fmt: skip

RECIPES: list[Case] = [
    ({"mixtures.adaptation.it": 0.6, "mixtures.adaptation.en": 0.4}, [PACK, PACK_STAGED]),
    ({"mixtures.even.it": 0.6, "mixtures.even.en": 0.4}, [PACK_STAGED]),
    ({"mixtures.sized.it": 0.5}, [PACK_PRETRAINING]),
    one("recipes.pretrain.learning_rate", 0.1, "pretrain_stand_in:built"),
    one("recipes.pretrain.size_exponent", 0.5, PACK_PRETRAINING),
    *each(
        "recipes.adapt", [MAIN],
        warmup_steps=2, warmup_share=0.5, learning_rate=0.1, schedule="constant",
        final_learning_rate_share=0.2, adam_beta1=0.8, adam_beta2=0.9, adam_epsilon=1e-6,
        weight_decay=0.1, gradient_clip=2.0, checkpoint_every=2, precision="bfloat16",
        heldout_every=2,
    ),
    *each("recipes.adapt", [PACK, MAIN], batch_size=8, steps=12),
    ({"recipes.adapt.tokens": 4096, "recipes.adapt.steps": None}, [PACK, MAIN]),
    *each(
        "recipes.adapt", [PACK],
        document_start=False, document_end=True, document_masking=True, repeat_corpora=True,
        shuffle_rows=True,
    ),
    one("recipes.answers.one_per_row", True, PACK_ANSWERS),
    *each(
        "recipes.answers", [PACK_ANSWERS, HELDOUT_ANSWERS],
        drop_too_long=True, chat_template="chat/two.jinja",
    ),
    ({"recipes.answers.loss": "all", "recipes.answers.chat_template": None,
      "runs.tuned.mixture": "even"},
     ["pack_tokens:hub--even--answers", "adapt_model:tuned-*"]),
    one("recipes.adapt.sequence_length", 128, PACK, "pack_heldout:target--128"),
    *each(FIRST, [PACK_STAGED, SECOND], name="earliest"),
    *each(
        FIRST, [SECOND],
        train="attention", warmup_steps=1, warmup_share=0.5, learning_rate=0.1,
        schedule="constant", final_learning_rate_share=0.2, weight_decay=0.1,
    ),
    ({f"{FIRST}.steps": 3, f"{NEXT}.steps": 5}, [PACK_STAGED, SECOND]),
    ({f"{FIRST}.tokens": 512, f"{FIRST}.steps": None, "recipes.staged.steps": None},
     [PACK_STAGED, SECOND]),
    ({f"{FIRST}.share": 0.25, f"{FIRST}.steps": None, f"{NEXT}.share": 0.75, f"{NEXT}.steps": None},
     [PACK_STAGED, SECOND]),
    one(f"{FIRST}.mixture", "sized", PACK_STAGED),
    *each(f"{NEXT}.groups.embeddings", [SECOND], learning_rate=0.1, weight_decay=0.2),
    *each(f"{NEXT}.lora", [SECOND], rank=4, alpha=8, layers=[0, -1], modules=["q_proj"]),
]  # fmt: skip

MODELS: list[Case] = [
    *each("models.fetched", ["fetch_model:fetched"], hub="o/other", revision="v2"),
    one("models.fetched.tokenizer", "folder", "intersect_vocabularies:folder--target",
        "init_embeddings:second-*", "pack_heldout:folder--64",
        "pack_tokens:folder--chat--answers", "pack_heldout_answers:folder--answers"),
    one("models.helper.path", "models/two", "fetch_model:helper"),
    one("models.helper.tokenizer", "folder", "intersect_vocabularies:folder--target",
        "init_embeddings:main-sava", "measure_similarity:main"),
    *each(
        "models.built.pretrain.architecture", ["build_stand_in:built"],
        family="llama", hidden_size=64, intermediate_size=96, layers=2, heads=4, kv_heads=1,
        tied=True,
    ),
    one("models.built.pretrain.context_length", 4096, "build_stand_in:built"),
    one("models.built.pretrain.mixture", "even", "pack_tokens:source--even--pretrain"),
    one("models.built.pretrain.recipe", "adapt", "pack_tokens:source--sized--adapt",
        "pack_heldout:source--64"),
    one("models.expanded.blocks.model", "helper", "change_model:expanded"),
    one("models.expanded.blocks.share", 1.0, "change_model:expanded"),
    one("models.summed.sum.model", "plain", "change_model:summed"),
    *each(
        "models.summed.sum.add.0", ["change_model:summed"],
        model="built", minus="built", weight=2.0,
    ),
    *[
        case
        for model, key, step in (
            ("expanded-run", "blocks.model", 8), ("summed-runs", "sum.model", 4),
            ("summed-runs", "sum.add.0.model", 8), ("summed-runs", "sum.add.0.minus", 8),
        )
        for case in each(
            f"models.{model}.{key}", [f"change_model:{model}"], run="main-sava", step=step
        )
    ],
]  # fmt: skip

#: Keys of a sweep, another value of each, and the jobs that it feeds.
SWEPT = (
    ("axes.rate.set", "recipe.weight_decay", "adapt_model:third-*"),
    ("axes.rate.values.low", 2.0e-4, "adapt_model:third-swept-low"),
    ("hold.it", 2000, "pack_tokens:optimised--thirds--third-thirds"),
)
#: The sweep of a group, which is that of its run in every_key.yaml.
OF_GROUP = {
    "axes.rate.set": "recipe.learning_rate", "axes.rate.values.low": 1.0e-4,
    "axes.rate.values.high": 1.0e-3, "hold.it": 1000,
}  # fmt: skip
SWEEPS: list[Case] = [
    *[one(f"runs.third.methods.swept.sweep.{key}", value, jobs) for key, value, jobs in SWEPT],
    *[
        (
            {
                f"runs.third.sweep.{key}": value,
                **{f"runs.third.sweep.{n}": v for n, v in OF_GROUP.items() if n != key},
                "runs.third.methods.swept": {"method": "mean", "evaluate": False},
            },
            [jobs],
        )
        for key, value, jobs in SWEPT
    ],
    one("runs.main.methods.fvt.axes.rate", "low", "collect_scores"),
    one("runs.third.methods.swept.seeds", [1], "init_embeddings:third-*"),
    one("runs.third.seeds", [1], "init_embeddings:third-*"),
    one("runs.main.methods.fvt.replicate_of", "another", "collect_scores"),
]

RUNS: list[Case] = [
    one("runs.main.label", "Another", "collect_scores"),
    one("runs.main.paper_steps.4", 200, "collect_scores"),
    one("runs.main.source", "fetched", "init_embeddings:main-*", "train_auxiliary:target",
        "score_multiple_choice:main-base", "generate_text:main-base",
        "measure_efficiency:main-base", "measure_heldout:main-base"),
    ({"runs.main.target": "extended", "models.helper.tokenizer": "extended"},
     ["intersect_vocabularies:source--extended", "train_auxiliary:extended",
      "init_embeddings:main-*", "pack_tokens:extended--adaptation--adapt",
      "pack_heldout:extended--64"]),
    one("runs.main.helper", "other-helper", OTHER_HELPER, "init_embeddings:main-sava",
        "measure_similarity:main"),
    one("runs.main.mixture", "even", "pack_tokens:target--even--adapt"),
    one("runs.main.recipe", "staged", MAIN),
    one("runs.main.identity", "marker", "intersect_vocabularies:source--target",
        "init_embeddings:main-*"),
    *each("runs.main.chat", ["score_multiple_choice:main-*", "generate_text:main-*"],
          template="chatml", shots="one_turn"),
    ({"runs.second.languages": ["it"], "tables.second-en": None},
     ["score_multiple_choice:second-*", "generate_text:second-*"]),
    one("runs.main.methods.fvt.method", "mean", "init_embeddings:main-fvt"),
    one("runs.main.methods.sava.helper", "other-helper", OTHER_HELPER, "init_embeddings:main-sava"),
    one("runs.main.methods.sava.anchors", 30, "init_embeddings:main-sava"),
    one("runs.main.methods.fvt.recipe", "staged", "adapt_model:main-fvt"),
    one("runs.main.methods.fvt.seed", 4, "init_embeddings:main-fvt"),
    one("runs.main.methods.fvt.target", "replaced", "intersect_vocabularies:source--replaced",
        "init_embeddings:main-fvt", "pack_tokens:replaced--adaptation--adapt",
        "pack_heldout:replaced--64"),
    one("runs.main.methods.fvt.mixture", "even", "pack_tokens:target--even--adapt"),
    one("runs.main.methods.again.start.run", "main-sava", "init_embeddings:main-again"),
    one("runs.main.methods.again.start.step", 8, "init_embeddings:main-again"),
    one("runs.main.methods.carried.donor.run", "main-fvt", "init_embeddings:main-carried"),
    one("runs.main.methods.carried.donor.step", "first", "init_embeddings:main-carried"),
    one("runs.main.references.other.label", "Another", "collect_scores"),
    one("runs.main.references.other.paper_step", 200, "collect_scores"),
    one("runs.main.references.other.model", "helper", "score_multiple_choice:main-other",
        "generate_text:main-other", "measure_efficiency:main-other",
        "measure_heldout:main-other"),
    one("runs.main.methods.fvt.evaluate", True, "score_multiple_choice:main-fvt",
        "generate_text:main-fvt", "measure_similarity:main"),
    *each(
        "auxiliary", ["train_auxiliary:target"],
        corpora=["it"], dimension=50, epochs=2, min_count=5, buckets=500, limit_documents=9,
        limit_bytes=900,
    ),
]  # fmt: skip

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
        PACK_STAGED, "pack_tokens:optimised--thirds--third-thirds"),
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
            *joined(f"{TEXT}.hub.{part}.hub", "build_prompts:hub"),
            ({f"{TEXT}.paths.{part}.pattern": "items/*.jsonl", f"{TEXT}.paths.{part}.path": None},
             ["build_prompts:paths"]),
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

LAYOUT: list[Case] = [
    *[
        one(f"tables.{table}.title", "Another", "make_tables")
        for table in (
            "parameters", "fertility", "tokenizers", "parity", "choices", "generation",
            "similarity", "prompts", "significance", "efficiency", "claims", "heldout",
            "runs", "categories", "composite", "languages", "sweep", "examples", "gate",
        )
    ],
    *each(
        "tables.choices", ["make_tables"],
        group="second", language="en", steps=["last"], columns=["hellaswag"],
    ),
    *each(
        "tables.generation", ["make_tables"],
        group="second", steps=["last"],
    ),
    one("tables.generation.metrics.world", ["bleu"], "make_tables"),
    one("tables.similarity.groups", ["main", "second"], "make_tables"),
    one("tables.prompts.tasks", ["hub"], "make_tables"),
    one("tables.significance.group", "second", "compare_runs:second", "make_tables"),
    one("tables.significance.step", 4, "compare_runs:main", "make_tables"),
    *each("tables.significance", ["make_tables"], language="en", against="sava"),
    *each("tables.gate", ["make_tables"], group="second", steps=["first"], tolerance=2.0),
    one("tables.gate.before.run", "main-sava", "make_tables"),
    ({"tables.gate.before.step": "first", "tables.gate.before.run": "main-sava"}, ["make_tables"]),
    one("tables.efficiency.group", "second", "measure_efficiency:second-*", "make_tables"),
    one("tables.efficiency.runs", ["main-focus"], "measure_efficiency:main-focus", "make_tables"),
    *each(f"{CLAIMS}.0", ["make_tables"], says="Other", place="2", at_least=3, at_most=4),
    *each(f"{CLAIMS}.0.shared_tokens", ["make_tables"], source="folder", target="source"),
    *each(
        f"{CLAIMS}.1.fertility_fall", ["make_tables"],
        source="hub", target="hub", corpora=["en"],
    ),
    *each(
        f"{CLAIMS}.2.size_fall", ["make_tables"],
        of="vocabulary_size", source="Small", target="Large", share=False,
    ),
    *each(
        f"{CLAIMS}.3.score_gain", ["make_tables"],
        group="second", runs=["sava"], over=["sava"], step=4, over_step=4, language="en",
        family="hellaswag",
    ),
    *each(
        f"{CLAIMS}.4.similarity_gain", ["make_tables"],
        group="second", runs=["sava"], over=["sava"], step=4, over_step=4,
    ),
    one(f"{CLAIMS}.5.product.factors", [3, 4], "make_tables"),
    one("tables.runs.runs", ["main-focus"], "make_tables"),
    one(f"{COLUMNS}.0.label", "Another", "make_tables"),
    *each(f"{COLUMNS}.0.tokens", ["make_tables"], language="it"),
    *each(f"{COLUMNS}.1.bytes", ["make_tables"], language="it"),
    *each(f"{COLUMNS}.2.heldout", ["make_tables"], language="en", step=4),
    one(f"{COLUMNS}.2.heldout.reference", "source", "pack_heldout:source--64", "make_tables"),
    *each(f"{COLUMNS}.3.steps_to", ["make_tables"], language="en", loss=1.0, interpolate=False),
    one(f"{COLUMNS}.4.first_step_loss.per", "byte", "make_tables"),
    *each(f"{COLUMNS}.5.average", ["make_tables"], language="en", step=4, by_items=True),
    one(f"{COLUMNS}.6.fertility.corpus", "en", "make_tables"),
    *each(f"{COLUMNS}.7.average", ["make_tables"], named=["world"]),
    one(f"{COLUMNS}.7.average.metrics.world", "bleu", "make_tables"),
    *each("tables.categories", ["make_tables"], runs=["second-mean"], step=4, overall="All"),
    one("tables.categories.categories.Good", ["world"], "make_tables"),
    one("tables.categories.metrics.world", "bleu", "make_tables"),
    *each("tables.composite", ["make_tables"], runs=["second-mean"], step=4),
    one("tables.composite.columns.Good", ["world"], "make_tables"),
    one("tables.composite.metrics.world", "bleu", "make_tables"),
    *each(
        "tables.languages", ["make_tables"],
        columns=["sava"], step=4, into="en", out_of="en", heldout=True, change="percent",
    ),
    one("tables.languages.groups.main", ["en"], "make_tables"),
    one("tables.languages.family", "hellaswag", "make_tables"),
    one("tables.languages.metrics.world", "bleu", "make_tables"),
    *each(
        "tables.heldout", ["make_tables"],
        runs=["main-focus"], languages=["en"], steps=[4], interpolate=False,
    ),
    one("tables.heldout.reference", "source", "pack_heldout:source--64", "make_tables"),
    one("tables.heldout.reach.it", [2.0], "make_tables"),
    *each(
        "figures.heldout", ["make_figures"],
        runs=["main-focus"], languages=["en"], over="bytes", scale="linear", against="main-sava",
    ),
    one("figures.heldout.reference", "source", "pack_heldout:source--64", "make_figures"),
    *[
        case
        for section, made in (("tables", "make_tables"), ("figures", "make_figures"))
        for case in (
            *each(
                f"{section}.sweep", [made],
                group="second", rows="depth", columns="depth", runs=["main-sava"],
            ),
            one(f"{section}.sweep.where.depth", "two", made),
            one(f"{section}.sweep.value.heldout.language", "en", made),
        )
    ],
    *each(
        "tables.examples", ["make_tables"],
        task="hub", runs=["main-focus"], step="first", number=1, characters=80,
    ),
    *each("figures.losses", ["make_figures"], over="bytes", scale="log"),
    *each("figures.by_corpus", ["make_figures"], tokenizers=["hub"], corpora=["en"]),
    *[
        one(f"figures.{figure}.title", "Another", "make_figures")
        for figure in (
            "fertility", "by_corpus", "counts", "scores", "losses", "similarity", "heldout",
            "sweep",
        )
    ],
    *each("figures.scores", ["make_figures"], group="second", language="en"),
    one("figures.losses.runs", ["main-focus"], "make_figures"),
    one("figures.similarity.group", "second", "make_figures"),
]  # fmt: skip

CASES = [
    *TOP, *CORPORA, *TOKENIZERS, *RECIPES, *MODELS, *SWEEPS, *RUNS, *EVALUATION, *GENERATION,
    *TOKENIZER_REPORT, *LAYOUT,
]  # fmt: skip

#: Keys that are no case above, and why.
WITHOUT_A_CASE = {
    **{
        f"{section}.*[sweep].value.{key}": "as a column of a table of kind runs"
        for section in ("tables", "figures")
        for key in (
            "label",
            "tokens.language",
            "bytes.language",
            "heldout.step",
            "heldout.reference",
            "steps_to.language",
            "steps_to.loss",
            "steps_to.interpolate",
            "first_step_loss.per",
            "average.language",
            "average.named",
            "average.step",
            "average.by_items",
            "average.metrics.*",
            "fertility.corpus",
        )
    },
    "experiment": "another experiment: test_another_id_is_another_experiment",
    **{
        f"evaluation.multiple_choice.tasks.*.data.{key}": "refused: test_source"
        for key in ("lines.*", "pattern", "hub.fields.*", "hub.names.*", "hub.join")
    },
}
