"""The configuration of the smaller demo, read by its test and by ``same_bytes``."""

#: With what goes beyond the paper's tables: every rule but those of COMET runs.
CONFIG_FILES = [
    "config/demo.yaml",
    "config/overlays/small.yaml",
    "config/overlays/evaluation-extra.yaml",
]
