"""Writes a tiny causal language model with random weights, and its tokenizer, into a folder: with `transformers` where that
and torch are installed, else on numpy. Prints which."""

import json
import os
import sys

WORDS = "<end> <unknown> how can you be sure of a model that has never read any book at all but speaks".split()
LONGEST = 64


def with_transformers(folder):
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unknown>")
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=LONGEST, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=None)
    GPT2LMHeadModel(config).save_pretrained(folder)


def with_numpy(folder):
    import numpy as np

    random = np.random.default_rng(1)
    size = 16
    shapes = {"embedding": (len(WORDS), size), "position": (LONGEST, size), **{name: (size, size) for name in ("query", "key", "value")}}
    np.savez(os.path.join(folder, "weights.npz"), **{name: random.standard_normal(shape) for name, shape in shapes.items()})
    with open(os.path.join(folder, "words.json"), "w", encoding="utf-8") as file:
        json.dump(WORDS, file)


try:
    with_transformers(sys.argv[1])
    print("transformers")
except ImportError:
    with_numpy(sys.argv[1])
    print("numpy")
