import numpy as np
import steps
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            scores = pb_utils.get_input_tensor_by_name(request, "recognition_postprocessing_input").as_numpy()
            text = np.array([steps.recognition_postprocessing(scores)], dtype=object)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("recognition_postprocessing_output", text)]))
        return responses
