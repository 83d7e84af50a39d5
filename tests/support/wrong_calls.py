"""Calls that careless and hostile users make: the words, and what the line that refuses them must
name. ``{…}`` is a file of the folder that :func:`write_inputs` writes.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab import __main__ as entry
from revocab.io import read_json, write_json, write_jsonl

INIT = "init --out o --source {toy} --target-tokenizer {target} "
FVT = f"{INIT}--method fvt "
TO_TARGET = "init --out o --target-tokenizer {target} --method fvt --source "
PREPARE = "prepare --corpus it --language it --out o --files "
PACK = "pack --sequence-length 16 --seed 1 --out o --tokenizer "
TRAINED = (
    "train --model {toy} --seed 1 --steps 2 --batch-size 2 --learning-rate 0.1"
    " --checkpoint-every 2 --out o "
)
TRAIN = f"{TRAINED}--packed {{packed}} --heldout {{heldout}} "
STAGE = '{"name": "a", "steps": 2, "learning_rate": 0.1, '
LORA = '"train": ["lora"], "lora": {"rank": 2, "alpha": 2, '
SCORE = "score --run r --tasks {task.yaml} --out o.csv --models 0="
GENERATE = "generate --run r --max-new-tokens 4 --context-length 64 --out o --models 0="
ANSWER = "answer --max-new-tokens 4 --context-length 64 --out o --files {chat.jsonl} --model {toy} "
TEXT = "--text it={lines.txt}"
BUILD = "tokenizer --construction train --corpora it={corpus} --out o --option alphabet=byte_level "
SETTINGS = "--job '{}' --out o "

WRONG_CALLS: list[tuple[str, str]] = [
    # Options and numbers.
    (f"{FVT}--option 'x=[1'", "'[1', line 2: not valid YAML"),
    (f"{FVT}--option x=1", "option x = 1"),
    (f"{FVT}--device cuda:7", "--device cuda:7: not available here"),
    (f"{FVT}--identity names", "argument --identity: invalid choice: 'names'"),
    (f"{FVT}--helpr x", "--helpr: no such flag; see revocab init --help; did you mean '--helper'?"),
    (f"{INIT}--method fvtt", "fvtt"),
    (f"{INIT}--method sava --option anchors=-1", "anchors = -1"),
    (f"{INIT}--method sava --option ridge=.inf", "ridge = inf"),
    (f"{INIT}--method asymmetric --option script=Latn1", "'latn1' is no script; give unicode's"),
    (f"{INIT}--method position-weighted --option rate=0", "option rate = 0"),
    ("change --model {toy} --change shrink --out o", "shrink"),
    ("change --model {toy} --change blocks --option share=7 --out o", "share: expected at most 1"),
    ("change --model {toy} --change blocks --option share=.nan --out o", "share: expected"),
    (f"{BUILD}vocabulary_size={10**11} 'corpora={{it: 1.0}}'", "give at most 10,000,000"),
    (f"{BUILD}vocabulary_size=100000 'corpora={{it: 1.0}}'", "the training text yields only"),
    (f"{BUILD}vocabulary_size=400 'corpora={{en: 1.0}}'", "en"),
    (f"{TRAIN}--watts -3", "--watts: expected at least 0, received -3.0"),
    (f"{TRAIN}--carbon-intensity -3", "--carbon-intensity: expected at least 0"),
    (f"{TRAIN}--recipe vocadtt", "--recipe: no recipe 'vocadtt'"),
    (f"{TRAIN}--adam-epsilon 1e5", "--adam-epsilon: give at most 1"),
    (f"{TRAIN}--stages '{STAGE}\"train\": [\"nothing\"]}}'", "'nothing' fits no parameter"),
    (f"{TRAIN}--stages '{STAGE}\"train\": [\"new_rows\"]}}'", "no new_rows.npy, which says what"),
    (f"{TRAIN}--stages '{STAGE}\"groups\": {{\"x9\": {{}}}}}}'", "'x9' fits no parameter"),
    (f"{TRAIN}--stages '{STAGE}{LORA}\"layers\": [7]}}}}'", "7: the model has 2; give -2 to 1"),
    (f"{TRAIN}--stages '{STAGE}{LORA}\"modules\": [\"q\"]}}}}'", "'q' is not a linear module"),
    (f"{TRAIN}--stages '{{'", "not valid JSON"),
    (f"{SCORE}{{toy}} --dtype fp17", "argument --dtype: invalid choice: 'fp17'"),
    (f"{SCORE}{{toy}} --device cuda:7", "--device cuda:7: not available here"),
    (f"{SCORE}{{toy}} --shots 500", "its data have fewer rows than --shots asks for"),
    ("score --models x={toy} --run r --tasks {task.yaml} --out o.csv", "'x' is not a whole number"),
    ("score --models {toy} --run r --tasks t.yaml --out o", "expected STEP="),
    (f"{GENERATE}{{toy}} --prompts p={{prompts.jsonl}} --dtype fp17", "invalid choice: 'fp17'"),
    (f"{GENERATE}{{toy}} --prompts p={{prompts.jsonl}} --max-new-tokens 64", "or no prompt fits"),
    (f"{ANSWER}--chat-template plain --dtype fp17", "invalid choice: 'fp17'"),
    (f"compare {{toy}} {{toy}} {TEXT} --device tpu", "--device tpu"),
    # Flags that nothing reads.
    (f"{FVT}--helper {{toy}}", "--helper: method 'fvt' does not read it"),
    (f"{FVT}--auxiliary {{few.txt}}", "--auxiliary: method 'fvt' does not read it"),
    (f"{FVT}--adapted {{toy}} --base {{toy}}", "--adapted: method 'fvt' does not read it"),
    (f"{INIT}--method lapt", "--target-tokenizer: method 'lapt' does not read it"),
    (f"{INIT}--method sava", "method 'sava' needs --helper"),
    ("init --source {toy} --method fvt --out o", "method 'fvt' needs --target-tokenizer"),
    # Where is written.
    (f"{FVT}--out {'y' * 300}", "File name too long"),
    (f"{FVT}--out {'y/' * 3000}", "File name too long"),
    (f"{FVT}--out /dev/null", "/dev/null: a file"),
    (f"{FVT}--out /dev/null/x", "/dev/null is a file, not a folder"),
    (f"{FVT}--out /proc/self/x", "/proc/self/x"),
    (f"{FVT}--out ''", "the current folder, or one above it"),
    (f"{FVT}--out {{toy}}", "toy"),
    ("new {few.txt}", "few.txt"),
    ("trace nowhere 1.0", "nowhere/experiment.json: no such file"),
    ("trace nowhere", "the following arguments are required: cell"),
    # Models and tokenizers.
    (f"{TO_TARGET}{{bare}}", "bare"),
    (f"{TO_TARGET}{{few.txt}}", "few.txt: a file, not a folder"),
    (f"{TO_TARGET}nowhere", "nowhere: no such folder"),
    (f"{TO_TARGET}{{corpus}}", "corpus: not a model folder (it has no config.json)"),
    (f"{TO_TARGET}{{broken}}", "broken/tokenizer.json: not valid JSON"),
    (f"{TO_TARGET}{{large}}", "its tokenizer has 329 tokens, and the model 289 rows"),
    (f"{TO_TARGET}{{zero}}", "zero: model.embed_tokens.weight is all zeros"),
    (f"{TO_TARGET}{{quantised}}", "quantised: its weights are quantised"),
    ("init --source {toy} --target-tokenizer {few.txt} --method fvt --out o", "few.txt"),
    ("change --model {bare} --change blocks --option share=0.5 --out o", "bare"),
    ("intersect --source {bare} --target {toy} --out o", "bare"),
    ("intersect --source {few.txt} --target {toy} --out o", "few.txt: a file, not a folder"),
    ("fertility --tokenizers a={bare} --corpora it={corpus} --out o", "bare: no tokenizer could"),
    ("fertility --tokenizers a={few.txt} --corpora it={corpus} --out o", "a file, not a folder"),
    (f"{SCORE}{{bare}}", "bare: no tokenizer could be loaded"),
    (f"{SCORE}{{large}}", "its tokenizer has 329 tokens, and the model 289 rows"),
    (f"{SCORE}{{few.txt}}", "few.txt: a file, not a folder"),
    (f"{GENERATE}{{large}} --prompts p={{prompts.jsonl}}", "its tokenizer has 329 tokens"),
    (f"{GENERATE}nowhere --prompts p={{prompts.jsonl}}", "nowhere: no such folder"),
    (f"compare {{toy}} {{bare}} {TEXT}", "bare: no tokenizer could be loaded"),
    (f"compare {{toy}} {{large}} {TEXT}", "its tokenizer has 329 tokens"),
    (f"compare {{toy}} {TEXT}", "give two models"),
    ("verify --text {few.txt}", "give a model, folder or Hub id"),
    ("verify nowhere", "nowhere: no such folder"),
    ("verify {few.txt}", "few.txt: a file, not a folder"),
    ("verify {bare}", "bare: it has no tokenizer.json"),
    ("verify {toy} --text none.txt", "--text: none.txt is not a file"),
    ("verify {toy} --text {latin.txt}", "latin.txt: not UTF-8 text"),
    ("verify {toy} --gguf none.gguf", "--gguf: none.gguf is not a file"),
    ("verify {toy} --gguf {few.txt} --runtime vllm", "--gguf: only llama.cpp reads it"),
    ("export --to gguf o", "MODEL comes first"),
    ("export {toy} --to gguf", "--out: "),
    ("export {toy} --to ggml o", "--to: no format 'ggml'"),
    ("export {toy} --to gguf o --outtype q4_0", "invalid choice: 'q4_0'"),
    ("export {toy} --to gguf o --lines none.txt", "none.txt: no such file"),
    ("export {toy} --to gguf o --lines {latin.txt}", "latin.txt"),
    ("export {toy} --to gguf {toy}", "is or holds the input"),
    ("export {bare} --to gguf o", "bare: no tokenizer could be loaded"),
    ("export {large} --to gguf o", "they do not belong together"),
    ("export {quantised} --to gguf o", "quantised weights"),
    ("export {packed} --to gguf o", "not a model folder"),
    ("verify {toy} --runtime llama.cpp", "--runtime llama.cpp: give --gguf FILE"),
    ("verify {toy} --runtime onnx", "--runtime: no runtime 'onnx'"),
    ("adapt nowhere --text it={few.txt} --out o", "nowhere: no folder with"),
    ("trim it={lines.txt} --keep 280", "MODEL comes first"),
    ("trim --keep 280", "MODEL comes first"),
    ("trim nowhere it={lines.txt} --keep 280", "nowhere: no such folder"),
    ("trim {bare} it={lines.txt} --keep 280", "bare: no tokenizer could be loaded"),
    ("trim {large} it={lines.txt} --keep 280", "do not belong together"),
    ("trim {tokenizer} it={lines.txt} --keep 280", "not a model folder"),
    ("trim {toy} --keep 280", "no text: --keep and --coverage count tokens in it"),
    ("trim {toy} it={lines.txt}", "exactly one of keep, coverage, languages"),
    ("trim {toy} it={lines.txt} --keep 280 --coverage 0.9", "exactly one of keep, coverage"),
    ("trim {toy} it={lines.txt} --keep 9", "stay in any case"),
    ("trim {toy} it={lines.txt} --keep 100000", "give a number between"),
    ("trim {toy} it={lines.txt} --coverage 1.5", "--coverage: expected at most 1"),
    ("trim {toy} --languages klingon", "--languages"),
    ("trim {toy} --languages it", "nothing to trim"),
    ("trim {toy} {lines.txt} --keep 280", "expected NAME=VALUE"),
    ("trim {toy} it={empty.txt} --keep 280", "empty.txt: no text in it"),
    ("trim {toy} klingon={lines.txt} --keep 280", "klingon=…: not a language code"),
    ("trim {toy} it={lines.txt} --keep 280 --tokens {few.txt}", "does not have: "),
    ("trim {toy} it={lines.txt} --keep 280 --tokens none.txt", "none.txt"),
    ("trim {toy} it={lines.txt} --keep 280 --out {toy}", "is or holds the input"),
    ("trim {toy} it={lines.txt} --keep 280 --out {corpus}", "but this command writes"),
    ("trim {toy} it={lines.txt} --keep 280 --dry-run --picture /dev/null/x", "/dev/null"),
    ("check --fix o", "give a model"),
    ("check nowhere", "nowhere: no such folder"),
    ("check {corpus}", "corpus: not a model folder (it has no config.json)"),
    ("check {toy} --fix {toy}", "toy: is or holds the input"),
    ("check {toy} --fix {few.txt}", "few.txt: a file; an output is"),
    ("check {toy} --json {corpus}", "corpus: not a plain file"),
    ("check {toy} --jsn o", "did you mean '--json'?"),
    (f"{PACK}{{bare}} --corpora it={{corpus}} --rows 8", "bare: no tokenizer could be loaded"),
    # What is published.
    ("publish {toy}", "give a folder and a name"),
    ("publish {toy} owner/name --dry-run", "toy: no README.md, which is the page on the Hub"),
    ("publish {few.txt} owner/name --dry-run", "few.txt: a file, not a folder"),
    ("publish nowhere owner/name --dry-run", "nowhere: no such folder"),
    ("publish {zero} owner/name --dry-run", "zero: no README.md"),
    ("publish {toy} a/b/c --dry-run", "'a/b/c': not a name on the Hub"),
    ("publish {toy} name --dry-run", "'name': names no owner"),
    ("publish {toy} a/b --privat", "--privat: no such flag"),
    ("publish {carded} a/b --dry-run --scores none.csv", "--scores none.csv: cannot be read"),
    ("publish {carded} a/b --dry-run --scores {few.txt}", "few.txt: not a table of scores"),
    ("publish {carded} a/b --dry-run --benchmarks x:acc=a/b:c", "--benchmarks x:acc: no such"),
    ("publish {carded} a/b --dry-run --benchmarks x", "--benchmarks 'x': expected NAME=VALUE"),
    # What is advised on.
    ("advise --keep en={few.txt}", "MODEL comes first"),
    ("advise {toy}", "give text by its language"),
    ("advise nowhere it={lines.txt}", "nowhere: no folder with a model's config.json"),
    ("advise {toy} italian.txt", "--text 'italian.txt': expected NAME=VALUE"),
    ("advise {toy} it=none.txt", "none.txt: no such file"),
    ("advise {toy} it={empty.txt}", "empty.txt: no text in it"),
    ("advise {toy} it={few.txt}", "bytes are needed to tell what other vocabularies save"),
    ("advise {toy} it={latin.txt}", "latin.txt, line 1: not UTF-8"),
    ("advise {toy} it={binary.txt}", "binary.txt: holds NUL characters"),
    ("advise {toy} it={english.txt}", "english.txt: said to be Italian (it), but"),
    ("advise {toy} klingon={lines.txt}", "klingon=…: not a language code"),
    ("advise {toy} it={lines.txt} --keep it={few.txt}", "--keep it=…: is a language of the text"),
    ("advise {toy} it={lines.txt} --keep en={lines.txt}", "hold the same text"),
    ("advise {toy} it={lines.txt} --share fr=0.5", "--share fr=…: no text is of this language"),
    ("advise {toy} it={lines.txt} --share it=0.5", "--share: 50% of what is written is of no text"),
    ("advise {toy} it={lines.txt} --gpu h1000", "or give peak, memory and bandwidth"),
    ("advise {toy} it={lines.txt} --peak 1e15", "peak and bandwidth belong together"),
    ("advise {toy} it={lines.txt} --served -1", "--served"),
    ("advise {toy} it={lines.txt} --out {toy}", "toy: is or holds the input"),
    ("advise {shapeless} it={lines.txt}", "a configuration without hidden_size"),
    # Text.
    (f"{PREPARE}{{deep.jsonl}}", "deep.jsonl, line 1: not valid JSON (nested too deep)"),
    (f"{PREPARE}{{digits.jsonl}}", "digits.jsonl, line 2: not valid JSON"),
    (f"{PREPARE}{{line.jsonl.gz}}", "line.jsonl.gz, line 1: is longer than"),
    (f"{PREPARE}{{cut.jsonl.gz}}", "cut.jsonl.gz: broken gzip file"),
    (f"{PREPARE}{{latin.txt}}", "latin.txt, line 1: not UTF-8"),
    (f"{PREPARE}{{loop}}", "loop: no file of a supported format"),
    (f"{PREPARE}{{task.yaml}}", "task.yaml: allowed are .jsonl"),
    (f"{PREPARE}none.txt", "none.txt: no such file"),
    (f"{PREPARE}{{few.txt}} --heldout-bytes 100000", "takes all 2 documents"),
    (f"{PREPARE}{{few.txt}} --language klingon", "--language: expected a language's code"),
    (f"{PREPARE}{{few.txt}} --corpus 'No Id'", "--corpus: expected an id"),
    (f"{PREPARE}{{few.txt}} --keep 'x={{\"min\": 3, \"max\": 1}}'", "min 3 is above max 1"),
    (f"{PREPARE}{{few.txt}} --text-field body", "body"),
    ("adapt {toy} --out o", "--text: no text"),
    ("adapt {toy} --text it={empty.txt} --out o", "empty.txt: no text in it"),
    ("adapt {toy} --text klingon={few.txt} --out o", "klingon=…: not a language code"),
    ("adapt {toy} --text it={few.txt} --out o", "64 new tokens need 32,000"),
    (f"adapt {{toy}} --text it={{lines.txt}} --vocabulary {10**11} --out o", "give at most"),
    # Folders of another kind.
    ("fertility --tokenizers a={toy} --corpora it={toy} --out o", "toy: holds no corpus"),
    ("fertility --tokenizers a={toy} --corpora it={corpus} --split heldout --out o",
     "corpus: no held-out text; set heldout_bytes of corpus it"),
    (f"{BUILD}vocabulary_size=400 'corpora={{it: 1.0}}' --corpora it={{toy}}", "it"),
    ("pack_heldout --tokenizer {toy} --corpora it={corpus} --sequence-length 16 --out o",
     "no held-out text; set heldout_bytes of corpus it"),
    (f"{PACK}{{toy}} --corpora it={{corpus}}", "--rows: required and not given (steps times"),
    (f"{PACK}{{toy}} --corpora it={{corpus}} --rows 100000", "corpus it: ends after"),
    (f"{PACK}{{toy}} --corpora it={{toy}} --rows 8", "toy: holds no corpus"),
    (f"{PACK}{{toy}} --corpora it={{few.txt}} --rows 8", "few.txt"),
    (f"{PACK}{{toy}} --corpora it={{corpus}} en={{whole}} --shares it=0.5 en=0.7 --rows 8",
     "sum to 1.2"),
    (f"{TRAINED}--packed {{corpus}} --heldout {{heldout}}", "corpus: holds no packed tokens"),
    (f"{TRAINED}--packed {{heldout}} --heldout {{heldout}}", "heldout: holds no packed tokens"),
    (f"{TRAINED}--packed {{packed}} --heldout {{packed}}", "packed: holds no held-out tokens"),
    (f"{TRAINED}--packed {{loop}} --heldout {{heldout}}", "loop"),
    ("report --results {corpus} --out o.html", "experiment.json: no such file"),
    ("make_tables --results {corpus} --out o", "experiment.json: no such file"),
    ("report --results none --out o.html", "none/experiment.json: no such file"),
    # Tasks, prompts, conversations.
    ("task --task t_it --templates {corpus} --template none --language it --data {digits.jsonl}"
     " --out t.yaml", "none"),
    ("task --task t_it --template hellaswag_it --language it --data {chat.jsonl} --out t.yaml",
     "field 'choices' is missing"),
    ("score --models 0={toy} --run r --tasks {prompts.jsonl} --out o", "unknown key (allowed:"),
    ("score --models 0={toy} --run r --tasks hellaswagg --out o", "'hellaswagg'"),
    (f"{GENERATE}{{toy}} --prompts p={{digits.jsonl}}", "digits.jsonl"),
    (f"{GENERATE}{{toy}} --prompts p={{chat.jsonl}}", "chat.jsonl, row 1: no id, kind, direction"),
    (f"{GENERATE}{{toy}} --prompts p={{kinds.jsonl}}", "no kind of generation task 'nokind'"),
    (f"{GENERATE}{{toy}} --prompts p={{empty.txt}}", "empty.txt: no rows"),
    ("answer --out o", "--model: required and not given"),
    (f"{ANSWER}--chat-template {{power.jinja}}", "template refused: line 1: the operator **"),
    (f"{ANSWER}--chat-template {{bad.jinja}}", "bad.jinja, line 2: not a chat template"),
    (f"{ANSWER}--chat-template {{corpus}}", "and no template of this name"),
    ("judge --out o", "required and not given"),
    ("judge --conversations {chat.jsonl} --kind strict --out o", "strict"),
    ("judge --conversations {chat.jsonl} --kind rule --option ended=maybe --out o",
     "option.ended: expected true or false, received 'maybe'"),
    # Experiments.
    ("run none.yaml", "none.yaml: no such file"),
    ("run --configfile", "argument --configfile/--configfiles: expected at least one argument"),
    ("run --configfile {corpus}", "corpus: cannot be read as a file"),
    ("run --configfile {small} results/x.csv", "if it is to be made, put -- before it"),
    ("run -n", "no experiment file: revocab run FILE.yaml"),
    ("status --configfile none.yaml", "none.yaml: no such file"),
    ("status --configfile .", ".: cannot be read as a file"),
    ("status --configfile", "argument --configfile: expected at least one argument"),
    ("job pack_token --configfile {small}", "pack_token"),
    ("job", "the following arguments are required: rule"),
    ("preflight r --configfile {small}", "'r'"),
    ("preflight r --configfile {few.txt}", "few.txt"),
    ("plan --configfile {small} --gpu h1000", "h1000"),
    ("plan --configfile {small} --gpu h100 --peak 1e15", "gpu and peak are both given"),
    ("plan --configfile {small} --devices -2", "--devices"),
    ("plan --configfile {small} --devices 0", "--devices"),
    ("plan --configfile {small} --utilisation 1.5", "--utilisation"),
    ("plan --configfile {small} --peak fast", "--peak"),
    ("plan --configfile {small} --memory 0", "--memory"),
    ("plan --configfile {small} --watts nan", "--watts"),
    ("plan --configfile {small} --carbon -1", "--carbon"),
    ("plan --configfile {small} --shape none=x", "--shape: 'none' is not in the file"),
    ("plan --configfile {small} --shape x", "--shape 'x': expected NAME=VALUE"),
    ("plan --configfile {small} --vocabulary source=0", "--vocabulary"),
    ("plan --configfile {few.txt}", "few.txt"),
    ("plan none.yaml", "none.yaml: no such file"),
    ("inti", "did you mean 'init'?"),
    ("draft {toy} --out o", "--for"),
    ("draft --for {target} --out o", "DRAFT comes first"),
    ("draft {toy} --for {target} --out o", "not a model folder"),
    ("draft {toy} --for {large}", "--out: give a folder"),
    ("draft {toy} --for {large} --out o --method fvtt", "fvtt"),
    ("draft {toy} --for {toy} --out o", "leave --out out"),
    (f"draft {{toy}} --for {{large}} --out o {TEXT} --new-tokens 0", "--new-tokens"),
    # As rules call.
    (f"init_embeddings {SETTINGS}", "inputs.source: required and not given"),
    (f"init_embeddings {SETTINGS}--inputs none.json", "none.json: no such file; give JSON"),
    (f"init_embeddings {SETTINGS}--input '{{}}'", "received --input"),
    ("init_embeddings --job '{' --out o", "job: "),
    ("init_embeddings --job '[1' --out o", "[1: no such file; give JSON"),
    ("init_embeddings --job '{}'", "--out among them"),
]  # fmt: skip


def write_inputs(folder: Path, repository: Path) -> None:
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "toy")
    build_tokenizer(TARGET_WORDS, 45, folder / "target")
    (folder / "bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        os.link(folder / "toy" / name, folder / "bare" / name)
    for name in ("broken", "large", "zero", "quantised", "carded"):
        shutil.copytree(folder / "toy", folder / name)
    (folder / "broken/tokenizer.json").write_text("{")
    (folder / "carded/README.md").write_text("---\nlicense: mit\n---\n")
    more = ["abcdefgh", "zzzzzz", *TARGET_WORDS * 3]
    build_tokenizer(more, 80, folder / "more")
    shutil.copytree(folder / "more", folder / "large", dirs_exist_ok=True)
    write_value(folder / "zero/model.safetensors", "model.embed_tokens.weight", 0)
    (folder / "shapeless").mkdir()
    write_json(folder / "shapeless/config.json", {"model_type": "llama", "vocab_size": 9})
    config = folder / "quantised/config.json"
    write_json(config, {**read_json(config), "quantization_config": {"load_in_4bit": True}})
    write_texts(folder)
    (folder / "small").symlink_to(repository / "tests/experiments/small.yaml")
    query = {"id": "q", "context": "il gatto", "question": "chi?", "answers": ["il cane"]}
    row = {"id": "q", "direction": ["it"], "shots": [], "query": query, "references": ["il cane"]}
    write_jsonl(folder / "prompts.jsonl", [{**row, "kind": "question_answering"}])
    write_jsonl(folder / "kinds.jsonl", [{**row, "kind": "nokind"}])
    words = (TARGET_WORDS * 3)[:30]
    texts = [{"text": f"{' '.join(words[n:])} {n}"} for n in range(30)]
    write_jsonl(folder / "whole.jsonl", texts)
    items = [{"context": "il", "question": "chi?", "choices": ["a", "b"], "answer": 0}]
    write_jsonl(folder / "items.jsonl", items * 4)
    length = f"--corpora it={folder}/whole --tokenizer {folder}/toy --sequence-length 16"
    task = f"--task t --template hellaswag_it --language it --data {folder}/items.jsonl"
    for words in (
        f"prepare --corpus it --language it --files {folder}/few.txt --out {folder}/corpus",
        f"prepare --corpus it --language it --files {folder}/whole.jsonl --out {folder}/whole"
        " --heldout-bytes 300",
        f"pack {length} --seed 1 --rows 8 --out {folder}/packed",
        f"pack_heldout {length} --out {folder}/heldout",
        f"task {task} --out {folder}/task.yaml",
    ):
        entry.main(words.split())


def write_texts(folder: Path) -> None:
    (folder / "few.txt").write_text("uno due\n\ntre quattro\n")
    (folder / "lines.txt").write_text("".join(f"La frase {n} dice una cosa.\n" for n in range(300)))
    (folder / "empty.txt").write_text("")
    english = "th of the many that he and she had for the house.\n"
    (folder / "english.txt").write_text("".join(f"It is the {n}{english}" for n in range(3000)))
    (folder / "binary.txt").write_bytes(b"a\n\0\n" * 40_000)
    (folder / "latin.txt").write_bytes("perché".encode("latin-1"))
    (folder / "deep.jsonl").write_text('{"text": ' + "[" * 10**5 + "]" * 10**5 + "}\n")
    (folder / "digits.jsonl").write_text('{"text": "a"}\n{"text": "b", "n": ' + "1" * 10**4 + "}\n")
    with gzip.open(folder / "line.jsonl.gz", "wt") as handle:
        handle.write('{"text": "' + "a" * 3 * 10**5 + '"}\n')
    whole = (folder / "line.jsonl.gz").read_bytes()
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "loop").mkdir()
    (folder / "loop/loop").symlink_to(".")
    (folder / "power.jinja").write_text("{{ 'x' * 10**11 }}")
    (folder / "bad.jinja").write_text("{% for m in messages %}\n{{ m \n")
    said = [{"role": "user", "content": "chi?"}, {"role": "assistant", "content": "io"}]
    (folder / "chat.jsonl").write_text(json.dumps({"messages": said}) + "\n")


def write_value(file: Path, name: str, value: float) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    tensors[name].fill_(value)
    save_file(tensors, file, {"format": "pt"})
