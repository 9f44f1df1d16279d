"""A causal language model of one attention layer on numpy, behind the names that `transformers` has for the same."""

import json
import os

import numpy as np


class AutoTokenizer:
    """Words to numbers and back."""

    eos_token_id = 0

    @classmethod
    def from_pretrained(cls, folder):
        tokenizer = cls()
        with open(os.path.join(folder, "words.json"), encoding="utf-8") as file:
            tokenizer.words = json.load(file)
        return tokenizer

    def __call__(self, text, return_tensors=None):
        ids = [self.words.index(word) if word in self.words else 1 for word in text.split()]
        return {"input_ids": np.array([ids])}

    def decode(self, ids, skip_special_tokens=False):
        return " ".join(self.words[int(i)] for i in ids if not skip_special_tokens or i != self.eos_token_id)


class AutoModelForCausalLM:
    """Embedding, causal self-attention, and the embedding again."""

    @classmethod
    def from_pretrained(cls, folder):
        model = cls()
        model.weights = dict(np.load(os.path.join(folder, "weights.npz")))
        return model

    def eval(self):
        return self

    def next_id(self, ids):
        weights = self.weights
        x = weights["embedding"][ids] + weights["position"][: len(ids)]
        query, key, value = x @ weights["query"], x @ weights["key"], x @ weights["value"]
        scores = query @ key.T / np.sqrt(x.shape[1])
        scores[np.triu_indices(len(ids), 1)] = -np.inf
        attention = np.exp(scores - scores.max(1, keepdims=True))
        x = x + (attention / attention.sum(1, keepdims=True)) @ value
        return int((x[-1] @ weights["embedding"].T)[2:].argmax()) + 2

    def generate(self, input_ids, max_new_tokens, do_sample=False, streamer=None, pad_token_id=None):
        ids = list(input_ids[0])
        if streamer is not None:
            streamer.put(input_ids)
        for _ in range(max_new_tokens):
            ids.append(self.next_id(ids))
            if streamer is not None:
                streamer.put(np.array(ids[-1:]))
        if streamer is not None:
            streamer.end()
        return np.array([ids])
