"""Continues a text: the whole of it in one response."""

import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils

try:
    import torch  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError:
    from tiny_lm import AutoModelForCausalLM, AutoTokenizer


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config):
        auto_complete_model_config.add_input({"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]})
        auto_complete_model_config.add_output({"name": "text_output", "data_type": "TYPE_STRING", "dims": [1]})
        auto_complete_model_config.set_max_batch_size(0)
        return auto_complete_model_config

    def initialize(self, args):
        self.logger = pb_utils.Logger
        self.model_config = json.loads(args["model_config"])
        parameters = self.model_config["parameters"]
        self.max_new_tokens = int(parameters["max_new_tokens"]["string_value"])
        folder = os.path.join(args["model_repository"], parameters["weights"]["string_value"])
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        output = pb_utils.get_output_config_by_name(self.model_config, "text_output")
        self.output_dtype = pb_utils.triton_string_to_numpy(output["data_type"])
        self.logger.log_info("language model loaded from %s" % folder)

    def execute(self, requests):
        responses = []
        for request in requests:
            prompt = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()[0].decode("utf-8")
            if prompt == "":
                error = pb_utils.TritonError("text_input is empty", pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse(error=error))
                continue
            inputs = self.tokenizer(prompt, return_tensors="pt")
            ids = self.model.generate(
                inputs["input_ids"], max_new_tokens=self.max_new_tokens, do_sample=False, pad_token_id=0
            )
            text = self.tokenizer.decode(ids[0], skip_special_tokens=True)
            tensor = pb_utils.Tensor("text_output", np.array([text.encode("utf-8")], dtype=self.output_dtype))
            responses.append(pb_utils.InferenceResponse(output_tensors=[tensor]))
        return responses

    def finalize(self):
        self.logger.log_info("language model cleaned up")
