"""Make tiny random COMET checkpoints in the format of the released ones; runs where comet is.

    python comet_checkpoint.py FOLDER [ENCODER]

writes ``comet22/`` (regression on XLM-R) and ``xcomet/`` (sentence and word level on XLM-R), and
``expected.json``: what each says of two translations. With ENCODER the checkpoints ask for that
model of the Hub, as the released ones do, instead of the folder ``encoder/``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

SAMPLES = [
    {"src": "the cat sleeps", "mt": "il gatto dorme", "ref": "il gatto dorme"},
    {"src": "the dog runs", "mt": "piove", "ref": "il cane corre"},
]


def write_encoder(folder: Path) -> None:
    """Write a two-layer XLM-R with a tokenizer of single characters."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyzàèéìòù'.,"]
    pieces = [(one, 0.0) for one in special] + [(one, -3.0) for one in letters]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    config = XLMRobertaConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=130, type_vocab_size=1, pad_token_id=1,
    )  # fmt: skip
    XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(folder)


def write_checkpoint(folder: Path, kind: str, encoder: Path, named: str):
    """Write ``hparams.yaml`` and ``checkpoints/model.ckpt``; return the model.

    ``named`` is the encoder that the checkpoint asks for when it is loaded.
    """
    import pytorch_lightning
    import torch
    import yaml
    from comet.models import str2model

    names = {"comet22": "regression_metric", "xcomet": "xcomet_metric"}
    hparams = {
        "pretrained_model": str(encoder), "encoder_model": "XLM-RoBERTa", "hidden_sizes": [16, 8],
        "load_pretrained_weights": False, "local_files_only": True,
    }  # fmt: skip
    if kind == "xcomet":
        hparams |= {"word_level_training": True, "word_layer": 2, "layer_transformation": "softmax"}
    torch.manual_seed(3)
    model = str2model[names[kind]](**hparams)
    stored = {"pretrained_model": named, "local_files_only": named == str(encoder)}
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "hparams.yaml").write_text(
        yaml.safe_dump({**hparams, **stored, "class_identifier": names[kind]})
    )
    torch.save(
        {
            "state_dict": model.state_dict(),
            "hyper_parameters": {**model.hparams, **stored},
            "pytorch-lightning_version": pytorch_lightning.__version__,
        },
        folder / "checkpoints" / "model.ckpt",
    )
    return model


def main() -> None:
    folder = Path(sys.argv[1])
    encoder = folder / "encoder"
    named = sys.argv[2] if len(sys.argv) > 2 else str(encoder)
    write_encoder(encoder)
    expected = {}
    for kind in ("comet22", "xcomet"):
        model = write_checkpoint(folder / kind, kind, encoder, named)
        found = model.predict(SAMPLES, batch_size=1, gpus=0, progress_bar=False, num_workers=0)
        expected[kind] = [float(one) for one in found.scores]
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
