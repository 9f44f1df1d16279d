"""Continues a text: every token is a response of its own, sent when it is there."""

import json
import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils

try:
    import torch  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError:
    from tiny_lm import AutoModelForCausalLM, AutoTokenizer


class TokenStreamer:
    """What `generate` hands its tokens to.

    With the request parameter `pace`, a folder, it waits behind the n-th token until the file n is there.
    """

    def __init__(self, sender, tokenizer, pace):
        self.sender = sender
        self.tokenizer = tokenizer
        self.pace = pace
        self.count = -1  # the first call brings the prompt

    def put(self, ids):
        self.count += 1
        if self.count == 0:
            return
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        tensor = pb_utils.Tensor("text_output", np.array([text.encode("utf-8")], dtype=np.object_))
        self.sender.send(pb_utils.InferenceResponse(output_tensors=[tensor]))
        while self.pace and not os.path.exists(os.path.join(self.pace, str(self.count))):
            if self.sender.is_cancelled():
                raise pb_utils.TritonModelException("cancelled")
            time.sleep(0.002)

    def end(self):
        pass


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config):
        auto_complete_model_config.add_input({"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]})
        auto_complete_model_config.add_output({"name": "text_output", "data_type": "TYPE_STRING", "dims": [1]})
        auto_complete_model_config.set_max_batch_size(0)
        auto_complete_model_config.set_model_transaction_policy(dict(decoupled=True))
        return auto_complete_model_config

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.max_new_tokens = int(parameters["max_new_tokens"]["string_value"])
        folder = os.path.join(args["model_repository"], parameters["weights"]["string_value"])
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            prompt = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()[0].decode("utf-8")
            pace = json.loads(request.parameters()).get("pace")
            try:
                self.model.generate(
                    self.tokenizer(prompt, return_tensors="pt")["input_ids"],
                    max_new_tokens=self.max_new_tokens,
                    do_sample=False,
                    pad_token_id=0,
                    streamer=TokenStreamer(sender, self.tokenizer, pace),
                )
            except pb_utils.TritonModelException as error:
                sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.CANCELLED)))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
