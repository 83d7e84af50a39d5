"""Every key of an experiment, a change of it, and the jobs that it feeds.

A case is (changes of every_key.yaml, jobs): the first change is of the key in question, others keep
the experiment valid. Jobs are those that read the key themselves, ``rule``, ``rule:wildcards`` or
``rule:start*``; that everything which uses their results is planned too goes without saying, and so
does the whole report, which reads the record of the experiment.
"""

from __future__ import annotations

from evaluation_key_cases import EVALUATION, GENERATION, LAYOUT, TOKENIZER_REPORT
from key_changes import (
    FIRST,
    HELDOUT_ANSWERS,
    MAIN,
    NEXT,
    OTHER_HELPER,
    PACK,
    PACK_ANSWERS,
    PACK_PRETRAINING,
    PACK_STAGED,
    SECOND,
    Case,
    each,
    joined,
    one,
)

TOP: list[Case] = [
    one("title", "Another"),
    one("paper_values", "corrected", "collect_scores"),
    one("data_root", "elsewhere", "prepare_corpus:en"),
    one(
        "seed", 18, "build_stand_in", "pack_tokens", "train_auxiliary", "init_embeddings:second-*",
        "init_embeddings:tuned-*", "init_embeddings:adapters-*", "build_probe", "build_prompts",
        "measure_similarity", "measure_scale", "compare_runs",
    ),
    *each("world", ["build_demoworld"], seed=18, documents=90, parallel=44, questions=44, items=9,
          conversations=44),
]  # fmt: skip

CORPORA: list[Case] = [
    *each(
        "corpora.it", ["prepare_corpus:it"],
        text_field="body", limit_documents=5, limit_bytes=500, heldout_bytes=900,
        escaped_line_ends=True,
    ),
    one("corpora.chat.language", "fr", "prepare_corpus:chat"),
    *each(
        "corpora.it.near_duplicates", ["prepare_corpus:it"],
        threshold=0.7, words=4, permutations=64,
    ),
    one("corpora.chat.messages_field", "said", "prepare_corpus:chat"),
    ({"corpora.chat.copying": "sentence", "corpora.chat.messages_field": None},
     ["prepare_corpus:chat"]),
    *each(
        "corpora.pairs.translation", ["prepare_corpus:pairs"],
        languages=["it", "en"], both_directions=True,
    ),
    one("corpora.pairs.translation.fields.en", "english", "prepare_corpus:pairs"),
    *each("corpora.pairs.translation.top", ["prepare_corpus:pairs"], field="score", count=8),
    *each(
        "corpora.pairs.translation.layout", ["prepare_corpus:pairs"],
        language="en", instruction="Translate:", labels=["From", "To"], after_label=" =",
        before_text="  ", between_lines=" ", between_shots="\n",
    ),
    *each(
        "corpora.own.answers", ["answer_prompts:own"],
        model="helper", chat_template="chatml", engine="transformers", max_new_tokens=9,
        context_length=99, limit=3,
    ),
    *each("corpora.own.answers.judge", ["judge_answers:own"], ended=False, own_checks=False),
    one("corpora.own.answers.judge.checks.language", "it", "judge_answers:own"),
    *each("corpora.graded.answers.model", ["answer_prompts:graded"], run="main-sava", step=4),
    *each(
        "corpora.graded.answers.judge", ["judge_answers:graded"],
        threshold=3, engine="transformers", max_new_tokens=4, context_length=512,
    ),
    ({"corpora.graded.answers.judge.kind": "rule", "corpora.graded.answers.judge_model": None},
     ["judge_answers:graded"]),
    *each("corpora.graded.answers.judge_model", ["judge_answers:graded"], run="main-sava", step=4),
    one("corpora.graded.answers.judge_model", "plain", "judge_answers:graded"),
    one("corpora.it.source.world", "documents.en", "prepare_corpus:it"),
    one("corpora.en.source.path", "data/other.jsonl", "prepare_corpus:en"),
    *each(
        "corpora.web.source.hub", ["prepare_corpus:web"],
        id="o/other", name="it", split="test", revision="v2",
    ),
    one("corpora.web.source.hub.fields.text", "body", "prepare_corpus:web"),
    ({"corpora.web.source.hub.files": "*.jsonl", "corpora.web.source.hub.name": None},
     ["prepare_corpus:web"]),
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
    *each("tokenizers.spoken.adopt", ["build_tokenizer:spoken"], template="chat/two.jinja",
          tokens=["<two>"]),
    one("roles.source.<s>", "document", "intersect_vocabularies:source--*"),
]  # fmt: skip

RECIPES: list[Case] = [
    ({"mixtures.adaptation.it": 0.6, "mixtures.adaptation.en": 0.4}, [PACK, PACK_STAGED]),
    ({"mixtures.even.it": 0.6, "mixtures.even.en": 0.4}, [PACK_STAGED]),
    ({"mixtures.sized.it": 0.5}, [PACK_PRETRAINING]),
    one("recipes.pretrain.learning_rate", 0.1, "pretrain_stand_in:built"),
    *each(
        "recipes.adapt", [MAIN],
        warmup_steps=2, warmup_share=0.5, learning_rate=0.1, schedule="constant",
        final_learning_rate_share=0.2, adam_beta1=0.8, adam_beta2=0.9, adam_epsilon=1e-6,
        weight_decay=0.1, gradient_clip=2.0, checkpoint_every=2, precision="bfloat16",
        heldout_every=2, keep_best=True,
    ),
    *each("recipes.adapt", [PACK, MAIN], batch_size=8, steps=12),
    ({"recipes.adapt.tokens": 4096, "recipes.adapt.steps": None}, [PACK, MAIN]),
    *each(
        "recipes.adapt", [PACK],
        document_start=False, document_end=True, repeat_corpora=True,
        shuffle_rows=True, rows_begin_at="paragraph",
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
    one("recipes.adapters.stages.0.adapter.auxiliary", 0.2, "adapt_model:adapters-vocadt"),
    one("recipes.adapters.stages.0.adapter.shared", True, "adapt_model:adapters-vocadt"),
    *each(f"{NEXT}.lora", [SECOND], rank=4, alpha=8, layers=[0, -1], modules=["q_proj"]),
]  # fmt: skip

MODELS: list[Case] = [
    *each("models.fetched", ["fetch_model:fetched"], hub="o/other", revision="v2"),
    one("models.fetched.tokenizer", "folder", "intersect_vocabularies:folder--target",
        "init_embeddings:second-*", "init_embeddings:adapters-*", "pack_heldout:folder--64",
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
    one("runs.main.most_shots", 0, "score_multiple_choice:main-*", "generate_text:main-*"),
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
    one("auxiliary.vectors", "vectors/two.txt", "init_embeddings:second-similarity"),
]  # fmt: skip

CASES = [
    *TOP, *CORPORA, *TOKENIZERS, *RECIPES, *MODELS, *SWEEPS, *RUNS, *EVALUATION, *GENERATION,
    *TOKENIZER_REPORT, *LAYOUT,
]  # fmt: skip

#: Keys that are no case above, and why.
WITHOUT_A_CASE = {
    "experiment": "another experiment: test_another_id_is_another_experiment",
    **{
        f"evaluation.multiple_choice.tasks.*.data.{key}": "refused: test_source"
        for key in ("lines.*", "pattern", "hub.fields.*", "hub.names.*", "hub.join", "hub.files")
    },
}
