import numpy as np
import steps
import triton_python_backend_utils as pb_utils

MEAN = np.array([123.68, 116.78, 103.94], np.float32)


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            names = ["detection_postprocessing_input_%d" % i for i in (1, 2, 3)]
            scores, geometry, blob = [pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in names]
            image = np.ascontiguousarray(np.rint(blob[0] + MEAN).astype(np.uint8)[:, :, ::-1])
            parts = steps.detection_postprocessing(scores, geometry, image)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("detection_postprocessing_output", parts[0])]))
        return responses
