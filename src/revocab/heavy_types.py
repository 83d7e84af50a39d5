"""Types of libraries that take long to import: for annotations, which nothing evaluates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import tokenizers
    import torch
    import transformers

Device: TypeAlias = "torch.device"
DType: TypeAlias = "torch.dtype"
ndarray: TypeAlias = "np.ndarray"
PreTrainedModel: TypeAlias = "transformers.PreTrainedModel"
PreTrainedTokenizerFast: TypeAlias = "transformers.PreTrainedTokenizerFast"
Tensor: TypeAlias = "torch.Tensor"
Tokenizer: TypeAlias = "tokenizers.Tokenizer"
